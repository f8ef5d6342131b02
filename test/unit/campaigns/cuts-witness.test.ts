/** The judge of the cuts and kills, over ledgers that are made here. */
import { expect, it } from 'vitest';
import type { Arrival, Ledger, Reading } from '../../campaigns/cuts/ledger.ts';
import { repeatsIn, SequenceBook, Witness } from '../../campaigns/cuts/witness.ts';

const PROMISED_MS = 5_000;

const reading = (number: number, atMs: number): Reading => ({ key: 't0', number, atMs });
const arrival = (number: number, ts: number, atMs = ts): Arrival => ({ key: 't0', number, ts, atMs });

/** Readings 1 to 10, one a second, the last of them at 10 s. The platform had 1 to 3 at once. */
function tenReadings(): Ledger {
  return {
    given: Array.from({ length: 10 }, (_none, at) => reading(at + 1, (at + 1) * 1000)),
    taken: [1, 2, 3].map((number) => arrival(number, number * 1000)),
    failures: [],
  };
}

it('finds the one reading that neither platform nor disk has', () => {
  const witness = new Witness(tenReadings(), PROMISED_MS);
  expect(witness.judge({ atMs: 11_000, held: new Set(['t0:5']) })).toEqual([
    { key: 't0', number: 4, atMs: 4_000, ageMs: 7_000, place: undefined },
  ]);
  expect(witness).toMatchObject({ judged: 5, fromDisk: 1, oldestUnsafeMs: 7_000 });
});

it('finds nothing where all that is due is at one of the two, and takes no arrival of after the end', () => {
  const ledger = tenReadings();
  const witness = new Witness(ledger, PROMISED_MS);
  expect(witness.judge({ atMs: 11_000, held: new Set(['t0:4', 't0:5']) })).toEqual([]);
  ledger.taken.push(arrival(4, 4_000, 12_000));
  expect(new Witness(ledger, PROMISED_MS).judge({ atMs: 11_000, held: new Set(['t0:5']) })).toHaveLength(1);
});

it('lets a kill take what is younger than the promise, and a copy nothing that goes on', () => {
  const held = new Set(['t0:4', 't0:5']);
  const arrived = { atMs: 60_000, held: new Set<string>() };
  const ledger = tenReadings();
  const [killed, copied] = [new Witness(ledger, PROMISED_MS), new Witness(ledger, PROMISED_MS)];
  killed.judge({ atMs: 11_000, held });
  copied.judge({ atMs: 11_000, held, isOfCopy: true });
  ledger.taken.push(arrival(4, 4_000, 13_000), arrival(5, 5_000, 13_000));
  expect(killed.judge(arrived)).toEqual([]);
  expect(copied.isSafe(arrived)).toBe(false);
  expect(copied.judge(arrived).map(({ number }) => number)).toEqual([6, 7, 8, 9, 10]);
});

it('asks a stop for younger readings, too', () => {
  const end = { atMs: 11_000, held: new Set(['t0:4', 't0:5', 't0:6', 't0:7', 't0:8']), promisedMs: 1_500 };
  expect(new Witness(tenReadings(), PROMISED_MS).judge(end).map(({ number }) => number)).toEqual([9]);
});

it('does not ask for answers that the agent gave up, from the one before it says so to the one before it takes one', () => {
  const missingWith = (fromMs: number, untilMs: number, sensor = 0): readonly number[] => {
    const ledger = tenReadings();
    ledger.failures = [{ sensor, fromMs, untilMs }];
    return new Witness(ledger, PROMISED_MS).judge({ atMs: 11_000, held: new Set() }).map(({ number }) => number);
  };
  expect(missingWith(4_500, 4_900)).toEqual([5]);
  expect(missingWith(4_500, 5_500)).toEqual([5]);
  expect(missingWith(4_500, 6_500)).toEqual([]);
  expect(missingWith(3_500, 4_500)).toEqual([4, 5]);
  expect(missingWith(4_500, 6_500, 1)).toEqual([4, 5]);
});

it('tells what came again from what came otherwise', () => {
  const again = [arrival(1, 1_000), arrival(1, 1_000, 2_000)];
  expect(repeatsIn(again)).toEqual({ repeated: 1, contradictory: [] });
  const [withOtherTime, ofOtherReading] = [arrival(1, 1_001), arrival(2, 1_000)];
  expect(repeatsIn([...again, withOtherTime, ofOtherReading])).toEqual({
    repeated: 1,
    contradictory: [withOtherTime, ofOtherReading],
  });
});

it('finds a sequence of two entries', () => {
  const book = new SequenceBook();
  book.enter([{ sequence: 1, name: 't0:1' }]);
  book.enter([
    { sequence: 1, name: 't0:1' },
    { sequence: 2, name: 't0:2' },
  ]);
  expect(book.usedTwice).toEqual([]);
  book.enter([{ sequence: 2, name: 't0:3' }]);
  expect(book.usedTwice).toEqual(['2: t0:2, t0:3']);
});
