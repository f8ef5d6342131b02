/** When a block closes, what is on its way together, and what becomes of appends that the disk does not take; on a disk that answers by hand. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentError } from '../../../../src/errors/agent-error.ts';
import { silentLog } from '../../../../src/host/log.ts';
import type { FramedBlock } from '../../../../src/outbox/format/block-frame.ts';
import type { TelemetryEntry } from '../../../../src/outbox/format/telemetry-entry.ts';
import { type Arrived, GroupCommit } from '../../../../src/outbox/segments/group-commit.ts';
import { BlockBuilder } from '../../../../src/outbox/times/block-builder.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

interface Write {
  readonly entries: number;
  readonly isOldest: boolean;
  readonly blocks: readonly FramedBlock[];
  readonly take: (refused: readonly FramedBlock[]) => void;
  readonly refuse: (error: Error) => void;
}

/** More than any test asks for: a commit that writes for ever is to be seen to. */
const MAX_WRITES = 200;
const AGE_MS = 5_000;
const NO_DISK = Object.assign(new Error('no disk'), { code: 'EIO' });

let clock: FakeClock;
let writes: Write[];
let committed: number[];
let dropped: [count: number, ranges: number[][]][];
let settled: string[];
let commit: GroupCommit;
let mayLeave: boolean;
let leaving: number;

beforeEach(() => {
  clock = new FakeClock();
  [mayLeave, leaving] = [true, 0];
  [writes, committed, dropped, settled] = [[], [], [], []];
  commit = new GroupCommit({
    clock,
    log: silentLog,
    builder: new BlockBuilder(1),
    commitAgeMs: AGE_MS,
    commitEntries: 10,
    memoryEntries: 40,
    mayLeave: () => mayLeave,
    onLeaving: () => {
      leaving += 1;
    },
    write: (blocks, isOldest) => {
      if (writes.length > MAX_WRITES) throw new Error('it writes for ever');
      const { promise, resolve, reject } = Promise.withResolvers<readonly FramedBlock[]>();
      const entries = blocks.reduce((sum, { info }) => sum + info.count, 0);
      writes.push({ entries, isOldest, blocks, take: resolve, refuse: reject });
      return promise;
    },
    onCommitted: (blocks) => void committed.push(...blocks.map(({ info }) => info.firstSequence)),
    onDropped: (count, blocks) =>
      void dropped.push([count, blocks.map(({ info }) => [info.firstSequence, info.lastSequence])]),
  });
});

function entries(count: number, more: Partial<TelemetryEntry> = {}): TelemetryEntry[] {
  const monotonicMs = clock.monotonicMs();
  return Array.from({ length: count }, () => ({
    device: 'self',
    key: 'k',
    value: 1,
    bootId: clock.bootId,
    monotonicMs,
    class: 'regular',
    ...more,
  }));
}

function append(name: string, count = 1, more: Partial<TelemetryEntry> = {}): void {
  commit.append(entries(count, more)).then(
    () => settled.push(name),
    (error: AgentError) => settled.push(`${name}: ${error.code}`),
  );
}

const turn = (): Promise<void> => clock.advance(0);

/** Takes the write that was begun last, and lets what follows from it happen. */
async function take(at = writes.length - 1): Promise<void> {
  writes[at]?.take([]);
  await turn();
}

/** There is no room, but for alarms. */
async function refuseRegular(at = writes.length - 1): Promise<void> {
  writes[at]?.take(writes[at]?.blocks.filter(({ info }) => !info.alarm) ?? []);
  await turn();
}

async function refuse(error: Error, at = writes.length - 1): Promise<void> {
  writes[at]?.refuse(error);
  await turn();
}

/** The first append of a start goes at once. */
async function begun(): Promise<void> {
  append('first');
  await take();
  [writes, settled, committed] = [[], [], []];
}

it('tells why the disk does not take the first of two commits, whatever becomes of the second', async () => {
  await begun();
  append('a', 1, { class: 'alarm' });
  append('b', 1, { class: 'alarm' });
  expect(writes).toHaveLength(2);
  await refuse(NO_DISK, 0);
  await refuse(new Error('a commit before this one failed'), 1);
  expect(commit.fault).toBe('EIO');
});

