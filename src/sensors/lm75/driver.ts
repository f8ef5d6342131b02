/**
 * LM75 and its descendants: it converts by itself, so a read is two transfers. Datasheet LM75B (NXP) rev. 6.1.
 *
 * Power-up (7.4.3): it shows 0 °C until its first conversion has ended, with no setting to lose that would change a value. A 0 °C out of
 * nowhere is only believed when it is still there one conversion later. Shutdown, by whoever used the chip before, is looked at, and ended.
 * During a conversion it shows the one before. Overload: it ends at 127.5 °C or above: refused, as the truth may be any higher.
 */
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { celsius, conversionsOf } from '../families/thermometers/conversions.ts';
import { openI2cChip, signed16 } from '../i2c-chip.ts';
import type { Reading, Sensor } from '../sensor.ts';
import type { SensorDeps } from '../sensor-deps.ts';
import type { Lm75Config } from './definition.ts';

/** The slowest descendant converts in 300 ms (LM75, Texas Instruments SNIS153). */
const LM75 = { temperature: 0, config: 1, shutdown: 0x01, conversionMs: 300, range: [-55, 127.375] } as const;

export function open(config: Lm75Config, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address } = config;
  const converted = conversionsOf(LM75.conversionMs, deps.clock);
  const read = async (bus: I2cBus, inner: AbortSignal) => {
    const [settings = 0] = await bus.readRegisters(address, LM75.config, 1, inner);
    const sleeps = (settings & LM75.shutdown) !== 0;
    if (sleeps) await bus.writeRegisters(address, LM75.config, Uint8Array.of(settings & ~LM75.shutdown), inner);
    return [await converted(sleeps, async () => parseLm75(await bus.readWord(address, LM75.temperature, inner)), inner)];
  };
  return openI2cChip(config, deps, { read }, signal);
}

/** 11 bits at the top, steps of 0.125 °C; a chip with 9 leaves the lower ones 0. @throws AgentError `sensors/out-of-range` (retry). */
export function parseLm75(word: number): Reading {
  return celsius((signed16(word) >> 5) / 8, LM75.range);
}
