/**
 * Channels of Industrial I/O: `in_<type>[index][_modifier]_raw` with scale and offset, or `_input`, which the driver has processed. Units are
 * those of the kernel's Documentation/ABI/testing/sysfs-bus-iio; keys and units here are those of the vocabulary of measurements.
 */

interface TypeWords {
  readonly key: string;
  /** Absent where a value has none. */
  readonly unit?: string;
  /** Multiplies the kernel's unit into this one. */
  readonly factor: number;
}

const MILLI = 0.001;
/** Fraction of a percent into parts of a million. */
const PPM_PER_PERCENT = 10_000;

/** By the kernel's name of the type. */
const TYPES: Readonly<Record<string, TypeWords>> = {
  // Milli degrees Celsius.
  temp: { key: 'temperature', unit: '°C', factor: MILLI },
  // Milli percent.
  humidityrelative: { key: 'humidity', unit: '%', factor: MILLI },
  // Kilopascal.
  pressure: { key: 'pressure', unit: 'hPa', factor: 10 },
  // Millivolt.
  voltage: { key: 'voltage', unit: 'V', factor: MILLI },
  altvoltage: { key: 'altVoltage', unit: 'V', factor: MILLI },
  // Milliampere.
  current: { key: 'current', unit: 'A', factor: MILLI },
  altcurrent: { key: 'altCurrent', unit: 'A', factor: MILLI },
  // Milliwatt.
  power: { key: 'power', unit: 'W', factor: MILLI },
  // Joule.
  energy: { key: 'energy', unit: 'kWh', factor: 1 / 3_600_000 },
  illuminance: { key: 'illuminance', unit: 'lx', factor: 1 },
  intensity: { key: 'intensity', factor: 1 },
  proximity: { key: 'proximity', factor: 1 },
  distance: { key: 'distance', unit: 'm', factor: 1 },
  resistance: { key: 'resistance', unit: 'Ω', factor: 1 },
  // Nanofarad.
  capacitance: { key: 'capacitance', unit: 'nF', factor: 1 },
  accel: { key: 'acceleration', unit: 'm/s²', factor: 1 },
  gravity: { key: 'gravity', unit: 'm/s²', factor: 1 },
  anglvel: { key: 'angularVelocity', unit: 'rad/s', factor: 1 },
  angl: { key: 'angle', unit: 'rad', factor: 1 },
  incli: { key: 'inclination', unit: '°', factor: 1 },
  magn: { key: 'magneticField', unit: 'G', factor: 1 },
  // Percent.
  concentration: { key: 'concentration', unit: 'ppm', factor: PPM_PER_PERCENT },
  massconcentration: { key: 'massConcentration', unit: 'µg/m³', factor: 1 },
  electricalconductivity: { key: 'conductivity', unit: 'S/m', factor: 1 },
  ph: { key: 'ph', factor: 1 },
  uvindex: { key: 'uvIndex', factor: 1 },
  velocity: { key: 'velocity', unit: 'm/s', factor: 1 },
  phase: { key: 'phase', unit: 'rad', factor: 1 },
  count: { key: 'count', factor: 1 },
};
/** The longest name first. */
const TYPE_NAMES = Object.keys(TYPES).sort((one, other) => other.length - one.length);

/** Keys of substances, whose type is only the measure. */
const SUBSTANCES: Readonly<Record<string, string>> = {
  concentration_co2: 'co2',
  concentration_voc: 'voc',
  concentration_ethanol: 'ethanol',
  concentration_h2: 'hydrogen',
  concentration_o2: 'oxygen',
  massconcentration_pm1: 'pm1',
  massconcentration_pm2p5: 'pm2_5',
  massconcentration_pm4: 'pm4',
  massconcentration_pm10: 'pm10',
};

/** Statistics that a chip keeps, and no value of now. */
const KEPT = /_(peak|trough|mean)$/;
const FILE = /^in_([a-z][a-z0-9_-]*?)_(raw|input)$/;

export interface IioChannel {
  /** `voltage0`, `accel_x`, `voltage0-voltage1`. */
  readonly name: string;
  readonly key: string;
  readonly unit?: string;
  /** Multiplies the kernel's unit into that of the key. */
  readonly factor: number;
  /** The processed value, or the raw one. */
  readonly file: string;
  /** Files of scale and offset, where the driver has them. */
  readonly scaleFile?: string;
  readonly offsetFile?: string;
}

/** The channels that a device's files show, in the order of their names. */
export function iioChannels(files: readonly string[]): readonly IioChannel[] {
  const there = new Set(files);
  const found = new Map<string, IioChannel>();
  for (const file of files) {
    const [, name, form] = FILE.exec(file) ?? [];
    if (name === undefined || KEPT.test(name)) continue;
    const isProcessed = form === 'input';
    // A processed value says what the driver makes of the raw one.
    if (!isProcessed && there.has(`in_${name}_input`)) continue;
    found.set(name, channelOf(name, file, isProcessed, there));
  }
  return [...found.values()];
}

function channelOf(name: string, file: string, isProcessed: boolean, there: ReadonlySet<string>): IioChannel {
  const { type, rest } = partsOf(name);
  const words = type === undefined ? undefined : TYPES[type];
  const key = SUBSTANCES[name] ?? `${words?.key ?? type ?? ''}${keyEnding(rest)}`;
  const scaleFile = isProcessed ? undefined : sharedFile(name, 'scale', there);
  const offsetFile = isProcessed ? undefined : sharedFile(name, 'offset', there);
  // A raw number without a scale has no unit.
  const hasUnit = words !== undefined && (isProcessed || scaleFile !== undefined);
  return {
    name,
    key,
    unit: hasUnit ? words.unit : undefined,
    factor: hasUnit ? words.factor : 1,
    file,
    scaleFile,
    offsetFile,
  };
}

/** `voltage` and `0-voltage1`; a type that nobody here knows is the letters before the first digit or underscore. */
function partsOf(name: string): { readonly type: string | undefined; readonly rest: string } {
  const known = TYPE_NAMES.find((one) => name.startsWith(one) && !/^[a-z]/.test(name.slice(one.length)));
  const type = known ?? /^[a-z]+/.exec(name)?.[0];
  return { type, rest: name.slice(type?.length ?? 0) };
}

/** `0` of `0`, `X` of `_x`, `0Supply` of `0_supply`, `0_1` of `0-voltage1`. */
function keyEnding(rest: string): string {
  const [own = '', other] = rest.split('-');
  const [index = '', ...modifiers] = own.split('_');
  const words = modifiers.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  const against = other === undefined ? '' : `_${/\d+/.exec(other)?.[0] ?? ''}`;
  return `${index}${words}${against}`;
}

/**
 * The file that holds for a channel: its own, that of all channels of its type (`in_voltage_scale`, `in_accel_scale`,
 * `in_voltage-voltage_scale` of differences), or that of the device.
 */
function sharedFile(name: string, what: 'scale' | 'offset', there: ReadonlySet<string>): string | undefined {
  const { type = '' } = partsOf(name);
  const ofType = name.includes('-') ? `${type}-${type}` : type;
  const withoutIndex = name.replaceAll(/(?<=[a-z])\d+(?=_|-|$)/g, '');
  return [name, withoutIndex, ofType]
    .map((one) => `in_${one}_${what}`)
    .concat(`in_${what}`, what)
    .find((file) => there.has(file));
}
