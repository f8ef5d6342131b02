/**
 * SHT30, SHT31, SHT35: single shots without clock stretching, which some adapters cannot do. Datasheet SHT3x-DIS, May 2018, version 5.
 *
 * Power-up and brown-out (section 3.1): idle, with nothing to lose between reads. Within one, and during a measurement, the chip does not
 * acknowledge being read (section 4.4): nothing old can pass for new. Each word has its own check sum.
 * Overload: outside its range (tables 1 and 2) a value is left out alone. 0 and 100 % are ends of the scale and also real air.
 */
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { openI2cChip, rounded } from '../kind/i2c-chip.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault, withinRange } from '../kind/sensor-fault.ts';
import { crc8, MEASUREMENT_MS, type Sht3xConfig, UNITS } from './definition.ts';

/** Table 8. */
const COMMANDS = { high: [0x24, 0x00], medium: [0x24, 0x0b], low: [0x24, 0x16] } as const;
const ANSWER_LENGTH = 6;
const RANGE = { temperature: [-40, 125], humidity: [0, 100] } as const;

export function open(config: Sht3xConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, repeatability } = config;
  const read = async (bus: I2cBus, inner: AbortSignal) => {
    await bus.write(address, Uint8Array.from(COMMANDS[repeatability]), inner);
    await deps.clock.sleep(MEASUREMENT_MS[repeatability], inner);
    return parseSht3x(await bus.read(address, ANSWER_LENGTH, inner));
  };
  return openI2cChip(config, deps, { read }, signal);
}

/** Section 4.13. Refusals are `sensors/bad-reading` for a wrong check sum, and `sensors/out-of-range` (both retry). */
export function parseSht3x(bytes: Uint8Array): readonly Outcome[] {
  const word = (at: number): number => {
    if (crc8(bytes.subarray(at, at + 2)) !== bytes[at + 2])
      throw sensorFault('bad-reading', 'a wrong check sum from the SHT3x');
    return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
  };
  const temperature = (): number =>
    withinRange('temperature', rounded(-45 + (175 * word(0)) / 65_535, 2), RANGE.temperature);
  const humidity = (): number => withinRange('humidity', rounded((100 * word(3)) / 65_535, 2), RANGE.humidity);
  return [
    outcomeOf('temperature', () => ({ key: 'temperature', value: temperature(), unit: UNITS.temperature })),
    outcomeOf('humidity', () => ({ key: 'humidity', value: humidity(), unit: UNITS.humidity })),
  ];
}
