/**
 * DS18B20 and its kin, through the kernel's text. Datasheet 19-7487 rev 6.
 *
 * Power-up (table 1, figure 9): the register holds 85 °C until the first conversion has ended, and so it does in a chip whose supply breaks
 * down whenever it converts. The datasheet calls byte 6 of the scratchpad reserved; the maker's chips hold 0x0c there from power-on and 0x10
 * less the lowest four bits after a conversion, which for 85 °C is 0x10. Where it says neither, or the same beside every value, as in other
 * makers' chips, 85 °C counts only after a reading close to it.
 * A resolution that was lost with the power is the one of its EEPROM again; each answer says its own.
 * During a conversion: the kernel awaits it. Overload: the register is wider than the range of -55 to 125 °C; what lies outside is refused.
 */
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault, withinRange } from '../kind/sensor-fault.ts';
import { type Ds18b20Config, UNITS } from './definition.ts';

const FAMILY = /^28-/;
/** Nine bytes of scratchpad, twice, and the kernel's verdict on their check sum. */
const TEXT = /^((?:[0-9a-f]{2} ){9}): crc=[0-9a-f]{2} (YES|NO)\n/;
const RANGE = [-55, 125] as const;
const POWER_ON_CELSIUS = 85;
/** Byte 6 at 85 °C. */
const FROM_POWER_ON = 0x0c;
const FROM_CONVERSION = 0x10;
/** No room warms up faster between two reads. */
const PLAUSIBLE_STEP = 10;

export async function open(config: Ds18b20Config, { ports }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, resolution } = config;
  const id = config.id ?? (await firstThermometer(await ports.oneWire.list(signal)));
  if (resolution !== undefined) await ports.oneWire.setResolution(id, resolution, signal);
  /** Temperature that was last reported. */
  let before: number | undefined;
  /** True when the chip showed the mark of power-on where one that keeps to it shows another. */
  let marksNothing = false;
  return {
    name,
    read: async (readSignal) => {
      const { celsius: value, mark, markOfConversion } = parseW1Slave(await ports.oneWire.readSlave(id, readSignal));
      if (value !== POWER_ON_CELSIUS && mark === FROM_POWER_ON && mark !== markOfConversion) marksNothing = true;
      const isClose =
        before !== undefined && Math.abs(before - value) <= PLAUSIBLE_STEP && (mark !== FROM_POWER_ON || marksNothing);
      if (value === POWER_ON_CELSIUS && mark !== FROM_CONVERSION && !isClose)
        throw sensorFault('bad-reading', `${id} shows its power-on value of 85 °C (its supply?)`);
      before = value;
      return [{ key: 'temperature', value, unit: UNITS.temperature } satisfies Reading];
    },
    close: async () => {},
  };
}

/** °C, byte 6, and what the maker's chips hold there after the conversion of these °C, of a `w1_slave` text; the bytes count, not the kernel's `t=`, which old kernels computed wrongly below zero. @throws AgentError `sensors/bad-reading` or `sensors/out-of-range` (retry). */
export function parseW1Slave(text: string): {
  readonly celsius: number;
  readonly mark: number;
  readonly markOfConversion: number;
} {
  const match = TEXT.exec(text);
  if (match === null) throw sensorFault('bad-reading', 'not the text of a one-wire thermometer');
  const bytes = Buffer.from((match[1] ?? '').replaceAll(' ', ''), 'hex');
  if (match[2] !== 'YES' || crc8(bytes.subarray(0, 8)) !== bytes[8])
    throw sensorFault('bad-reading', 'a wrong check sum from the one-wire bus (cable too long? pull-up?)');
  if (bytes.every((byte) => byte === 0)) throw sensorFault('bad-reading', 'the one-wire bus is held low');
  // Bits 5 and 6 of the configuration: 9 to 12 bits; the lower bits of a coarser reading are undefined (page 8).
  const undefinedBits = 3 - (((bytes[4] ?? 0) >> 5) & 3);
  const sixteenths = (bytes.readInt16LE(0) >> undefinedBits) << undefinedBits;
  const celsius = withinRange('temperature', sixteenths / 16, RANGE);
  return { celsius, mark: bytes[6] ?? 0, markOfConversion: 0x10 - ((bytes[0] ?? 0) & 0x0f) };
}

/** Maxim application note 27: x^8 + x^5 + x^4 + 1, low bit first. */
function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    for (let bit = 0; bit < 8; bit += 1) crc = (crc ^ (byte >> bit)) & 1 ? (crc >> 1) ^ 0x8c : crc >> 1;
  }
  return crc;
}

async function firstThermometer(ids: readonly string[]): Promise<string> {
  const found = ids.filter((id) => FAMILY.test(id));
  if (found.length === 1 && found[0] !== undefined) return found[0];
  if (found.length === 0) throw sensorFault('silent', 'no DS18B20 on the one-wire bus (dtoverlay=w1-gpio? wiring?)');
  throw sensorFault(
    'ambiguous',
    `${found.length} thermometers on the one-wire bus; give one of them as id: ${found.join(', ')}`,
  );
}
