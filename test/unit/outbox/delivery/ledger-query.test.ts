/** Which hours of which keys the ledger answers with, from its files and from what is not in them yet. */
import { afterEach, expect, it } from 'vitest';
import type { LedgerQuery } from '../../../../src/outbox/delivery/ledger-file.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, OutboxFixture } from '../../../support/outbox-fixture.ts';

const HOUR_MS = 3_600_000;
const FIRST_MS = 1_780_002_000_000 - (1_780_002_000_000 % HOUR_MS);

let fixture: OutboxFixture;
afterEach(() => fixture.remove());

async function delivered(): Promise<Outbox> {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  fixture.files = new MemoryFiles();
  const outbox = await fixture.open();
  for (const hour of [0, 1, 2]) {
    const takenAtMs = FIRST_MS + hour * HOUR_MS + 60_000;
    await fixture.commit(outbox, [
      fixture.entry('a', hour, { takenAtMs }),
      fixture.entry('b', hour * 10, { takenAtMs }),
    ]);
    await drain(outbox);
    // The first hours' cells go to their file, the last one's do not.
    if (hour === 1) await fixture.clock.advance(2 * HOUR_MS);
  }
  return outbox;
}

it('answers with the cells of a key, and of hours that touch the time asked for', async () => {
  const outbox = await delivered();
  const hours = async (query: LedgerQuery): Promise<string[]> =>
    (await outbox.readLedger(query))
      .map(({ key, hourMs, count, sum }) => `${key}${(hourMs - FIRST_MS) / HOUR_MS} ${count} ${sum}`)
      .sort();
  expect(await hours({})).toEqual(['a0 1 0', 'a1 1 1', 'a2 1 2', 'b0 1 0', 'b1 1 10', 'b2 1 20']);
  expect(await hours({ key: 'a' })).toEqual(['a0 1 0', 'a1 1 1', 'a2 1 2']);
  expect(await hours({ key: 'a', fromMs: FIRST_MS + HOUR_MS })).toEqual(['a1 1 1', 'a2 1 2']);
  expect(await hours({ key: 'a', fromMs: FIRST_MS + HOUR_MS - 1 })).toEqual(['a0 1 0', 'a1 1 1', 'a2 1 2']);
  expect(await hours({ key: 'a', toMs: FIRST_MS + HOUR_MS })).toEqual(['a0 1 0']);
  expect(await hours({ key: 'a', toMs: FIRST_MS + HOUR_MS + 1 })).toEqual(['a0 1 0', 'a1 1 1']);
  expect(await hours({ key: 'b', fromMs: FIRST_MS + HOUR_MS, toMs: FIRST_MS + 2 * HOUR_MS })).toEqual(['b1 1 10']);
});

it('answers with the same after a restart', async () => {
  const outbox = await delivered();
  const before = await outbox.readLedger({});
  await fixture.until(outbox.close());
  expect(await (await fixture.open()).readLedger({})).toEqual(before);
});

it('goes to its file when an hour has passed, and counts the same before and after', async () => {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  const files = new MemoryFiles();
  fixture.files = files;
  const outbox = await fixture.open();
  await fixture.commit(outbox, [fixture.entry('a', 1), fixture.entry('b', 2)]);
  await drain(outbox);
  const ledgers = (): string[] => files.paths.filter((path) => path.includes('/ledger-'));
  const counts = async (): Promise<number[]> => (await fixture.until(outbox.readLedger({}))).map(({ count }) => count);
  await fixture.clock.advance(3_500_000);
  expect([ledgers(), await counts()]).toEqual([[], [1, 1]]);
  await fixture.clock.advance(200_000);
  expect([ledgers().length, await counts()]).toEqual([1, [1, 1]]);
});
