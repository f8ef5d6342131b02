/**
 * BME280 and BMP280 on an I2C bus: one forced measurement a read, so that the chip sleeps in between and heats itself least.
 * Datasheets BST-BME280-DS002 and BST-BMP280-DS001.
 *
 * Power-up (DS002 sections 1.1 and 5.4.4): 2 ms until it answers, and `im_update` while it copies its trimming; asleep, everything skipped.
 * We reset it and await the copy before its trimming is read, which also ends a normal mode that would ignore `config` (section 5.4.6).
 * A loss of power between reads leaves nothing to notice, as all its settings are written before each measurement.
 * During a conversion: `measuring` (section 5.4.4) is awaited. What was not measured is 0x80000, humidity 0x8000 (sections 5.4.7 to 5.4.9):
 * without temperature nothing can be computed, pressure and humidity are left out alone.
 * Overload: outside its range (table 1) a value is left out alone; 100 % humidity is its end and also fog, and is reported.
 */
import type { I2cBus } from '../../../hardware/i2c-port.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Bme280Config } from '../../bme280/definition.ts';
import type { Bmp280Config } from '../../bmp280/definition.ts';
import { openI2cChip, wrongChip } from '../../kind/i2c-chip.ts';
import { type Outcome, outcomeOf } from '../../kind/outcome.ts';
import type { Reading, Sensor } from '../../kind/sensor.ts';
import type { SensorDeps } from '../../kind/sensor-deps.ts';
import { sensorFault, withinRange } from '../../kind/sensor-fault.ts';
import {
  type BoschTrimming,
  celsius,
  fineTemperature,
  parseTrimming,
  pascal,
  relativeHumidity,
} from './compensation.ts';
import { boschMs, CHIP_ID, UNITS } from './definition.ts';

type BoschConfig = Bme280Config | Bmp280Config;

const REGISTER = {
  trimming: 0x88,
  id: 0xd0,
  reset: 0xe0,
  humidityTrimming: 0xe1,
  controlHumidity: 0xf2,
  status: 0xf3,
  control: 0xf4,
  config: 0xf5,
  data: 0xf7,
} as const;
const TRIMMING_LENGTH = 26;
const HUMIDITY_TRIMMING_LENGTH = 7;
const FORCED_MODE = 1;
const RESET_WORD = 0xb6;
/** Until the chip answers after power-on or reset (table 1). */
const START_MS = 2;
const STATUS = { measuring: 0x08, copyingTrimming: 0x01 } as const;
const POLL_MS = 2;
/** Content of the data registers for a value that was not measured. */
const NOT_MEASURED = { wide: 0x80000, humidity: 0x8000 } as const;
const RANGE = { temperature: [-40, 85], pressure: [300, 1100], humidity: [0, 100] } as const;

export function openBosch(config: BoschConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  let trimming: BoschTrimming | undefined;
  const driver = {
    setUp: async () => {
      trimming = undefined;
    },
    read: async (bus: I2cBus, inner: AbortSignal) => {
      trimming ??= await setUp(config, bus, deps.clock, inner);
      return parseBoschData(trimming, await measure(config, bus, deps.clock, inner));
    },
  };
  return openI2cChip(config, deps, driver, signal);
}

/** Raw numbers to readings. @throws AgentError `sensors/bad-reading` or `sensors/out-of-range` (retry) without a temperature. */
export function parseBoschData(trimming: BoschTrimming, data: Uint8Array): readonly Outcome[] {
  const byte = (at: number): number => data[at] ?? 0;
  const rawPressure = (byte(0) << 12) | (byte(1) << 4) | (byte(2) >> 4);
  const rawTemperature = (byte(3) << 12) | (byte(4) << 4) | (byte(5) >> 4);
  if (rawTemperature === NOT_MEASURED.wide) throw notMeasured();
  const fine = fineTemperature(trimming, rawTemperature);
  const temperature = withinRange('temperature', celsius(fine), RANGE.temperature);
  const outcomes: Outcome[] = [
    { key: 'temperature', value: temperature, unit: UNITS.temperature },
    outcomeOf('pressure', () => pressureOf(trimming, fine, rawPressure)),
  ];
  const { h } = trimming;
  if (h !== undefined) outcomes.push(outcomeOf('humidity', () => humidityOf(h, fine, (byte(6) << 8) | byte(7))));
  return outcomes;
}

