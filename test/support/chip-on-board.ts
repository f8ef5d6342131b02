/** Drivers of I2C chips against their twins on the simulated board, against random answers, and against what other libraries make of the same. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { SensorKind } from '../../src/config/schema/agent-config.ts';
import type { Ports } from '../../src/hardware/ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { silentLog } from '../../src/host/log.ts';
import { createSensor } from '../../src/sensors/create-sensor.ts';
import { type Outcome, sorted } from '../../src/sensors/kind/outcome.ts';
import type { Reading, Sensor } from '../../src/sensors/kind/sensor.ts';
import type { BoardConfigInput } from '../../src/stand-ins/simulated-board/board-config.ts';
import { type BoardBench, openBoardBench } from './board-bench.ts';
import { MemoryFiles } from './memory-files.ts';
import { forRandomBytes } from './random-bytes.ts';
import { OF_THIS_MACHINE, sensorConfig, sensorDeps } from './sensor-bench.ts';

const { signal } = new AbortController();
export const RUNS = 100_000;

/** Random words into a parser: readings lie within the range, or it throws an AgentError. */
export function withinForAll(
  parse: (word: number, bytes: Buffer) => readonly Reading[],
  [least, greatest]: readonly [number, number],
): void {
  let good = 0;
  forRandomBytes(RUNS, 8, (bytes) => {
    for (const { value } of parse(bytes.readUInt16BE(0), bytes)) {
      if (!(typeof value === 'number' && value >= least && value <= greatest))
        throw new Error(`${value} was reported as good`);
      good += 1;
    }
  });
  expect(good).toBeGreaterThan(0);
}

export function valuesOf(outcomes: readonly Outcome[]): readonly unknown[] {
  return sorted(outcomes).readings.map(({ value }) => value);
}

export function refusedOf(outcomes: readonly Outcome[]): readonly string[] {
  return outcomes.flatMap((outcome) => ('fault' in outcome ? [outcome.key] : []));
}

/** Values that other libraries read from the same registers; their source stands in the file. */
interface OtherLibraries {
  readonly mcp9808: readonly (readonly [word: number, celsius: number])[];
  readonly ina219: readonly (readonly [voltage: number, shunt: number, volts: number, shuntVolts: number])[];
  readonly ads1115: readonly (readonly [word: number, rangeVolts: number, volts: number])[];
  readonly sht31d: readonly (readonly [answer: string, celsius: number, percent: number])[];
  readonly bh1750: readonly (readonly [raw: number, mode: 'high' | 'high2', lux: number])[];
}

export async function otherLibraries(): Promise<OtherLibraries> {
  const file = join(import.meta.dirname, '../fixtures/sensors/chips-adafruit.json');
  return (JSON.parse(await readFile(file, 'utf8')) as { readonly cases: OtherLibraries }).cases;
}

export interface ChipOnBoard {
  readonly bench: BoardBench;
  readonly sensor: Sensor;
}

/** A chip with these constant signals, and its driver. */
export async function chipWith(
  kind: SensorKind,
  address: number,
  signals: Readonly<Record<string, number>>,
  more = {},
): Promise<ChipOnBoard> {
  const constants = Object.fromEntries(
    Object.entries(signals).map(([key, value]) => [key, { kind: 'constant' as const, value }]),
  );
  const bench = await openBoardBench(() => ({
    i2c: [{ bus: 1, chips: [{ kind, address, signals: constants, options: more }] }],
  }));
  return {
    bench,
    sensor: await createSensor(sensorConfig({ name: 'chip', kind, address, ...more }), sensorDeps(bench), signal),
  };
}

/**
 * Returns a driver's readings of a chip that holds these words, register by register, and nothing else: written from the sheet, where driver and twin
 * are made of the same data. A register of one byte is the upper half of its word.
 */
