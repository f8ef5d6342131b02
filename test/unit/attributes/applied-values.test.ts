/** Values that were acted on, on a disk that fails: at no time may a restart forget what the platform's wish has already done. */
import { beforeEach, expect, it } from 'vitest';
import { APPLIED_VALUES_FORMAT, AppliedValues } from '../../../src/attributes/applied-values.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

let files: MemoryFiles;
let clock: FakeClock;
const open = (): Promise<AppliedValues> =>
  AppliedValues.open(
    new StateFile({ ...APPLIED_VALUES_FORMAT, path: '/state/shared.json', files, clock, log: silentLog }),
  );

beforeEach(() => {
  files = new MemoryFiles();
  clock = new FakeClock();
});

it('knows after a restart what was applied while the disk was full', async () => {
  const applied = await open();
  applied.set('motor', false, 'applied');
  await applied.flush();
  files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
  applied.set('motor', true, 'applied');
  await clock.advance(60_000);
  files.faults = {};
  await clock.advance(60_000);
  files.cutPower(() => false);
  const after = await open();
  expect([after.isKnown('motor', true), after.applied('motor'), after.has('motor')]).toEqual([true, true, true]);
});

it('gives back values with what became of them, and leaves out what is none', async () => {
  const applied = await open();
  applied.set('a', 1, 'applied');
  applied.set('b', { c: [2] }, 'dropped');
  applied.set('gone', 3, 'applied');
  applied.delete('gone');
  applied.delete('never there');
  await applied.close();
  const after = await open();
  expect([
    after.applied('a'),
    after.applied('b'),
    after.isKnown('b', { c: [2] }),
    after.has('gone'),
    after.isLost,
  ]).toEqual([1, undefined, true, false, false]);
});

it('says that the past is lost when its file cannot be read', async () => {
  const applied = await open();
  applied.set('motor', true, 'applied');
  await applied.close();
  files.faults = { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) };
  const opening = open();
  await clock.advance(1_000);
  expect((await opening).isLost).toBe(true);
});

it('is lost to one process where it cannot be read now, and whole to the next', async () => {
  (await open()).set('motor', true, 'applied');
  await clock.advance(0);
  files.faults = { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) };
  const opening = open();
  await clock.advance(1_000);
  expect((await opening).isLost).toBe(true);
  files.faults = {};
  await clock.advance(60_000);
  const after = await open();
  expect([after.isLost, after.isKnown('motor', true)]).toEqual([false, true]);
});

it('is known to be lost until all was looked at, by as many processes as come before', async () => {
  (await open()).set('motor', true, 'applied');
  await clock.advance(0);
  files.put('/state/shared.json', files.contentOf('/state/shared.json').toString().replace('true', 'false'));
  for (let start = 0; start < 2; start += 1) {
    const applied = await open();
    expect([applied.isLost, applied.has('motor')]).toEqual([true, false]);
    await clock.advance(0);
    files.cutPower(() => false);
  }
  const half = await open();
  half.set('gate', 1, 'applied');
  await clock.advance(0);
  const after = await open();
  expect([after.isLost, after.isKnown('gate', 1)]).toEqual([true, true]);
  after.believe();
  await after.close();
  expect((await open()).isLost).toBe(false);
});
