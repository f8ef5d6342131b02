/** Which entries a reader of the outbox gets. */
import { afterEach, describe, expect, it } from 'vitest';
import type { EntryQuery } from '../../../../src/outbox/delivery/outbox-reading.ts';
import type { ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, FakeTimeSync, OutboxFixture } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
afterEach(() => fixture.remove());

it('gives entries by device, key, time and whether they are held', async () => {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  fixture.files = new MemoryFiles();
  const outbox = await fixture.open();
  await fixture.commit(outbox, [
    fixture.entry('a', 1, { takenAtMs: 1_000 }),
    fixture.entry('a', 2, { takenAtMs: 2_000, device: 'other' }),
  ]);
  const batch = await outbox.peek('live', { maxEntries: 10, maxBytes: 10_000 });
  if (batch !== undefined) await outbox.acknowledge(batch);
  await fixture.commit(outbox, [
    fixture.entry('b', 3, { takenAtMs: 3_000 }),
    fixture.entry('a', 4, { takenAtMs: 4_000 }),
  ]);
  const read = async (query: EntryQuery): Promise<unknown[]> => {
    const values: unknown[] = [];
    for await (const { value } of outbox.read(query, new AbortController().signal)) values.push(value);
    return values;
  };
  expect(await read({})).toEqual([1, 2, 3, 4]);
  expect(await read({ device: 'self' })).toEqual([1, 3, 4]);
  expect(await read({ keys: ['b'] })).toEqual([3]);
  expect(await read({ heldOnly: true })).toEqual([3, 4]);
  expect(await read({ fromMs: 2_000 })).toEqual([2, 3, 4]);
  expect(await read({ fromMs: 2_001 })).toEqual([3, 4]);
  expect(await read({ toMs: 3_000 })).toEqual([1, 2]);
  expect(await read({ toMs: 3_001, fromMs: 2_000 })).toEqual([2, 3]);
  expect(await read({ fromMs: 5_000 })).toEqual([]);
});

it.each([-7_200_000, 7_200_000])(
  'finds entries by their times in a block in whose middle the clock stepped by %i ms',
  async (stepMs) => {
    fixture = await OutboxFixture.make();
    fixture.files = new MemoryFiles();
    const outbox = await fixture.open();
    const before = fixture.entry('before', 1);
    await fixture.clock.advance(1_000);
    outbox.status();
    fixture.clock.stepWall(stepMs);
    outbox.status();
    await fixture.clock.advance(1_000);
    await fixture.commit(outbox, [before, fixture.entry('after', 2)]);
    const all: ResolvedEntry[] = [];
    for await (const entry of outbox.read({}, new AbortController().signal)) all.push(entry);
    expect(all.map(({ key }) => key)).toEqual(['before', 'after']);
    for (const { key, ts } of all) {
      const found: string[] = [];
      for await (const entry of outbox.read({ fromMs: ts, toMs: ts + 1 }, new AbortController().signal))
        found.push(entry.key);
      expect(found).toEqual([key]);
    }
  },
);

