/**
 * Thermometers with one register: TMP102, LM75 and its descendants, MCP9808. They convert by themselves, so a read is one transfer.
 * Sheets: TMP102 SBOS397; LM75B (NXP) rev. 6.1; MCP9808 DS25095A.
 */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { openI2cChip, signed16, wrongChip } from './i2c-chip.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { withinRange } from './sensor-fault.ts';

const TMP102 = { temperature: 0, config: 1, range: [-55, 128], extendedRange: [-55, 150] } as const;
/** Power-on configuration 0x60a0, with and without EM for 13 bits (SBOS397, table 8). */
const TMP102_CONFIG = { normal: 0x60a0, extended: 0x60b0 } as const;
const LM75 = { temperature: 0, range: [-55, 127.875] } as const;
const MCP9808 = { temperature: 5, manufacturer: 6, resolution: 8, range: [-40, 125] } as const;
const MICROCHIP = 0x0054;
/** Bits for 0.5, 0.25, 0.125 and 0.0625 °C (DS25095A, register 5-7). */
const MCP9808_RESOLUTIONS: readonly number[] = [0.5, 0.25, 0.125, 0.0625];

export function openTmp102(config: SensorConfigOf<'tmp102'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, extended } = config;
  const driver = {
    setUp: (bus: Bus, inner: AbortSignal) =>
      bus.writeWord(address, TMP102.config, extended ? TMP102_CONFIG.extended : TMP102_CONFIG.normal, inner),
    read: async (bus: Bus, inner: AbortSignal) => [parseTmp102(await bus.readWord(address, TMP102.temperature, inner), extended)],
  };
  return openI2cChip(config, deps, driver, signal);
}

export function openLm75(config: SensorConfigOf<'lm75'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const read = async (bus: Bus, inner: AbortSignal) => [parseLm75(await bus.readWord(config.address, LM75.temperature, inner))];
  return openI2cChip(config, deps, { read }, signal);
}

export function openMcp9808(config: SensorConfigOf<'mcp9808'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, resolution } = config;
  const driver = {
    setUp: async (bus: Bus, inner: AbortSignal) => {
      const maker = await bus.readWord(address, MCP9808.manufacturer, inner);
      if (maker !== MICROCHIP) throw wrongChip(config, bus, 'mcp9808', `its maker's number is 0x${maker.toString(16)}`);
      await bus.writeRegisters(address, MCP9808.resolution, Uint8Array.of(MCP9808_RESOLUTIONS.indexOf(resolution)), inner);
    },
    read: async (bus: Bus, inner: AbortSignal) => [parseMcp9808(await bus.readWord(address, MCP9808.temperature, inner))],
  };
  return openI2cChip(config, deps, driver, signal);
}

type Bus = Parameters<NonNullable<Parameters<typeof openI2cChip>[2]['setUp']>>[0];

/** 12 bits, or 13 in extended mode, at the top; steps of 0.0625 °C. @throws AgentError `sensors/out-of-range` (retry). */
export function parseTmp102(word: number, extended: boolean): Reading {
  const value = (signed16(word) >> (extended ? 3 : 4)) / 16;
  return celsius(value, extended ? TMP102.extendedRange : TMP102.range);
}

/** 11 bits at the top, steps of 0.125 °C; a chip with 9 leaves the lower ones 0. @throws AgentError `sensors/out-of-range` (retry). */
export function parseLm75(word: number): Reading {
  return celsius((signed16(word) >> 5) / 8, LM75.range);
}

/** 13 bits in two's complement below three alert flags; steps of 0.0625 °C. @throws AgentError `sensors/out-of-range` (retry). */
export function parseMcp9808(word: number): Reading {
  return celsius(((word << 19) >> 19) / 16, MCP9808.range);
}

function celsius(value: number, range: readonly [number, number]): Reading {
  return { key: 'temperature', value: withinRange('temperature', value, range), unit: '°C' };
}