describe('a block', () => {
  it('is closed by the first append of a start', async () => {
    append('first');
    expect(writes.map((write) => write.entries)).toEqual([1]);
    expect(writes[0]?.isOldest).toBe(true);
    await take();
    expect([settled, committed, commit.waitingEntries, commit.waitingBytes, clock.pending]).toEqual([
      ['first'],
      [1],
      0,
      0,
      0,
    ]);
  });

  it('is closed a little before its age is up, and the age counts from its first append', async () => {
    await begun();
    append('a');
    await clock.advance(3_000);
    append('b');
    await clock.advance(1_799);
    expect([writes.length, commit.waitingEntries]).toEqual([0, 2]);
    await clock.advance(1);
    expect(writes.map((write) => write.entries)).toEqual([2]);
    await take();
    expect(settled).toEqual(['a', 'b']);
    append('c');
    await clock.advance(4_799);
    expect(writes).toHaveLength(1);
    await clock.advance(1);
    expect(writes).toHaveLength(2);
  });

  it('is not closed before that by the end of another write', async () => {
    await begun();
    append('alarm', 1, { class: 'alarm' });
    append('a');
    await take();
    expect([settled, writes.length, commit.waitingEntries]).toEqual([['alarm'], 1, 1]);
    await clock.advance(4_799);
    expect(writes).toHaveLength(1);
    await clock.advance(1);
    expect(writes).toHaveLength(2);
  });

  it('is closed by 64 kB, whatever is in it', async () => {
    const values = [
      'x'.repeat(7_000),
      Array(200).fill(7),
      Object.fromEntries(Array.from({ length: 80 }, (_none, at) => [`key${at}`, { at }])),
    ];
    await begun();
    for (const value of values) {
      writes = [];
      for (let at = 0; at < 9; at += 1) append('a', 1, { value });
      expect(writes).toHaveLength(0);
      const { waitingBytes } = commit;
      // No less than it is as text, and no more than objects take.
      expect(waitingBytes).toBeGreaterThan(9 * JSON.stringify(value).length);
      expect(waitingBytes).toBeLessThan(65_536);
      append('b', 1, { value: 'x'.repeat(65_536 - waitingBytes) });
      expect(writes).toHaveLength(1);
      await take();
    }
  });

  it('of plain numbers, truths and nothing is small in memory', async () => {
    await begun();
    for (const value of [1, true, null, 1n]) append('a', 1, { value });
    expect(commit.waitingBytes).toBeGreaterThan(4 * 64);
    expect(commit.waitingBytes).toBeLessThan(4 * 80);
  });

  it('has the age that was changed last', async () => {
    await begun();
    commit.commitAgeMs = 1_000;
    append('a');
    await clock.advance(959);
    expect(writes).toHaveLength(0);
    await clock.advance(1);
    expect(writes).toHaveLength(1);
  });

  it('is closed by as many entries as it may have, and by an alarm, at once', async () => {
    await begun();
    append('a', 9);
    expect(writes).toHaveLength(0);
    append('b');
    expect(writes.map((write) => write.entries)).toEqual([10]);
    await take();
    append('c');
    append('d', 1, { class: 'alarm' });
    expect(writes.map((write) => write.entries)).toEqual([10, 2]);
    await take();
    expect([settled, clock.pending]).toEqual([['a', 'b', 'c', 'd'], 0]);
  });

  it('is closed by its size', async () => {
    await begun();
    append('a', 1, { value: 'x'.repeat(64_000) });
    expect(writes).toHaveLength(0);
    append('b', 1, { value: 'x'.repeat(2_000) });
    expect(writes).toHaveLength(1);
  });

  it('of nothing is durable at once', async () => {
    append('nothing', 0);
    await turn();
    expect([settled, writes.length, clock.pending]).toEqual([['nothing'], 0, 0]);
  });
});