describe('a reader', () => {
  let files: MemoryFiles;

  /** Segments of several runs: each start after a torn tail begins another. */
  async function runs(...keys: readonly string[]): Promise<Outbox> {
    fixture = await OutboxFixture.make({ commitAgeMs: 100 });
    files = new MemoryFiles();
    fixture.files = files;
    for (const key of keys) {
      const outbox = await fixture.open();
      await fixture.commit(outbox, [fixture.entry(key, 1), fixture.entry(key, 2)]);
      await fixture.until(outbox.close());
      const newest = files.paths.filter((path) => path.endsWith('.seg')).at(-1) ?? '';
      files.put(newest, Buffer.concat([files.contentOf(newest), Buffer.from('torn')]));
      await fixture.clock.advance(10_000);
    }
    return fixture.open();
  }

  async function keysOf(
    outbox: Outbox,
    query: EntryQuery = {},
    signal = new AbortController().signal,
  ): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key, value } of outbox.read(query, signal)) keys.push(`${key}${String(value)}`);
    return keys;
  }

  it('finds entries of the clock by when they were taken, to the ms', async () => {
    const outbox = await runs('a', 'b');
    const [first, second] = [...(await drain(outbox))]
      .filter(({ value }) => value === 1)
      .map(({ ts }) => ts)
      .sort((a, b) => a - b) as [number, number];
    expect(await keysOf(outbox)).toEqual(['a1', 'a2', 'b1', 'b2']);
    // Two of a key in one ms have instants of their own.
    expect(await keysOf(outbox, { fromMs: first + 1 })).toEqual(['a2', 'b1', 'b2']);
    expect(await keysOf(outbox, { fromMs: second, toMs: second + 1 })).toEqual(['b1']);
    expect(await keysOf(outbox, { toMs: second })).toEqual(['a1', 'a2']);
    expect(await keysOf(outbox, { toMs: first })).toEqual([]);
    expect(await keysOf(outbox, { heldOnly: true })).toEqual([]);
  });

  it('reads no more of the disk than may hold what it asks for', async () => {
    const outbox = await runs('a', 'b', 'c', 'd');
    const all: ResolvedEntry[] = [];
    for await (const entry of outbox.read({}, new AbortController().signal)) all.push(entry);
    const readsFor = async (query: EntryQuery): Promise<number> => {
      let reads = 0;
      files.faults = {
        fail: (operation) => {
          if (operation === 'read') reads += 1;
          return undefined;
        },
      };
      await keysOf(outbox, query);
      files.faults = {};
      return reads;
    };
    const whole = await readsFor({});
    const ts = all[0]?.ts ?? 0;
    expect((await readsFor({ fromMs: ts, toMs: ts + 1 })) + 3).toBeLessThanOrEqual(whole);
    expect((await readsFor({ toMs: ts })) + 4).toBeLessThanOrEqual(whole);
    const some = await outbox.peek('backlog', { maxEntries: 4, maxBytes: 10_000 });
    if (some !== undefined) await outbox.acknowledge(some);
    expect((await readsFor({ heldOnly: true })) * 2).toBeLessThanOrEqual(whole);
    await drain(outbox);
    expect(await readsFor({ heldOnly: true })).toBe(0);
    // Two blocks of one segment, of which one was delivered.
    await fixture.commit(outbox, [fixture.entry('e', 1)]);
    await drain(outbox);
    await fixture.commit(outbox, [fixture.entry('f', 1)]);
    expect(await readsFor({ heldOnly: true })).toBe(1);
  });

  it('reads no block of a boot whose time is not known', async () => {
    fixture = await OutboxFixture.make({ commitAgeMs: 100 });
    fixture.timeSync = new FakeTimeSync(false);
    files = new MemoryFiles();
    fixture.files = files;
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 1)]);
    let reads = 0;
    files.faults = {
      fail: (operation) => {
        reads += Number(operation === 'read');
        return undefined;
      },
    };
    expect([await keysOf(outbox), reads]).toEqual([[], 0]);
  });

  it('is not kept from other segments by one that cannot be read', async () => {
    const outbox = await runs('a', 'b', 'c');
    const [, middle] = files.paths.filter((path) => path.endsWith('.seg'));
    files.faults = {
      fail: (operation, path) => (operation === 'open' && path === middle ? { code: 'EIO' } : undefined),
    };
    expect(await keysOf(outbox)).toEqual(['a1', 'a2', 'c1', 'c2']);
    files.faults = {};
    expect(await keysOf(outbox)).toEqual(['a1', 'a2', 'c1', 'c2']);
    await fixture.clock.advance(60_000);
    expect(await keysOf(outbox)).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'c2']);
  });

  it('ends when it is told to', async () => {
    const outbox = await runs('a', 'b');
    const stop = new AbortController();
    const reading = outbox.read({}, stop.signal)[Symbol.asyncIterator]();
    await reading.next();
    await reading.next();
    stop.abort();
    await expect(reading.next()).rejects.toThrow();
  });

  it('gets no entries whose time is not known', async () => {
    fixture = await OutboxFixture.make({ commitAgeMs: 100 });
    fixture.files = new MemoryFiles();
    fixture.timeSync = new FakeTimeSync(false);
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 1), fixture.entry('b', 2, { takenAtMs: 5 })]);
    expect(await keysOf(outbox)).toEqual(['b2']);
    expect(await keysOf(outbox, { fromMs: 0 })).toEqual(['b2']);
    fixture.timeSync.become(true);
    expect(await keysOf(outbox)).toEqual(['a1', 'b2']);
  });
});
