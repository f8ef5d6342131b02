/** Readings of outputs: a point for each change, and totals that never step back. */
import { beforeEach, expect, it } from 'vitest';
import type { ActuatorState, ActuatorValue } from '../../../src/actuators/kind/actuator.ts';
import { OPERATING_TIMES_FORMAT, OutputReadings } from '../../../src/actuators/output-readings.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const MINUTE_MS = 60_000;
const PATH = '/state/operating-times.json';
let clock: FakeClock;
let files: MemoryFiles;
let told: [key: string, value: unknown][];
let readings: OutputReadings;

/** @param switches outputs that are on or off. */
async function start(switches: readonly string[] = ['pump']): Promise<void> {
  const file = new StateFile({ ...OPERATING_TIMES_FORMAT, path: PATH, files, clock, log: silentLog });
  const outputs = ['pump', 'display', 'setPoint'].map((name) => ({
    name,
    stateKey: `${name}State`,
    hasTotals: switches.includes(name),
  }));
  readings = await OutputReadings.open({
    outputs,
    file,
    clock,
    report: (entries) => void told.push(...entries.map(({ key, value }): [string, unknown] => [key, value])),
  });
}

const state = (name: string, value: ActuatorValue | undefined): void =>
  readings.take({ name, value, desired: value, by: 'rpc', pulsing: false, fault: undefined } satisfies ActuatorState);

beforeEach(async () => {
  clock = new FakeClock();
  files = new MemoryFiles();
  told = [];
  await start();
});

it('are one for each change, from the first that is known, and of no other output', async () => {
  for (const value of [undefined, false, false, true, undefined, true, false]) state('pump', value);
  for (const value of ['a', 'b', 'b']) state('display', value);
  state('unreported', true);
  expect(told).toEqual([
    ['pumpState', false],
    ['pumpState', true],
    ['pumpState', false],
    ['displayState', 'a'],
    ['displayState', 'b'],
  ]);
});

it('count hours and starts, at once and then at most once a minute', async () => {
  state('pump', false);
  state('pump', true);
  await clock.advance(0);
  expect(told.slice(2)).toEqual([
    ['pumpHours', 0],
    ['pumpStarts', 1],
  ]);
  told = [];
  for (let n = 0; n < 5; n += 1) {
    await clock.advance(6_000);
    state('pump', false);
    await clock.advance(4_000);
    state('pump', true);
  }
  await clock.advance(9_999);
  expect(told.filter(([key]) => key !== 'pumpState')).toEqual([]);
  await clock.advance(1);
  // Half a minute, and the ten seconds since.
  expect(told.slice(-2)).toEqual([
    ['pumpHours', Math.floor((40 / 3_600) * 1_000) / 1_000],
    ['pumpStarts', 6],
  ]);
});

it('count a time that nobody knows for none, and what is on as the agent begins for no start', async () => {
  state('pump', true);
  await clock.advance(30 * MINUTE_MS);
  state('pump', undefined);
  await clock.advance(60 * MINUTE_MS);
  expect(told.slice(-2)).toEqual([
    ['pumpHours', 0.5],
    ['pumpStarts', 0],
  ]);
});

it('go on after a kill, and never below what was reported', async () => {
  state('pump', false);
  state('pump', true);
  await clock.advance(100 * MINUTE_MS);
  const reported = told.findLast(([key]) => key === 'pumpHours');
  expect(reported).toEqual(['pumpHours', 1.5]);
  // A kill: nothing is closed.
  await start();
  told = [];
  state('pump', true);
  await clock.advance(0);
  expect(told).toEqual([
    ['pumpState', true],
    ['pumpHours', 1.5],
    ['pumpStarts', 1],
  ]);
});

it('lose nothing to a stop', async () => {
  state('pump', true);
  await clock.advance(100 * MINUTE_MS);
  await readings.close();
  await start();
  state('pump', true);
  await clock.advance(0);
  expect(told.slice(-2)).toEqual([
    ['pumpHours', 1.666],
    ['pumpStarts', 0],
  ]);
});

it('are no totals while the disk does not keep them', async () => {
  const end = files.addFaults({ fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) });
  state('pump', false);
  state('pump', true);
  await clock.advance(2 * MINUTE_MS);
  expect(told).toEqual([
    ['pumpState', false],
    ['pumpState', true],
  ]);
  end();
  await clock.advance(30 * MINUTE_MS);
  expect(told.slice(-2)).toEqual([
    ['pumpHours', 0.5],
    ['pumpStarts', 1],
  ]);
});

it('have no hours and no starts of a number or a mode, also where an earlier release has kept some', async () => {
  await readings.close();
  await start(['setPoint']);
  state('setPoint', 30);
  await clock.advance(100 * MINUTE_MS);
  await readings.close();
  told = [];
  await start();
  for (const value of [0, 30, 20]) state('setPoint', value);
  for (const value of ['auto', 'manual']) state('display', value);
  state('pump', true);
  await clock.advance(100 * MINUTE_MS);
  expect([...new Set(told.map(([key]) => key))]).toEqual([
    'setPointState',
    'displayState',
    'pumpState',
    'pumpHours',
    'pumpStarts',
  ]);
});