describe('commits', () => {
  it('are on their way two at a time, a third is packed, and what comes then makes one more', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) append(name, 1, { class: 'alarm' });
    expect(writes.map((write) => [write.entries, write.isOldest])).toEqual([
      [1, true],
      [1, false],
    ]);
    expect(commit.waitingEntries).toBe(5);
    expect(commit.waitingBytes).toBeGreaterThan(5 * 64);
    await take(0);
    expect(writes.map((write) => write.entries)).toEqual([1, 1, 1]);
    await take(1);
    expect(writes.map((write) => [write.entries, write.isOldest])).toEqual([
      [1, true],
      [1, false],
      [1, false],
      [2, false],
    ]);
    await take(2);
    await take(3);
    expect([settled, commit.waitingEntries, commit.waitingBytes]).toEqual([['a', 'b', 'c', 'd', 'e'], 0, 0]);
    expect(committed).toEqual([1, 2, 3, 4]);
  });

  it('that the disk refuses go again, with the numbers they have, after a while that doubles up to half a minute', async () => {
    append('a', 1, { class: 'alarm' });
    append('b', 1, { class: 'alarm' });
    for (const waitMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      const before = writes.length;
      const sequences = writes.slice(-2).flatMap(({ blocks }) => blocks.map(({ info }) => info.firstSequence));
      expect(sequences).toEqual([1, 2]);
      await refuse(NO_DISK, before - 2);
      // Nothing goes again while the other is on its way.
      await clock.advance(60_000);
      expect(writes).toHaveLength(before);
      await refuse(NO_DISK, before - 1);
      await clock.advance(waitMs - 1);
      expect(writes).toHaveLength(before);
      await clock.advance(1);
      expect(writes).toHaveLength(before + 2);
    }
    expect(settled).toEqual([]);
    await take(writes.length - 2);
    await take(writes.length - 1);
    expect(settled).toEqual(['a', 'b']);
    append('c', 1, { class: 'alarm' });
    await refuse(NO_DISK);
    await clock.advance(1_000);
    await take();
    expect(settled).toEqual(['a', 'b', 'c']);
  });

  it('say why nothing can be written, and no longer than that', async () => {
    expect(commit.fault).toBeUndefined();
    append('a');
    await clock.advance(100);
    await refuse(NO_DISK);
    expect(commit.fault).toBe('EIO');
    await clock.advance(1_000);
    await refuse(new Error('no code'));
    expect(commit.fault).toBe('unknown');
    await clock.advance(2_000);
    await take();
    expect([settled, commit.fault]).toEqual([['a'], undefined]);
  });

  it('that must give way are refused and counted, and those behind them go on', async () => {
    append('a', 2);
    append('b', 1, { class: 'alarm' });
    await refuseRegular(0);
    expect([settled, dropped, committed, commit.fault]).toEqual([['a: outbox/full'], [[2, [[1, 2]]]], [], undefined]);
    await refuseRegular(1);
    expect([settled, dropped.length, committed, commit.waitingEntries]).toEqual([['a: outbox/full', 'b'], 1, [3], 0]);
  });

  it('that must give way are so by themselves: alarms of the same commit are taken, and what was appended with one is refused', async () => {
    await begun();
    append('door', 3);
    commit
      .append([...entries(1), ...entries(1, { class: 'alarm' })])
      .catch(({ code }: AgentError) => settled.push(`both: ${code}`));
    await refuseRegular();
    append('smoke', 1, { class: 'alarm' });
    await refuseRegular();
    expect(settled).toEqual(['door: outbox/full', 'both: outbox/full', 'smoke']);
    expect([dropped.map(([count]) => count), committed.length, commit.waitingEntries]).toEqual([[4], 2, 0]);
  });

  it('that must give way say nothing of a disk that fails', async () => {
    append('a');
    await refuse(NO_DISK);
    await clock.advance(60_000);
    await refuseRegular();
    expect([settled, commit.fault]).toEqual([['a: outbox/full'], 'EIO']);
  });
});