export async function readsOfRegisters(
  kind: SensorKind,
  states: readonly Readonly<Record<number, number>>[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<readonly unknown[]> {
  const values: unknown[] = [];
  for (const state of states) {
    const words = new Map(Object.entries(state).map(([register, word]) => [Number(register), word]));
    const readWord = async (_: number, register: number): Promise<number> => {
      const word = words.get(register);
      if (word === undefined) throw new Error(`the chip has no register ${register}`);
      return word;
    };
    const bus = {
      name: 'i2c-1',
      readWord,
      readRegisters: async (address: number, register: number, length: number) => {
        const word = await readWord(address, register);
        return Uint8Array.of(word >> 8, word & 0xff).subarray(0, length);
      },
      writeRegisters: async (_: number, register: number, [high = 0, low = 0]: Uint8Array) => {
        words.set(register, (high << 8) | low);
      },
      close: async () => {},
    };
    const ports = { i2c: { openBus: async () => bus } } as unknown as Ports; // the only port that it asks
    const clock = { ...systemClock, sleep: async () => {} };
    const deps = { ...OF_THIS_MACHINE, ports, clock, files: new MemoryFiles(), log: silentLog, stateFolder: '/state' };
    const sensor = await createSensor(sensorConfig({ name: 'chip', kind, ...more }), deps, signal);
    for (const { value } of await sensor.read(signal)) values.push(value);
  }
  return values;
}

/** Noise far below the fifth by which a reading may differ from those before it. */
const ROOM: NonNullable<NonNullable<NonNullable<BoardConfigInput['i2c']>[number]['chips']>[number]['signals']> = {
  temperature: { kind: 'room', base: 21.5, drift: 3, noise: 0.5 },
  humidity: { kind: 'room', base: 45, drift: 10, noise: 1, min: 0, max: 100 },
  illuminance: { kind: 'room', base: 400, noise: 10, min: 0 },
  voltage: { kind: 'room', base: 12.3, noise: 0.2 },
  current: { kind: 'room', base: 0.8, noise: 0.02 },
  A0: { kind: 'room', base: 1.2, noise: 0.03 },
  'A1-A3': { kind: 'room', base: -0.1, noise: 0.002 },
  level: { kind: 'room', base: 25, noise: 0.5 },
};

/** Reads exactly what the board says it showed, and survives a chip that loses its power. */
export async function readsWhatIsShown(
  kind: SensorKind,
  address: number,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const bench = await openBoardBench(() => ({
    i2c: [{ bus: 1, chips: [{ kind, address, signals: ROOM, options: more }] }],
  }));
  try {
    const sensor = await createSensor(
      sensorConfig({ name: 'chip', kind, address, ...more }),
      sensorDeps(bench),
      signal,
    );
    const read: (readonly [string, unknown])[] = [];
    for (let at = 0; at < 5; at += 1) {
      read.push(...(await sensor.read(signal)).map(({ key, value }) => [key, value] as const));
      await new Promise((resolve) => setTimeout(resolve, 8)); // the room's noise is another by then
    }
    const shown = (await bench.record())
      .filter((entry) => entry.kind === 'shown')
      .map(({ key, value }) => [key, value]);
    expect(read).toEqual(shown);
    expect(new Set(read.map((pair) => JSON.stringify(pair))).size).toBeGreaterThan(1);
    // Registers just after power-on are no reading.
    bench.board.bench.fault(`i2c-1:0x${address.toString(16)}`, 'brown-out');
    const keys = new Set(read.map(([key]) => key));
    const after = await sensor.read(signal).catch(() => sensor.read(signal));
    expect(new Set(after.map(({ key }) => key))).toEqual(keys);
    for (const { key, value } of after) {
      const before = read.filter((pair) => pair[0] === key).map((pair) => Number(pair[1]));
      expect(Number(value)).toBeGreaterThan(Math.min(...before) - 0.2 * Math.abs(Math.min(...before)));
      expect(Number(value)).toBeLessThan(Math.max(...before) + 0.2 * Math.abs(Math.max(...before)));
    }
    bench.board.bench.fault(`i2c-1:0x${address.toString(16)}`, 'nak');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/i2c-no-answer' });
    await sensor.close();
  } finally {
    await bench.close();
  }
}

/** A read in which the chip loses its power at every wait gives nothing. */
export async function givesNothingWithoutPower(kind: SensorKind, address: number, more = {}): Promise<void> {
  const { bench, sensor: first } = await chipWith(
    kind,
    address,
    { voltage: 12, current: 1, temperature: 20, humidity: 50, 'A0-A1': 1.5 },
    more,
  );
  try {
    await first.close();
    const deps = sensorDeps(bench);
    const cutting = async (ms: number, stop: AbortSignal): Promise<void> => {
      bench.board.bench.fault(`i2c-1:0x${address.toString(16)}`, 'brown-out');
      await deps.clock.sleep(ms, stop);
    };
    const sensor = await createSensor(
      sensorConfig({ name: 'chip', kind, address, ...more }),
      { ...deps, clock: { ...deps.clock, sleep: cutting } },
      signal,
    );
    await expect(sensor.read(signal)).rejects.toMatchObject({ recovery: 'retry' });
  } finally {
    await bench.close();
  }
}
