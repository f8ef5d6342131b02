import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { SequenceRanges } from '../../../../src/outbox/delivery/sequence-ranges.ts';
import type { ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { LANES, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

const HOUR_MS = 3_600_000;
const START = Math.floor(1_780_000_000_000 / HOUR_MS) * HOUR_MS;
const signal = new AbortController().signal;
let fixture: OutboxFixture;

afterEach(() => fixture?.remove());

/** Two keys, a value every 10 minutes for two hours, twelve blocks, all delivered. */
async function delivered(): Promise<Outbox> {
  fixture = await OutboxFixture.make();
  const outbox = await fixture.open();
  for (let index = 0; index < 12; index += 1) {
    const takenAtMs = START + index * 600_000;
    await fixture.commit(outbox, [
      fixture.entry('a', index, { takenAtMs }),
      fixture.entry('b', index * 2, { takenAtMs }),
    ]);
  }
  await deliverAll(outbox);
  return outbox;
}

async function deliverAll(outbox: Outbox): Promise<ResolvedEntry[]> {
  const sent: ResolvedEntry[] = [];
  for (const lane of LANES) {
    for (
      let batch = await outbox.peek(lane, NO_LIMITS);
      batch !== undefined;
      batch = await outbox.peek(lane, NO_LIMITS)
    ) {
      sent.push(...batch.entries);
      await outbox.acknowledge(batch);
    }
  }
  return sent;
}

const ledger = async (outbox: Outbox) =>
  (await outbox.readLedger({}))
    .map(({ key, hourMs, count, sum }) => [key, (hourMs - START) / HOUR_MS, count, sum])
    .sort();

describe('sending again what was acknowledged last', () => {
  /** Segments of 8 kB, of which no delivered one is kept. */
  async function deliveredBlocks(blocks: number): Promise<Outbox> {
    fixture = await OutboxFixture.make({ maxBytes: 1_000_000, retain: { forMs: 0, bytes: 0 }, commitAgeMs: 100 });
    fixture.files = new MemoryFiles();
    const outbox = await fixture.open();
    for (let block = 0; block < blocks; block += 1) {
      await fixture.commit(outbox, fixture.noise(1_000, block * 1_000));
      await deliverAll(outbox);
    }
    return outbox;
  }

  it('puts back the newest five thousand at most, whose segments stay for ten minutes', async () => {
    const outbox = await deliveredBlocks(20);
    await fixture.clock.advance(500_000);
    outbox.resendRecent(0);
    expect((await deliverAll(outbox)).map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 5_000 }, (_none, at) => 15_001 + at),
    );
    expect(outbox.status()).toMatchObject({ resent: 5_000, damaged: 0, dropped: 0 });
    await fixture.clock.advance(700_000);
    expect(outbox.status().segments).toBeLessThanOrEqual(1);
  });

  it('puts back each once, and none that was acknowledged before or is gone', async () => {
    const outbox = await deliveredBlocks(20);
    outbox.resendRecent(fixture.clock.monotonicMs() + 1);
    outbox.resendRecent(0);
    expect(outbox.status().resent).toBe(0);
    await fixture.commit(outbox, fixture.noise(1_000));
    await deliverAll(outbox);
    outbox.resendRecent(0);
    outbox.resendRecent(0);
    expect([(await deliverAll(outbox)).length, outbox.status().resent]).toEqual([1_000, 1_000]);
  });

  it('leaves the ledger as it was, and alone what was refused', async () => {
    const outbox = await delivered();
    await fixture.commit(outbox, [fixture.entry('a', 99, { takenAtMs: START + 5 * HOUR_MS }), fixture.entry('b', 1)]);
    const batch = await outbox.peek('live', NO_LIMITS);
    const [bad] = batch?.entries ?? [];
    if (batch === undefined || bad === undefined) throw new Error('nothing to refuse');
    await outbox.reject(bad, 'bad');
    await outbox.acknowledge(batch);
    const before = await ledger(outbox);
    outbox.resendRecent(0);
    expect((await deliverAll(outbox)).map(({ value }) => value)).not.toContain(99);
    expect([outbox.status().resent, await ledger(outbox)]).toEqual([25, before]);
  });
});

