/** What is remembered of deliveries: in two files in turns, whole or not at all, and no larger than need be. */
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { DeliveryState } from '../../../../src/outbox/delivery/delivery-state.ts';
import { UnreadFiles } from '../../../../src/outbox/segments/small-file.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { mulberry32 } from '../../../support/random-bytes.ts';

const PATHS = ['/outbox/delivered-0.state', '/outbox/delivered-1.state'] as const;
const NO_COUNTERS = { rejected: 0, resent: 0, thinned: 0, dropped: 0, damaged: 0, setAside: 0, diskBytes: 0 };
const CELL = { device: 'self', key: 'k', hourMs: 0, count: 2, sum: 3, first: [1, 1], last: [2, 2] } as const;

let files: MemoryFiles;
let clock: FakeClock;
let setAside: string[];

beforeEach(async () => {
  files = new MemoryFiles();
  await files.makeFolder('/outbox');
  clock = new FakeClock({ monotonicMs: 0 });
  setAside = [];
});

const open = (): Promise<DeliveryState> =>
  DeliveryState.open({
    files,
    folder: '/outbox',
    clock,
    unread: new UnreadFiles(clock),
    setAside: async (name) => void setAside.push(name),
  });

/** A file as version 1 lays it out. */
function stateFile(body: object, header: object = {}): string {
  const text = JSON.stringify(body);
  return `${JSON.stringify({ format: 'turnstone-outbox-delivery', version: 1, bytes: Buffer.byteLength(text), crc32: crc32(text), ...header })}\n${text}\n`;
}

const bodyOf = (path: string): Record<string, unknown> =>
  JSON.parse(files.contentOf(path).toString().split('\n')[1] ?? '');
const body = (number: number) => ({
  number,
  acknowledged: [[1, number]],
  counters: { dropped: number },
  flush: number,
  cells: [CELL],
});

