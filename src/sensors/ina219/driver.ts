/**
 * INA219: voltage of the bus, current through a shunt, and their product, which has the current's sign. Datasheet SBOS448G.
 *
 * One triggered conversion a read: writing the configuration starts it, and CNVR tells that it has ended (section 8.5.1, table 8-7). The
 * current is computed here from the shunt's voltage: the chip's own current register would need a calibration, which it forgets with its
 * power and whose overflow flag says nothing of the amplifier's end.
 * Power-up (table 8-2): configuration 0x399f, which converts continuously. A read that finds it has met a chip that lost its power.
 * Overload: the shunt's amplifier ends at its range, 40 to 320 mV (table 8-5), and the bus at 16 or 32 V; both then show their end whatever
 * the truth is. Such a value is left out, and the power with it.
 */
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { openI2cChip, rounded, signed16 } from '../kind/i2c-chip.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { CONVERSION_MS, type Ina219Config, UNITS } from './definition.ts';

const REGISTER = { config: 0, shunt: 1, bus: 2 } as const;
/** 32 V or 16 V, shunt range, 12 bits, both conversions once (section 8.6.2.1). */
const BUS_RANGE_32 = 0x2000;
const TWELVE_BITS = 0x0198;
const BOTH_TRIGGERED = 0x0003;
const SHUNT_RANGES_VOLTS = [0.04, 0.08, 0.16, 0.32];
const SHUNT_STEP_VOLTS = 0.000_01;
const BUS_STEP_VOLTS = 0.004;
const CONVERTED = 0x0002;
const POLL_MS = 1;
const DIGITS = 6;

type Measuring = Pick<Ina219Config, 'shuntOhms' | 'maxAmperes' | 'busRangeVolts'>;

export function open(config: Ina219Config, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address } = config;
  const settings = ina219Config(config);
  const read = async (bus: I2cBus, inner: AbortSignal) => {
    await bus.writeWord(address, REGISTER.config, settings, inner);
    await deps.clock.sleep(CONVERSION_MS, inner);
    let voltage = await bus.readWord(address, REGISTER.bus, inner);
    while ((voltage & CONVERTED) === 0) {
      await deps.clock.sleep(POLL_MS, inner);
      voltage = await bus.readWord(address, REGISTER.bus, inner);
    }
    const shunt = await bus.readWord(address, REGISTER.shunt, inner);
    if ((await bus.readWord(address, REGISTER.config, inner)) !== settings)
      throw sensorFault('bad-reading', 'the INA219 has lost its settings (its supply?)');
    return parseIna219(config, { voltage, shunt });
  };
  return openI2cChip(config, deps, { read }, signal);
}

/** The smallest shunt range that the greatest current fits into. */
export function ina219Config(config: Measuring): number {
  return (config.busRangeVolts === 32 ? BUS_RANGE_32 : 0) | (shuntRangeOf(config) << 11) | TWELVE_BITS | BOTH_TRIGGERED;
}

export function parseIna219(
  config: Measuring,
  words: { readonly voltage: number; readonly shunt: number },
): readonly Outcome[] {
  const { busRangeVolts, shuntOhms } = config;
  const rangeVolts = SHUNT_RANGES_VOLTS[shuntRangeOf(config)] ?? 0;
  const volts = (): number => {
    const steps = words.voltage >> 3;
    if (steps * BUS_STEP_VOLTS >= busRangeVolts)
      throw sensorFault('out-of-range', `the voltage is at the end of its range of ${busRangeVolts} V`);
    return rounded(steps * BUS_STEP_VOLTS, DIGITS);
  };
  const amperes = (): number => {
    const shuntVolts = rounded(signed16(words.shunt) * SHUNT_STEP_VOLTS, DIGITS);
    if (Math.abs(shuntVolts) >= rangeVolts)
      throw sensorFault(
        'out-of-range',
        `the current is at the end of its range of ±${rounded(rangeVolts / shuntOhms, DIGITS)} A`,
      );
    return rounded(shuntVolts / shuntOhms, DIGITS);
  };
  return [
    outcomeOf('voltage', () => ({ key: 'voltage', value: volts(), unit: UNITS.voltage })),
    outcomeOf('current', () => ({ key: 'current', value: amperes(), unit: UNITS.current })),
    outcomeOf('power', () => ({
      key: 'power',
      value: rounded(volts() * amperes(), DIGITS),
      unit: UNITS.power,
    })),
  ];
}

function shuntRangeOf({ shuntOhms, maxAmperes }: Measuring): number {
  const fitting = SHUNT_RANGES_VOLTS.findIndex((volts) => volts >= shuntOhms * maxAmperes - 1e-9);
  return fitting < 0 ? SHUNT_RANGES_VOLTS.length - 1 : fitting;
}