describe('while the disk takes nothing', () => {
  /** One commit that failed and waits for its next try. */
  async function failing(): Promise<void> {
    append('stuck');
    await refuse(NO_DISK);
  }

  it('what waits is bounded: the oldest regular appends give way, alarms last', async () => {
    await failing();
    append('old', 9);
    append('alarm', 1, { class: 'alarm' });
    expect(dropped).toEqual([]);
    // Packed entries have numbers already, and stay.
    for (const name of ['b', 'c', 'd', 'e', 'f', 'g']) append(name, 9);
    await turn();
    const gone = settled.filter((one) => one.endsWith(': outbox/dropped'));
    expect(gone.length).toBeGreaterThan(0);
    expect(settled).toEqual(gone);
    expect(gone).not.toContain('alarm: outbox/dropped');
    expect(gone).not.toContain('g: outbox/dropped');
    expect(commit.waitingEntries).toBeLessThanOrEqual(40);
    expect(commit.waitingEntries).toBeGreaterThan(30);
    expect(dropped.reduce((sum, [count]) => sum + count, 0)).toBe(gone.length * 9);
    expect(dropped.every(([count, ranges]) => count > 0 && ranges.length === 0)).toBe(true);
  });

  it('large values count by what they take', async () => {
    await failing();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) append(name, 1, { value: 'x'.repeat(2 ** 20) });
    await turn();
    expect(commit.waitingBytes).toBeLessThanOrEqual(4 * 2 ** 20);
    expect(commit.waitingBytes).toBeGreaterThan(2 * 2 ** 20);
    expect(settled.every((one) => one.endsWith(': outbox/dropped'))).toBe(true);
  });

  it('what came meanwhile makes larger blocks, and all of it is written when the disk is back', async () => {
    await failing();
    for (const name of ['a', 'b', 'c', 'd', 'e']) append(name, 1, { class: 'alarm' });
    await clock.advance(1_000);
    expect(writes.map((write) => write.entries)).toEqual([1, 1, 1]);
    while (commit.waitingEntries > 0) {
      const at = writes.length;
      for (let write = 1; write < at; write += 1) await take(write);
      if (writes.length === at) break;
    }
    expect(settled).toEqual(['stuck', 'a', 'b', 'c', 'd', 'e']);
  });
});

describe('a flush', () => {
  it('ends when nothing waits any more, and waits for no age', async () => {
    await begun();
    append('a');
    let isOver = false;
    void commit.flush().then(() => {
      isOver = true;
    });
    expect(writes).toHaveLength(1);
    append('b');
    await turn();
    expect(isOver).toBe(false);
    await take(0);
    await take(1);
    expect([isOver, settled]).toEqual([true, ['a', 'b']]);
    await commit.flush();
    expect(writes).toHaveLength(2);
  });
});

describe('a close', () => {
  const closed = async (): Promise<boolean> => {
    let isOver = false;
    void commit.close(3_000).then(() => {
      isOver = true;
    });
    await turn();
    return new Promise((resolve) => setImmediate(() => resolve(isOver)));
  };

  it('writes what waits, and takes nothing from then on', async () => {
    await begun();
    append('a');
    const closing = commit.close(3_000);
    expect(writes).toHaveLength(1);
    await take();
    await closing;
    append('late');
    await turn();
    expect([settled, writes.length, clock.pending]).toEqual([['a', 'late: outbox/closed'], 1, 0]);
    await commit.close(3_000);
  });

  it('of one with nothing to write is over at once', async () => {
    await begun();
    expect([await closed(), writes.length, clock.pending]).toEqual([true, 0, 0]);
  });

  it('asks a disk that failed once more, without waiting, and then refuses what it does not take', async () => {
    append('a');
    await refuse(NO_DISK);
    expect(await closed()).toBe(false);
    expect(writes).toHaveLength(2);
    await refuse(NO_DISK);
    expect(settled).toEqual(['a: outbox/closed']);
    await clock.advance(60_000);
    expect([writes.length, clock.pending, commit.waitingEntries]).toEqual([2, 0, 0]);
  });

  it('ends at its deadline, whatever hangs', async () => {
    await begun();
    append('a');
    append('b', 1, { class: 'alarm' });
    append('c');
    const closing = commit.close(3_000);
    await clock.advance(2_999);
    expect(settled).toEqual([]);
    await clock.advance(1);
    await closing;
    expect(settled.sort()).toEqual(['a: outbox/closed', 'b: outbox/closed', 'c: outbox/closed']);
  });
});

