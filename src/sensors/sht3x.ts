/** SHT30, SHT31, SHT35: single shots without clock stretching, which some adapters cannot do. Datasheet SHT3x-DIS, May 2018, version 5. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { openI2cChip, rounded } from './i2c-chip.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault, withinRange } from './sensor-fault.ts';

/** Command (table 8) and longest measurement in ms (table 4). */
const SHOTS = {
  high: { command: [0x24, 0x00], ms: 15.5 },
  medium: { command: [0x24, 0x0b], ms: 6.5 },
  low: { command: [0x24, 0x16], ms: 4.5 },
} as const;
const ANSWER_LENGTH = 6;
const RANGE = { temperature: [-40, 125], humidity: [0, 100] } as const;

export function openSht3x(config: SensorConfigOf<'sht3x'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, repeatability } = config;
  const { command, ms } = SHOTS[repeatability];
  return openI2cChip(
    config,
    deps,
    {
      read: async (bus, inner) => {
        await bus.write(address, Uint8Array.from(command), inner);
        await deps.clock.sleep(ms, inner);
        return parseSht3x(await bus.read(address, ANSWER_LENGTH, inner));
      },
    },
    signal,
  );
}

/** Section 4.13. @throws AgentError `sensors/bad-reading` for a wrong check sum, `sensors/out-of-range` (retry). */
export function parseSht3x(bytes: Uint8Array): readonly Reading[] {
  const word = (at: number): number => {
    if (crc8(bytes.subarray(at, at + 2)) !== bytes[at + 2]) throw sensorFault('bad-reading', 'a wrong check sum from the SHT3x');
    return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
  };
  const temperature = rounded(-45 + (175 * word(0)) / 65_535, 2);
  const humidity = rounded((100 * word(3)) / 65_535, 2);
  return [
    { key: 'temperature', value: withinRange('temperature', temperature, RANGE.temperature), unit: '°C' },
    { key: 'humidity', value: withinRange('humidity', humidity, RANGE.humidity), unit: '%' },
  ];
}

/** Table 20: polynomial 0x31, start 0xff, not reflected. */
export function crc8(bytes: Uint8Array): number {
  let crc = 0xff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80 ? ((crc << 1) ^ 0x31) & 0xff : crc << 1;
  }
  return crc;
}
