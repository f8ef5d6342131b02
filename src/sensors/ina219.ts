/** INA219: bus voltage, current and power over a shunt. Datasheet SBOS448G. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { openI2cChip, rounded, signed16 } from './i2c-chip.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault, withinRange } from './sensor-fault.ts';

const REGISTER = { config: 0, bus: 2, power: 3, current: 4, calibration: 5 } as const;
/** 32 V or 16 V, shunt range, 12 bits, both conversions continuously (table 8.6.2.1). */
const BUS_RANGE_32 = 0x2000;
const TWELVE_BITS = 0x0198;
const CONTINUOUS = 0x0007;
const SHUNT_RANGES_VOLTS = [0.04, 0.08, 0.16, 0.32];
/** Equation 1. */
const CALIBRATION = 0.04096;
const BUS_STEP_VOLTS = 0.004;
const POWER_STEPS_PER_CURRENT_STEP = 20;
const OVERFLOW = 0x0001;
const DIGITS = 6;

type Ina219Config = Pick<SensorConfigOf<'ina219'>, 'shuntOhms' | 'maxAmperes' | 'busRangeVolts'>;

export function openIna219(config: SensorConfigOf<'ina219'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address } = config;
  return openI2cChip(
    config,
    deps,
    {
      setUp: async (bus, inner) => {
        await bus.writeWord(address, REGISTER.config, ina219Config(config), inner);
        await bus.writeWord(address, REGISTER.calibration, ina219Calibration(config), inner);
      },
      read: async (bus, inner) => {
        // A chip that lost its power has lost its calibration, and would report 0 A for ever.
        if ((await bus.readWord(address, REGISTER.calibration, inner)) !== ina219Calibration(config))
          throw sensorFault('bad-reading', 'the INA219 has lost its calibration');
        const voltage = await bus.readWord(address, REGISTER.bus, inner);
        const current = await bus.readWord(address, REGISTER.current, inner);
        return parseIna219(config, { voltage, current, power: await bus.readWord(address, REGISTER.power, inner) });
      },
    },
    signal,
  );
}

/** The smallest shunt range that the greatest current fits into. */
export function ina219Config({ busRangeVolts, shuntOhms, maxAmperes }: Ina219Config): number {
  const fitting = SHUNT_RANGES_VOLTS.findIndex((volts) => volts >= shuntOhms * maxAmperes - 1e-9);
  const range = fitting < 0 ? SHUNT_RANGES_VOLTS.length - 1 : fitting;
  return (busRangeVolts === 32 ? BUS_RANGE_32 : 0) | (range << 11) | TWELVE_BITS | CONTINUOUS;
}

/** Equations 1 and 2; its lowest bit cannot be written. */
export function ina219Calibration({ shuntOhms, maxAmperes }: Ina219Config): number {
  return Math.min(0xfffe, Math.trunc(CALIBRATION / ((maxAmperes / 2 ** 15) * shuntOhms))) & 0xfffe;
}

/** @throws AgentError `sensors/out-of-range` (retry) when the chip's own arithmetic overflowed. */
export function parseIna219(
  config: Ina219Config,
  words: { readonly voltage: number; readonly current: number; readonly power: number },
): readonly Reading[] {
  if (words.voltage & OVERFLOW) throw sensorFault('out-of-range', 'more current than maxAmperes: the INA219 has overflowed');
  // What the written calibration makes of one step, which rounding put a little beside maxAmperes / 2^15.
  const step = CALIBRATION / (ina219Calibration(config) * config.shuntOhms);
  const voltage = withinRange('voltage', rounded((words.voltage >> 3) * BUS_STEP_VOLTS, DIGITS), [0, config.busRangeVolts]);
  return [
    { key: 'voltage', value: voltage, unit: 'V' },
    { key: 'current', value: rounded(signed16(words.current) * step, DIGITS), unit: 'A' },
    { key: 'power', value: rounded(words.power * step * POWER_STEPS_PER_CURRENT_STEP, DIGITS), unit: 'W' },
  ];
}
