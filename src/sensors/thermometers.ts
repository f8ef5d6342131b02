/**
 * Thermometers with one register: TMP102, LM75 and its descendants, MCP9808. They convert by themselves, so a read is one transfer or two.
 * Sheets: TMP102 SBOS397; LM75B (NXP) rev. 6.1; MCP9808 DS25095A.
 *
 * Power-up: all three show 0 °C until their first conversion has ended (SBOS397 "Temperature Register"; LM75B 7.4.3; DS25095A 5.1.3), and
 * convert with their power-on settings. A TMP102 is given a rate that is not its power-on rate, which every read looks for; the others have
 * no setting to lose that would change a value. There a 0 °C out of nowhere is only believed when it is still there one conversion later.
 * Shutdown, by whoever used the chip before: a TMP102 shows it in the same register; the others are looked at, and woken.
 * During a conversion they show the one before. Overload: a TMP102 ends at 127.9375 °C unless it is extended, and an LM75 at 127.5 °C or
 * above: refused, as the truth may be any higher. The registers of the others are wider than their range.
 */
import type { SensorConfigOf } from '../config/agent-config.ts';
import type { I2cBus } from '../hardware/i2c-port.ts';
import type { Clock } from '../host/clock.ts';
import { openI2cChip, signed16, wrongChip } from './i2c-chip.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault, withinRange } from './sensor-fault.ts';

/** The longest conversion is 35 ms (SBOS397, electrical characteristics). */
const TMP102 = { temperature: 0, config: 1, conversionMs: 35, range: [-55, 127.875], extendedRange: [-55, 150] } as const;
/** 8 Hz instead of the power-on 4 Hz, with and without EM for 13 bits (SBOS397, table 8). */
const TMP102_CONFIG = { normal: 0x60e0, extended: 0x60f0 } as const;
/** OS and AL tell of the moment, not of a setting. */
const TMP102_SETTINGS = 0x7fdf;
/** Bit 0 of the temperature: whether it is a number of 13 bits. */
const EXTENDED_MODE = 0x0001;
/** The slowest descendant converts in 300 ms (LM75, Texas Instruments SNIS153). */
const LM75 = { temperature: 0, config: 1, shutdown: 0x01, conversionMs: 300, range: [-55, 127.375] } as const;
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
/** °C: a 0 after such a reading is believed. */
const CLOSE_TO_ZERO = 2;
const MICROCHIP = 0x0054;
/** Bits for 0.5, 0.25, 0.125 and 0.0625 °C (DS25095A, register 5-7). */
const MCP9808_RESOLUTIONS: readonly number[] = [0.5, 0.25, 0.125, 0.0625];

export function openTmp102(config: SensorConfigOf<'tmp102'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
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

export function openLm75(config: SensorConfigOf<'lm75'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
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

export function openMcp9808(config: SensorConfigOf<'mcp9808'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
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

type Give = () => Promise<Reading>;

/** Readings after a conversion where there may have been none: 0 °C is what a chip shows that has just been switched on. */
function conversionsOf(conversionMs: number, clock: Clock): (wasAsleep: boolean, give: Give, signal: AbortSignal) => Promise<Reading> {
  let before: number | undefined;
  return async (wasAsleep, give, signal) => {
    if (wasAsleep) await clock.sleep(conversionMs, signal);
    let reading = await give();
    const isExpected = before !== undefined && Math.abs(before) <= CLOSE_TO_ZERO;
    if (reading.value === 0 && !wasAsleep && !isExpected) {
      await clock.sleep(conversionMs, signal);
      reading = await give();
    }
    before = Number(reading.value);
    return reading;
  };
}

/** 12 bits, or 13 when the word itself says so, at the top; steps of 0.0625 °C. @throws AgentError `sensors/out-of-range` (retry). */
export function parseTmp102(word: number): Reading {
  const isExtended = (word & EXTENDED_MODE) !== 0;
  return celsius((signed16(word) >> (isExtended ? 3 : 4)) / 16, isExtended ? TMP102.extendedRange : TMP102.range);
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
