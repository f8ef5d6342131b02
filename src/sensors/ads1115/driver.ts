/**
 * ADS1115: one single-shot conversion per configured input. Datasheet SBAS444D.
 *
 * Power-up (section 9.6, tables 7 and 8): configuration 0x8583 and 0 V in the conversion register, with OS at 1 as no conversion runs. A lost
 * configuration would pass for a measured 0 V: it is read back, and never equals the power-on one, as ours latches a comparator that is off.
 * During a conversion: OS reads 0, and is awaited. Overload: 0x7fff and 0x8000 are the ends of the range (table 3), where the truth may be
 * any; such an input is left out alone.
 */
import type { I2cBus } from '../../hardware/i2c-port.ts';
import type { Clock } from '../../host/clock.ts';
import { openI2cChip, rounded, signed16 } from '../kind/i2c-chip.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { type Ads1115Config, conversionMs } from './definition.ts';

type Channel = Ads1115Config['channels'][string];

const REGISTER = { conversion: 0, config: 1 } as const;
/** Fields of the configuration register (table 8). */
const START = 0x8000;
const READY = 0x8000;
const SINGLE_SHOT = 0x0100;
const NO_COMPARATOR = 0x0003;
/** Without a meaning while the comparator is off: the mark of a configuration that is ours. */
const LATCHING = 0x0004;
const INPUTS: Readonly<Record<Channel['input'], number>> = {
  'A0-A1': 0,
  'A0-A3': 1,
  'A1-A3': 2,
  'A2-A3': 3,
  A0: 4,
  A1: 5,
  A2: 6,
  A3: 7,
};
const RANGES: readonly number[] = [6.144, 4.096, 2.048, 1.024, 0.512, 0.256];
const RATES: readonly number[] = [8, 16, 32, 64, 128, 250, 475, 860];
const POLL_MS = 1;
/** The finest step is 7.8 µV. */
const DIGITS = 7;

export function open(config: Ads1115Config, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const read = async (bus: I2cBus, inner: AbortSignal) => {
    const outcomes: Outcome[] = [];
    for (const [key, channel] of Object.entries(config.channels)) {
      const word = await convert(bus, config, channel, deps.clock, inner);
      outcomes.push(outcomeOf(key, () => parseAds1115(key, channel.rangeVolts, word)));
    }
    return outcomes;
  };
  return openI2cChip(config, deps, { read }, signal);
}

/** The word to write for one conversion. */
export function ads1115Config(channel: Channel, samplesPerSecond: number): number {
  const fields =
    (INPUTS[channel.input] << 12) | (RANGES.indexOf(channel.rangeVolts) << 9) | (RATES.indexOf(samplesPerSecond) << 5);
  return START | SINGLE_SHOT | LATCHING | NO_COMPARATOR | fields;
}

/** Volts of a conversion. @throws AgentError `sensors/out-of-range` (retry) at both ends of the scale, where the true voltage may be any. */
export function parseAds1115(key: string, rangeVolts: number, word: number): Reading {
  const raw = signed16(word);
  if (raw === 0x7fff || raw === -0x8000)
    throw sensorFault('out-of-range', `${key} is at the end of its range of ±${rangeVolts} V; choose a larger one`);
  return { key, value: rounded((raw * rangeVolts) / 0x8000, DIGITS), unit: 'V' };
}

async function convert(
  bus: I2cBus,
  config: Ads1115Config,
  channel: Channel,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const { address, samplesPerSecond } = config;
  const settings = ads1115Config(channel, samplesPerSecond);
  await bus.writeWord(address, REGISTER.config, settings, signal);
  await clock.sleep(conversionMs(samplesPerSecond), signal);
  let found = await bus.readWord(address, REGISTER.config, signal);
  while ((found & READY) === 0) {
    await clock.sleep(POLL_MS, signal);
    found = await bus.readWord(address, REGISTER.config, signal);
  }
  const word = await bus.readWord(address, REGISTER.conversion, signal);
  // Once more behind the value: the power may fail between the two.
  const after = await bus.readWord(address, REGISTER.config, signal);
  if ([found, after].some((one) => (one | READY) !== (settings | READY)))
    throw sensorFault('bad-reading', 'the ADS1115 has lost its settings (its supply?)');
  return word;
}