function pressureOf(trimming: BoschTrimming, fine: number, raw: number): Reading {
  if (raw === NOT_MEASURED.wide) throw notMeasured();
  const pressure = pascal(trimming, fine, raw);
  if (pressure === undefined) throw sensorFault('bad-reading', 'the chip has no trimming values');
  return { key: 'pressure', value: withinRange('pressure', pressure / 100, RANGE.pressure), unit: UNITS.pressure };
}

function humidityOf(h: NonNullable<BoschTrimming['h']>, fine: number, raw: number): Reading {
  if (raw === NOT_MEASURED.humidity) throw notMeasured();
  return {
    key: 'humidity',
    value: withinRange('humidity', relativeHumidity(h, fine, raw), RANGE.humidity),
    unit: UNITS.humidity,
  };
}

function notMeasured(): Error {
  return sensorFault('bad-reading', 'the chip has not measured it (did it lose its power?)');
}

async function setUp(config: BoschConfig, bus: I2cBus, clock: Clock, signal: AbortSignal): Promise<BoschTrimming> {
  const { kind, address } = config;
  const id = (await bus.readRegisters(address, REGISTER.id, 1, signal))[0];
  if (id !== CHIP_ID[kind]) {
    const found = Object.entries(CHIP_ID).find(([, known]) => known === id)?.[0];
    throw wrongChip(
      config,
      bus,
      kind,
      found === undefined ? `its id is 0x${(id ?? 0).toString(16)}` : `it is a ${found}`,
    );
  }
  await bus.writeRegisters(address, REGISTER.reset, Uint8Array.of(RESET_WORD), signal);
  await clock.sleep(START_MS, signal);
  await awaitStatus(config, bus, clock, STATUS.copyingTrimming, signal);
  const first = await bus.readRegisters(address, REGISTER.trimming, TRIMMING_LENGTH, signal);
  if (kind === 'bmp280') return parseTrimming(first);
  return parseTrimming(
    first,
    await bus.readRegisters(address, REGISTER.humidityTrimming, HUMIDITY_TRIMMING_LENGTH, signal),
  );
}

async function measure(config: BoschConfig, bus: I2cBus, clock: Clock, signal: AbortSignal): Promise<Uint8Array> {
  const { kind, address, oversampling, filter } = config;
  // Filter coefficients 0, 2, 4, 8, 16 are coded 0 to 4 in bits 4 to 2.
  await bus.writeRegisters(
    address,
    REGISTER.config,
    Uint8Array.of((filter === 0 ? 0 : Math.log2(filter)) << 2),
    signal,
  );
  // It takes effect with the writing of `control` (section 5.4.3).
  if (kind === 'bme280')
    await bus.writeRegisters(address, REGISTER.controlHumidity, Uint8Array.of(coded(oversampling.humidity)), signal);
  const control = (coded(oversampling.temperature) << 5) | (coded(oversampling.pressure) << 2) | FORCED_MODE;
  await bus.writeRegisters(address, REGISTER.control, Uint8Array.of(control), signal);
  await clock.sleep(boschMs(oversampling, kind === 'bme280'), signal);
  await awaitStatus(config, bus, clock, STATUS.measuring, signal);
  // One burst, so that all values are of one measurement (section 4).
  return await bus.readRegisters(address, REGISTER.data, kind === 'bme280' ? 8 : 6, signal);
}

/** Until the chip has put the bit back; the signal is the deadline. */
async function awaitStatus(
  { address }: BoschConfig,
  bus: I2cBus,
  clock: Clock,
  bit: number,
  signal: AbortSignal,
): Promise<void> {
  while (((await bus.readRegisters(address, REGISTER.status, 1, signal))[0] ?? 0) & bit)
    await clock.sleep(POLL_MS, signal);
}

/** Oversampling 1, 2, 4, 8, 16 is coded 1 to 5 (table 20). */
function coded(oversampling: number): number {
  return Math.log2(oversampling) + 1;
}
