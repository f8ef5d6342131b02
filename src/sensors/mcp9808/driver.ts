/**
 * MCP9808: it converts by itself, so a read is two transfers. Datasheet DS25095A.
 *
 * Power-up (5.1.3): it shows 0 °C until its first conversion has ended, with no setting to lose that would change a value. A 0 °C out of
 * nowhere is only believed when it is still there one conversion later. Shutdown, by whoever used the chip before, is looked at, and ended.
 * During a conversion it shows the one before. Overload: its register is wider than its range.
 */
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { celsius, conversionsOf } from '../families/thermometers/conversions.ts';
import { openI2cChip, wrongChip } from '../i2c-chip.ts';
import type { Reading, Sensor } from '../sensor.ts';
import type { SensorDeps } from '../sensor-deps.ts';
import type { Mcp9808Config } from './definition.ts';

/** 250 ms typically at the finest resolution (DS25095A, table 5-4); nobody promises more. */
const MCP9808 = {
  config: 1,
  temperature: 5,
  manufacturer: 6,
  resolution: 8,
  shutdown: 0x0100,
  conversionMs: 300,
  range: [-40, 125],
} as const;
const MICROCHIP = 0x0054;
/** Bits for 0.5, 0.25, 0.125 and 0.0625 °C (DS25095A, register 5-7). */
const MCP9808_RESOLUTIONS: readonly number[] = [0.5, 0.25, 0.125, 0.0625];

export function open(config: Mcp9808Config, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, resolution } = config;
  const converted = conversionsOf(MCP9808.conversionMs, deps.clock);
  const driver = {
    setUp: async (bus: I2cBus, inner: AbortSignal) => {
      const maker = await bus.readWord(address, MCP9808.manufacturer, inner);
      if (maker !== MICROCHIP) throw wrongChip(config, bus, 'mcp9808', `its maker's number is 0x${maker.toString(16)}`);
      await bus.writeRegisters(address, MCP9808.resolution, Uint8Array.of(MCP9808_RESOLUTIONS.indexOf(resolution)), inner);
    },
    read: async (bus: I2cBus, inner: AbortSignal) => {
      const settings = await bus.readWord(address, MCP9808.config, inner);
      const sleeps = (settings & MCP9808.shutdown) !== 0;
      if (sleeps) await bus.writeWord(address, MCP9808.config, settings & ~MCP9808.shutdown, inner);
      return [await converted(sleeps, async () => parseMcp9808(await bus.readWord(address, MCP9808.temperature, inner)), inner)];
    },
  };
  return openI2cChip(config, deps, driver, signal);
}

/** 13 bits in two's complement below three alert flags; steps of 0.0625 °C. @throws AgentError `sensors/out-of-range` (retry). */
export function parseMcp9808(word: number): Reading {
  return celsius(((word << 19) >> 19) / 16, MCP9808.range);
}