describe('sending again', () => {
  it('puts the entries of a key and hour back, with the times they had', async () => {
    const outbox = await delivered();
    expect(await outbox.resend({ key: 'a', fromMs: START, toMs: START + HOUR_MS }, signal)).toBe(6);
    const again = await deliverAll(outbox);
    expect(again.filter(({ key }) => key === 'a').map(({ ts, value }) => [(ts - START) / 600_000, value])).toEqual(
      Array.from({ length: 6 }, (_, index) => [index, index]),
    );
    expect(await deliverAll(outbox)).toEqual([]);
  });

  it('counts them once in the ledger, before and after', async () => {
    const outbox = await delivered();
    const before = await ledger(outbox);
    await outbox.resend({ key: 'a', fromMs: START, toMs: START + HOUR_MS }, signal);
    await outbox.resend({ key: 'a', fromMs: START, toMs: START + 2 * HOUR_MS }, signal);
    expect((await ledger(outbox)).filter(([key]) => key === 'a').map(([, , count]) => count)).toEqual([0, 0]);
    await deliverAll(outbox);
    expect(await ledger(outbox)).toEqual(before);
  });

  it('remembers it across a restart', async () => {
    const outbox = await delivered();
    const before = await ledger(outbox);
    await outbox.resend({ key: 'b', fromMs: START + HOUR_MS, toMs: START + 2 * HOUR_MS }, signal);
    await fixture.until(outbox.close());
    const reopened = await fixture.open();
    expect((await deliverAll(reopened)).filter(({ key }) => key === 'b')).toHaveLength(6);
    expect(await ledger(reopened)).toEqual(before);
  });

  it('finds nothing where nothing is kept, and leaves alone what was refused', async () => {
    const outbox = await delivered();
    expect(await outbox.resend({ key: 'c', fromMs: START, toMs: START + HOUR_MS }, signal)).toBe(0);
    expect(await outbox.resend({ key: 'a', fromMs: 0, toMs: START }, signal)).toBe(0);
    await fixture.commit(outbox, [fixture.entry('a', 99, { takenAtMs: START + 5 * HOUR_MS })]);
    const batch = await outbox.peek('live', NO_LIMITS);
    const [bad] = batch?.entries ?? [];
    if (batch === undefined || bad === undefined) throw new Error('nothing to refuse');
    await fixture.until(outbox.reject(bad, '400'));
    expect(await outbox.resend({ key: 'a', fromMs: START + 5 * HOUR_MS, toMs: START + 6 * HOUR_MS }, signal)).toBe(0);
  });

  it('leaves alone what is a dead letter, and what was refused and sent again since, and the ledger counts no less for it', async () => {
    const outbox = await delivered();
    const before = await ledger(outbox);
    for (const value of [98, 99])
      await fixture.commit(outbox, [fixture.entry('a', value, { takenAtMs: START + value })]);
    const [refused, buried] = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
    if (refused === undefined || buried === undefined) throw new Error('nothing to refuse');
    await fixture.until(outbox.deadLetter([buried], '400'));
    await fixture.until(outbox.reject(refused, '400'));
    expect(await fixture.until(outbox.resendRejected(() => true))).toBe(1);
    expect(await deliverAll(outbox)).toHaveLength(1);
    await fixture.until(outbox.close());
    const reopened = await fixture.open();
    // Six of before, and the one that was sent again.
    expect(await reopened.resend({ key: 'a', fromMs: START, toMs: START + HOUR_MS }, signal)).toBe(7);
    expect(
      (await ledger(reopened)).filter(([key, hour]) => key === 'a' && hour === 0).map(([, , count]) => count),
    ).toEqual([0]);
    await deliverAll(reopened);
    const after = (await ledger(reopened))
      .filter(([key, hour]) => key === 'a' && hour === 0)
      .map(([, , count]) => count);
    expect([before.find(([key, hour]) => key === 'a' && hour === 0)?.[2], after]).toEqual([6, [7]]);
  });

  it('loses nothing of a block of which the rest is on its way, and is not given out beside it', async () => {
    fixture = await OutboxFixture.make();
    const outbox = await fixture.open();
    const values = [0, 1, 2, 3, 4, 5];
    await fixture.commit(
      outbox,
      values.map((value) => fixture.entry('a', value, { takenAtMs: START + value })),
    );
    const batch = await outbox.peek('live', NO_LIMITS);
    if (batch === undefined) throw new Error('nothing to send');
    // As when no more than half of a block passes at once.
    await outbox.acknowledge({ ...batch, entries: batch.entries.part(0, 3), ranges: [[1, 3]] });
    const rest = await outbox.peek('live', NO_LIMITS);
    if (rest === undefined) throw new Error('nothing to send');
    expect([rest.entries.values, await outbox.peek('live', NO_LIMITS, rest)]).toEqual([[3, 4, 5], undefined]);
    expect(await outbox.resend({ key: 'a', fromMs: START, toMs: START + HOUR_MS }, signal)).toBe(3);
    await outbox.acknowledge(rest);
    expect((await deliverAll(outbox)).map(({ value }) => value)).toEqual([0, 1, 2]);
    expect((await ledger(outbox)).map(([, , count]) => count)).toEqual([6]);
  });

  it('takes what can be read while a segment cannot', async () => {
    fixture = await OutboxFixture.make({ maxBytes: 64 * 1024, commitAgeMs: 100 });
    const files = new MemoryFiles();
    fixture.files = files;
    let outbox = await fixture.open();
    for (let block = 0; block < 10; block += 1) await fixture.commit(outbox, fixture.noise(200, block * 200));
    await deliverAll(outbox);
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    const bad = files.paths.filter((path) => path.endsWith('.seg'))[1] ?? '';
    files.faults = { fail: (operation, path) => (operation === 'read' && path === bad ? { code: 'EIO' } : undefined) };
    const query = { key: 'key1', fromMs: 0, toMs: Number.POSITIVE_INFINITY };
    const some = await outbox.resend(query, signal);
    expect(some).toBeGreaterThan(0);
    files.faults = {};
    await fixture.clock.advance(61_000);
    expect(some + (await outbox.resend(query, signal))).toBe(500);
    expect((await deliverAll(outbox)).filter(({ key }) => key === 'key1')).toHaveLength(500);
  });

  it('takes what was delivered under the number of an entry that was refused before all else on the disk was lost', async () => {
    fixture = await OutboxFixture.make();
    const files = new MemoryFiles();
    fixture.files = files;
    let outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 1, { takenAtMs: START })]);
    const [bad] = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
    if (bad === undefined) throw new Error('nothing to refuse');
    await fixture.until(outbox.reject(bad, '400'));
    await fixture.until(outbox.close());
    for (const path of files.paths)
      if (/\.(seg|state|jsonl)$/.test(path) && !path.endsWith('rejected.jsonl')) files.remove(path);
    outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 2, { takenAtMs: START + 1 })]);
    expect((await deliverAll(outbox)).map(({ sequence }) => sequence)).toEqual([bad.sequence]);
    expect(await outbox.resend({ key: 'a', fromMs: START, toMs: START + HOUR_MS }, signal)).toBe(1);
  });

  it('wakes whoever sends', async () => {
    const outbox = await delivered();
    let woken = 0;
    outbox.onAppended(() => {
      woken += 1;
    });
    await outbox.resend({ key: 'a', fromMs: START, toMs: START + HOUR_MS }, signal);
    expect(woken).toBe(1);
  });
});

describe('a set of ranges', () => {
  it('holds what was added and not taken out since, like a plain set', () => {
    const step = fc.record({
      take: fc.boolean(),
      first: fc.integer({ min: 0, max: 40 }),
      length: fc.integer({ min: 0, max: 12 }),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const ranges = new SequenceRanges();
        const plain = new Set<number>();
        for (const { take, first, length } of steps) {
          if (take) ranges.remove(first, first + length);
          else ranges.add(first, first + length);
          for (let one = first; one <= first + length; one += 1) {
            if (take) plain.delete(one);
            else plain.add(one);
          }
        }
        for (let one = 0; one <= 60; one += 1) expect(ranges.has(one)).toBe(plain.has(one));
        for (let one = 0; one <= 60; one += 1)
          expect(ranges.lastUpTo(one)).toBe([...plain].filter((number) => number <= one).sort((a, b) => b - a)[0]);
        for (const [first, last] of ranges.list()) expect(first).toBeLessThanOrEqual(last);
      }),
    );
  });
});
