/**
 * Channels of hardware monitors: `temp1_input` with its `_label`, `_fault` and alarms. Units are those of the kernel's
 * Documentation/hwmon/sysfs-interface.rst; keys and units here are those of the vocabulary of measurements.
 */

interface TypeWords {
  readonly key: string;
  readonly unit: string;
  /** Multiplies the kernel's unit into this one. */
  readonly factor: number;
}

const MILLI = 1e-3;
const MICRO = 1e-6;
const MICROJOULE_PER_KWH = 3.6e12;

const TYPES: Readonly<Record<string, TypeWords>> = {
  // Milli degrees Celsius.
  temp: { key: 'temperature', unit: '°C', factor: MILLI },
  // Milli percent.
  humidity: { key: 'humidity', unit: '%', factor: MILLI },
  // Millivolt.
  in: { key: 'voltage', unit: 'V', factor: MILLI },
  // Milliampere.
  curr: { key: 'current', unit: 'A', factor: MILLI },
  // Microwatt.
  power: { key: 'power', unit: 'W', factor: MICRO },
  // Microjoule.
  energy: { key: 'energy', unit: 'kWh', factor: 1 / MICROJOULE_PER_KWH },
  fan: { key: 'fanSpeed', unit: 'rpm', factor: 1 },
  freq: { key: 'frequency', unit: 'Hz', factor: 1 },
};

const FILE = /^(temp|humidity|in|curr|power|energy|fan|freq)(\d+)_input$/;

export interface HwmonChannel {
  /** `temp1`. */
  readonly name: string;
  readonly key: string;
  readonly unit: string;
  /** Multiplies the kernel's unit into that of the key. */
  readonly factor: number;
  readonly file: string;
  /** Says that the chip has no value, as of an open thermistor. */
  readonly faultFile?: string;
  /** Files of which any tells that a limit is passed. */
  readonly alarmFiles: readonly string[];
}

/** The channels that a monitor's files show, without the keys of their labels. */
export function hwmonChannels(files: readonly string[]): readonly HwmonChannel[] {
  const there = new Set(files);
  const found = files.flatMap((file) => {
    const [, type = '', number = ''] = FILE.exec(file) ?? [];
    const words = TYPES[type];
    return words === undefined ? [] : [{ file, type, number: Number(number), words }];
  });
  return found
    .toSorted((one, other) => one.type.localeCompare(other.type) || one.number - other.number)
    .map(({ file, type, number, words: { key, unit, factor } }) => {
      const name = `${type}${number}`;
      const isOnly = found.filter((other) => other.type === type).length === 1;
      const faultFile = `${name}_fault`;
      return {
        name,
        key: isOnly ? key : `${key}${number}`,
        unit,
        factor,
        file,
        ...(there.has(faultFile) && { faultFile }),
        alarmFiles: files.filter((one) => one.startsWith(`${name}_`) && one.endsWith('_alarm')),
      };
    });
}

/** Key of a label: `vccAux` of `VCC aux`; undefined of one without letters. */
export function labelKey(label: string): string | undefined {
  const words = label.match(/[A-Za-z0-9]+/g) ?? [];
  const [first = '', ...more] = words;
  const key = [
    first === first.toUpperCase() ? first.toLowerCase() : first.charAt(0).toLowerCase() + first.slice(1),
    ...more.map((word) => word.charAt(0).toUpperCase() + word.slice(1)),
  ].join('');
  return /[A-Za-z]/.test(key) ? key.slice(0, 64) : undefined;
}

/** Key of whether a channel's limit is passed. */
export const alarmKeyOf = (key: string): string => `${key}Alarm`;