describe('the delivery state', () => {
  it('keeps its two files open, however often it is saved', async () => {
    let opened = 0;
    files.faults = {
      fail: (operation) => {
        if (operation === 'open') opened += 1;
        return undefined;
      },
    };
    const state = await open();
    opened = 0;
    for (let save = 0; save < 5; save += 1) {
      state.count('dropped', 1);
      await state.save();
    }
    // The first time there is none to go on with.
    expect(opened).toBe(2);
  });

  it('is synced when something is about to go that it says of, once for all that it says', async () => {
    const state = await open();
    const syncs = (): number => files.changes.filter((change) => change.startsWith('sync /')).length;
    await state.settle();
    expect(syncs()).toBe(0);
    state.count('dropped', 1);
    await state.save();
    expect(syncs()).toBe(0);
    await state.settle();
    await state.settle();
    expect(syncs()).toBe(1);
    state.count('dropped', 1);
    await state.settle();
    expect(syncs()).toBe(2);
  });

  it('is synced, too, when a process that was killed has written it', async () => {
    const killed = await open();
    killed.count('dropped', 1);
    await killed.save();
    await (await open()).settle();
    await files.syncFolder('/outbox');
    files.cutPower(() => false);
    expect((await open()).counters.dropped).toBe(1);
  });

  it.each([
    ['in the same minute', 1_000, false],
    ['in the next minute', 60_000, false],
    ['by the next process', 1_000, true],
  ])(
    'that was synced is not lost to a cut in the middle of what is written after it, %s',
    async (_when, waitsMs, isNext) => {
      const numbers = mulberry32(7);
      for (let cut = 0; cut < 50; cut += 1) {
        files = new MemoryFiles();
        await files.makeFolder('/outbox');
        let state = await open();
        for (let at = 0; at < 100; at += 1) state.acknowledged.add(10_000 + at * 10, 10_000 + at * 10 + 3);
        state.dirty = true;
        await state.save({ durable: true });
        state.acknowledged.add(1, 5_000);
        state.dirty = true;
        await state.settle();
        if (isNext) state = await open();
        for (const from of [20_000, 30_000]) {
          await clock.advance(waitsMs);
          for (let at = 0; at < 100; at += 1) state.acknowledged.add(from + at * 10, from + at * 10 + 3);
          state.dirty = true;
          await state.save();
        }
        files.cutPower(() => numbers() < 0.5);
        expect((await open()).acknowledged.covers(1, 5_000)).toBe(true);
      }
    },
  );

  it('is synced again for what was counted while it was', async () => {
    const state = await open();
    state.count('dropped', 1);
    const first = state.settle();
    state.count('dropped', 1);
    await Promise.all([first, state.settle()]);
    await files.syncFolder('/outbox');
    files.cutPower(() => false);
    expect((await open()).counters.dropped).toBe(2);
  });

  it('is not opened, and nothing of it set aside, for what says nothing of the disk', async () => {
    for (const path of PATHS) files.put(path, stateFile(body(path === PATHS[0] ? 1 : 2)));
    files.faults = {
      fail: (operation, path) => (operation === 'open' && path === PATHS[1] ? { code: 'EMFILE' } : undefined),
    };
    await expect(open()).rejects.toThrow();
    expect(setAside).toEqual([]);
  });

  it('begins with nothing', async () => {
    const state = await open();
    expect([state.acknowledged.list(), state.counters, state.cells.size, state.flush, state.dirty]).toEqual([
      [],
      NO_COUNTERS,
      0,
      0,
      false,
    ]);
    await state.save();
    expect(files.changes).toEqual([]);
  });

  it('comes back as it was saved, and counts on from there', async () => {
    const first = await open();
    first.acknowledged.add(3, 9);
    first.count('dropped', 4);
    first.cells.merge({ ...CELL });
    first.flush = 7;
    expect(first.dirty).toBe(true);
    await first.save();
    expect(first.dirty).toBe(false);
    await first.close();
    const second = await open();
    expect([second.acknowledged.list(), second.cells.list(), second.flush]).toEqual([[[3, 9]], [CELL], 7]);
    expect(second.counters).toEqual({ ...NO_COUNTERS, dropped: 4 });
    second.count('dropped', 1);
    expect(second.counters.dropped).toBe(5);
    await second.save();
    expect(bodyOf(PATHS[1])).toMatchObject({ number: 2 });
  });

  it('knows when what was lost was lost last, by the clock as it was set right since, also in the next run', async () => {
    const first = await open();
    expect(first.lastLost).toEqual({});
    first.count('damaged', 0);
    first.count('damaged', 2);
    first.count('setAside', 1);
    const lostAtMs = clock.wallMs() + 3_600_000;
    await clock.advance(5_000);
    clock.stepWall(3_600_000);
    expect(first.lastLost).toEqual({ damaged: lostAtMs });
    await first.save();
    await first.close();
    await clock.advance(60_000);
    const second = await open();
    expect(second.lastLost).toEqual({ damaged: lostAtMs });
    second.count('damaged', 1);
    expect(second.lastLost).toEqual({ damaged: lostAtMs + 65_000 });
  });

  it('comes back with whatever values were delivered', async () => {
    const deep = JSON.parse(`${'['.repeat(240)}${']'.repeat(240)}`) as readonly [];
    const cell = { ...CELL, first: [1, deep], last: [2, Array(100_001).fill(0)] } as const;
    const state = await open();
    state.acknowledged.add(3, 9);
    state.cells.merge({ ...cell });
    state.dirty = true;
    await state.save();
    await state.close();
    const again = await open();
    expect([again.acknowledged.list(), again.cells.list(), setAside]).toEqual([[[3, 9]], [cell], []]);
  });

  it('is read as version 1 wrote it, the newer of the two, whichever that is', async () => {
    for (const [older, newer] of [PATHS, PATHS.toReversed()] as const) {
      files.put(older as string, stateFile(body(5)));
      files.put(newer as string, stateFile(body(10)));
      const state = await open();
      expect([state.acknowledged.list(), state.counters.dropped, state.flush, state.cells.list()]).toEqual([
        [[1, 10]],
        10,
        10,
        [CELL],
      ]);
    }
    expect(setAside).toEqual([]);
  });

  it.each([
    ['torn', stateFile(body(9)).slice(0, -20)],
    ['of a later version', stateFile(body(9), { version: 2 })],
    ['of another format', stateFile(body(9), { format: 'x' })],
    ['changed', stateFile(body(9)).replace('"dropped":9', '"dropped":8')],
    ['no JSON', 'x'],
  ])('that is %s is set aside, and the other counts', async (_name, text) => {
    files.put(PATHS[0], stateFile(body(5)));
    files.put(PATHS[1], text);
    expect((await open()).acknowledged.list()).toEqual([[1, 5]]);
    expect(setAside).toEqual(['delivered-1.state']);
  });

  it('that a crash left empty is nothing to look at', async () => {
    files.put(PATHS[0], '');
    files.put(PATHS[1], stateFile(body(5)));
    expect((await open()).flush).toBe(5);
    expect(setAside).toEqual([]);
  });

  it('is written to the other file each minute, and to no other place than its beginning', async () => {
    const state = await open();
    for (const [sequence, atMs] of [
      [1, 0],
      [3, 59_999],
      [5, 60_000],
      [7, 119_999],
      [9, 120_000],
    ] as const) {
      await clock.advance(atMs - clock.monotonicMs());
      state.acknowledged.add(sequence, sequence);
      state.dirty = true;
      await state.save();
    }
    expect(files.changes.filter((change) => change.startsWith('write'))).toEqual(
      [0, 0, 1, 1, 0].map((turn) => `write ${PATHS[turn]}`),
    );
    expect([bodyOf(PATHS[0]).number, bodyOf(PATHS[1]).number]).toEqual([5, 4]);
    // What is shorter than before leaves the rest of it behind.
    state.acknowledged.remove(1, 9);
    state.dirty = true;
    await state.save();
    await state.close();
    expect((await open()).acknowledged.list()).toEqual([]);
    expect(setAside).toEqual([]);
  });

  it('is synced only when that is asked for, and then also when nothing changed', async () => {
    const state = await open();
    state.dirty = true;
    await state.save();
    expect(files.changes.some((change) => change.startsWith('sync'))).toBe(false);
    files.changes.splice(0);
    await state.save();
    expect(files.changes).toEqual([]);
    await state.save({ durable: true });
    expect(files.changes).toEqual([`write ${PATHS[0]}`, `sync ${PATHS[0]}`, 'sync-folder /outbox']);
  });

  it('that cannot be written is still to be written', async () => {
    const state = await open();
    state.count('rejected', 1);
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
    await expect(state.save()).rejects.toThrow('ENOSPC');
    expect(state.dirty).toBe(true);
    files.faults = {};
    await state.save();
    await state.close();
    expect((await open()).counters.rejected).toBe(1);
  });

  it('is not lost to a disk that takes half of each write, however long', async () => {
    const state = await open();
    state.count('rejected', 1);
    await state.save();
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC', short: true } : undefined) };
    for (let minute = 0; minute < 3; minute += 1) {
      await clock.advance(60_000);
      state.acknowledged.add(minute * 10, minute * 10 + 3);
      state.dirty = true;
      await expect(state.save()).rejects.toThrow('ENOSPC');
    }
    files.faults = {};
    expect((await open()).counters.rejected).toBe(1);
  });

  it('is not kept from the other place by sectors that take nothing', async () => {
    const state = await open();
    state.count('rejected', 1);
    await state.save();
    files.faults = {
      fail: (operation, path) => (operation === 'write' && path === PATHS[1] ? { code: 'EIO' } : undefined),
    };
    await clock.advance(60_000);
    state.count('rejected', 1);
    await expect(state.save()).rejects.toThrow('EIO');
    await clock.advance(60_000);
    await state.save();
    expect((await open()).counters.rejected).toBe(2);
  });

  it('leaves out the shortest of too many ranges, and no others', async () => {
    const state = await open();
    for (let at = 0; at < 2_003; at += 1)
      state.acknowledged.add(at * 10, at * 10 + (at === 7 || at === 500 || at === 2_002 ? 0 : 3));
    state.dirty = true;
    await state.save();
    await state.close();
    const kept = (await open()).acknowledged;
    expect(kept.list()).toHaveLength(2_000);
    expect([70, 5_000, 20_020].map((sequence) => kept.has(sequence))).toEqual([false, false, false]);
    expect(kept.has(80)).toBe(true);
  });

  it('notes no more ranges of what was not delivered than it writes: the oldest go', async () => {
    const state = await open();
    for (let at = 0; at < 2_003; at += 1) state.noteUndelivered(at * 10);
    expect(state.undelivered.list()).toHaveLength(2_000);
    expect([20, 30, 20_020].map((sequence) => state.undelivered.has(sequence))).toEqual([false, true, true]);
  });

  it('keeps as many ranges as it may have', async () => {
    const state = await open();
    for (let at = 0; at < 2_000; at += 1) state.acknowledged.add(at * 10, at * 10);
    state.dirty = true;
    await state.save();
    await state.close();
    expect((await open()).acknowledged.list()).toHaveLength(2_000);
  });
});