describe('what may leave before it is written', () => {
  /** The platform has all numbers up to one. */
  const upTo = (sequence: number): Arrived => ({
    covers: (_first, last) => last <= sequence,
    touches: (first) => first <= sequence,
  });
  const numbers = (kind: 'alarm' | 'regular'): number[][] =>
    commit.unwritten(kind).map(({ info }) => [info.firstSequence, info.lastSequence]);

  it('is told when it has gathered, though those before it left while they were waited for', async () => {
    await begun();
    append('a');
    await clock.advance(100);
    append('b', 2);
    expect(commit.unwritten('regular')).toHaveLength(1);
    await clock.advance(100);
    append('c');
    await clock.advance(299);
    leaving = 0;
    await clock.advance(1);
    expect(leaving).toBe(1);
    expect(commit.unwritten('regular')).toHaveLength(2);
  });

  it('gathers for 300 ms, is told then, and keeps its numbers', async () => {
    await begun();
    append('a', 2);
    expect([leaving, numbers('regular')]).toEqual([0, []]);
    await clock.advance(300);
    expect([leaving, numbers('regular'), numbers('regular')]).toEqual([1, [[2, 3]], [[2, 3]]]);
    append('b');
    await clock.advance(300);
    expect([leaving, numbers('regular')]).toEqual([
      2,
      [
        [2, 3],
        [4, 4],
      ],
    ]);
  });

  it('waits for no others where it is much, and an alarm waits for nothing', async () => {
    await begun();
    append('a', 3);
    expect([leaving, numbers('regular')]).toEqual([1, [[2, 4]]]);
    append('fire', 1, { class: 'alarm' });
    expect([leaving, numbers('alarm'), writes.map(({ entries: count }) => count)]).toEqual([2, [[5, 5]], [4]]);
  });

  it('stays while its time is not known', async () => {
    await begun();
    mayLeave = false;
    append('a');
    await clock.advance(1_000);
    expect([leaving, numbers('regular')]).toEqual([0, []]);
    mayLeave = true;
    expect(numbers('regular')).toEqual([[2, 2]]);
  });

  it('is written at the commit age where it has not arrived, with all before it, in blocks apart', async () => {
    await begun();
    append('a', 2);
    await clock.advance(300);
    numbers('regular');
    commit.arrived(upTo(3));
    expect([await turn(), settled]).toEqual([undefined, ['a']]);
    append('b');
    await clock.advance(4_799);
    expect([writes.length, settled]).toEqual([0, ['a']]);
    await clock.advance(1);
    expect(writes.map(({ blocks }) => blocks.map(({ info }) => [info.firstSequence, info.lastSequence]))).toEqual([
      [
        [2, 3],
        [4, 4],
      ],
    ]);
    await take();
    expect([settled, commit.waitingEntries, commit.recordEntries, clock.pending]).toEqual([['a', 'b'], 0, 0, 0]);
  });

  it('is written before five minutes are over where it has arrived, and does not count as waiting', async () => {
    await begun();
    append('a');
    await clock.advance(300);
    numbers('regular');
    commit.arrived(upTo(2));
    expect([commit.waitingEntries, commit.waitingBytes, commit.recordEntries]).toEqual([0, 0, 1]);
    await clock.advance(299_299);
    expect(writes).toHaveLength(0);
    await clock.advance(1);
    expect(writes.map(({ entries: count }) => count)).toEqual([1]);
  });

  it.each(['flush', 'keepRecord'] as const)('is written at once by %s, though it has arrived', async (call) => {
    await begun();
    append('a');
    await clock.advance(300);
    numbers('regular');
    commit.arrived(upTo(2));
    void commit[call]();
    await turn();
    expect(writes.map(({ entries: count }) => count)).toEqual([1]);
  });

  it('waits again, and is written, when it is put back', async () => {
    await begun();
    append('a');
    await clock.advance(300);
    numbers('regular');
    commit.arrived(upTo(2));
    expect([commit.holds(2), commit.holds(3), numbers('regular')]).toEqual([true, false, []]);
    commit.arrived(upTo(1));
    expect([numbers('regular'), commit.waitingEntries, writes.map(({ entries: count }) => count)]).toEqual([
      [[2, 2]],
      1,
      [1],
    ]);
    await take();
    expect(commit.holds(2)).toBe(false);
  });

  it('leaves no more than a megabyte of the record in memory, where the disk takes nothing', async () => {
    await begun();
    const value = 'x'.repeat(40_000);
    let last = 1;
    let most = 0;
    for (let at = 0; at < 60; at += 1) {
      append(`${at}`, 1, { value });
      if (writes.length > 0) await refuse(NO_DISK);
      await clock.advance(300);
      last = numbers('regular').at(-1)?.[1] ?? last;
      commit.arrived(upTo(last));
      most = Math.max(most, commit.recordEntries);
    }
    expect([most < 28, most > 20, dropped]).toEqual([true, true, []]);
    await turn();
    expect(settled).toHaveLength(60);
  });
});
