/** DS18B20 and its kin, through the kernel's text. Datasheet 19-7487 rev 6. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault, withinRange } from './sensor-fault.ts';

const FAMILY = /^28-/;
/** Nine bytes of scratchpad, twice, and the kernel's verdict on their check sum. */
const TEXT = /^((?:[0-9a-f]{2} ){9}): crc=[0-9a-f]{2} (YES|NO)\n/;
const RANGE = [-55, 125] as const;
/** What the register holds after power-on (table 1), which is also what a chip with a weak supply shows. */
const POWER_ON_CELSIUS = 85;
/** No room warms up faster between two reads. */
const PLAUSIBLE_STEP = 10;

export async function openDs18b20(config: SensorConfigOf<'ds18b20'>, { ports }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, resolution } = config;
  const id = config.id ?? (await firstThermometer(await ports.oneWire.list(signal)));
  if (resolution !== undefined) await ports.oneWire.setResolution(id, resolution, signal);
  let before: number | undefined;
  return {
    name,
    read: async (readSignal) => {
      const value = parseW1Slave(await ports.oneWire.readSlave(id, readSignal));
      const fromPowerOn = value === POWER_ON_CELSIUS && (before === undefined || Math.abs(before - value) > PLAUSIBLE_STEP);
      before = value;
      if (fromPowerOn) throw sensorFault('bad-reading', `${id} shows its power-on value of 85 °C (its supply?)`);
      return [{ key: 'temperature', value, unit: '°C' } satisfies Reading];
    },
    close: async () => {},
  };
}

/** °C of a `w1_slave` text; the bytes count, not the kernel's `t=`, which old kernels computed wrongly below zero. @throws AgentError `sensors/bad-reading` or `sensors/out-of-range` (retry). */
export function parseW1Slave(text: string): number {
  const match = TEXT.exec(text);
  if (match === null) throw sensorFault('bad-reading', 'not the text of a one-wire thermometer');
  const bytes = Buffer.from((match[1] ?? '').replaceAll(' ', ''), 'hex');
  if (match[2] !== 'YES' || crc8(bytes.subarray(0, 8)) !== bytes[8])
    throw sensorFault('bad-reading', 'a wrong check sum from the one-wire bus (cable too long? pull-up?)');
  if (bytes.every((byte) => byte === 0)) throw sensorFault('bad-reading', 'the one-wire bus is held low');
  // Bits 5 and 6 of the configuration: 9 to 12 bits; the lower bits of a coarser reading are undefined (page 8).
  const undefinedBits = 3 - (((bytes[4] ?? 0) >> 5) & 3);
  const sixteenths = (bytes.readInt16LE(0) >> undefinedBits) << undefinedBits;
  return withinRange('temperature', sixteenths / 16, RANGE);
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
  throw sensorFault('ambiguous', `${found.length} thermometers on the one-wire bus; give one of them as id: ${found.join(', ')}`);
}
