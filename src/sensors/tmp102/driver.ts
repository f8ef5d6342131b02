/**
 * TMP102: it converts by itself, so a read is two transfers. Datasheet SBOS397.
 *
 * Power-up ("Temperature Register"): it shows 0 °C until its first conversion has ended, and converts with its power-on settings. It is given
 * a rate that is not its power-on rate, which every read looks for; so it shows in the same register when whoever used it before shut it down.
 * During a conversion it shows the one before. Overload: it ends at 127.9375 °C unless it is extended: refused, as the truth may be any higher.
 */
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { celsius } from '../families/thermometers/conversions.ts';
import { openI2cChip, signed16 } from '../i2c-chip.ts';
import type { Reading, Sensor } from '../sensor.ts';
import type { SensorDeps } from '../sensor-deps.ts';
import { sensorFault } from '../sensor-fault.ts';
import type { Tmp102Config } from './definition.ts';

/** The longest conversion is 35 ms (SBOS397, electrical characteristics). */
const TMP102 = { temperature: 0, config: 1, conversionMs: 35, range: [-55, 127.875], extendedRange: [-55, 150] } as const;
/** 8 Hz instead of the power-on 4 Hz, with and without EM for 13 bits (SBOS397, table 8). */
const TMP102_CONFIG = { normal: 0x60e0, extended: 0x60f0 } as const;
/** OS and AL tell of the moment, not of a setting. */
const TMP102_SETTINGS = 0x7fdf;
/** Bit 0 of the temperature: whether it is a number of 13 bits. */
const EXTENDED_MODE = 0x0001;
export function open(config: Tmp102Config, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, extended } = config;
  const settings = extended ? TMP102_CONFIG.extended : TMP102_CONFIG.normal;
  const isOurs = (found: number): boolean => ((found ^ settings) & TMP102_SETTINGS) === 0;
  const driver = {
    setUp: async (bus: I2cBus, inner: AbortSignal) => {
      // A deadline below one conversion passes in the first set-up, and not in the next.
      if (isOurs(await bus.readWord(address, TMP102.config, inner))) return;
      await bus.writeWord(address, TMP102.config, settings, inner);
      await deps.clock.sleep(TMP102.conversionMs, inner);
    },
    read: async (bus: I2cBus, inner: AbortSignal) => {
      const word = await bus.readWord(address, TMP102.temperature, inner);
      // After the temperature: a chip that was reset in between is found out too.
      if (!isOurs(await bus.readWord(address, TMP102.config, inner)))
        throw sensorFault('bad-reading', 'the TMP102 has lost its settings (its supply?)');
      return [parseTmp102(word)];
    },
  };
  return openI2cChip(config, deps, driver, signal);
}

/** 12 bits, or 13 when the word itself says so, at the top; steps of 0.0625 °C. @throws AgentError `sensors/out-of-range` (retry). */
export function parseTmp102(word: number): Reading {
  const isExtended = (word & EXTENDED_MODE) !== 0;
  return celsius((signed16(word) >> (isExtended ? 3 : 4)) / 16, isExtended ? TMP102.extendedRange : TMP102.range);
}
