/** What an empty 500 is taken to mean, by what was taken and what was not around it. */
import { beforeEach, expect, it } from 'vitest';
import type { Lane, OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import { Empty500 } from '../../../../src/telemetry/answers/empty-500.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

let clock: FakeClock;
let empty500: Empty500;
beforeEach(() => {
  clock = new FakeClock();
  empty500 = new Empty500(clock);
});

function batch(lane: Lane, first: number, last: number): OutboxBatch {
  const rows = [first, last].map((sequence) => ({
    sequence,
    device: 'self',
    key: 'k',
    value: 1,
    ts: sequence,
    class: 'regular' as const,
  }));
  return { lane, entries: EntryColumns.of(rows), ranges: [[first, last]], bytes: 1 };
}
const live = (first: number, last: number) => batch('live', first, last);
function takeOthers(): void {
  for (const from of [501, 601, 701]) empty500.taken(batch('backlog', from, from + 9));
}

it('is about the post when time did not heal it: so many tries, for so long, and nothing taken since', async () => {
  for (let tries = 0; tries < 6; tries += 1) {
    expect(empty500.met(live(1, 10))).toBe(tries === 0 ? 'moment' : 'open');
    await clock.advance(14_999);
  }
  await clock.advance(5);
  empty500.taken(batch('backlog', 501, 510));
  expect([empty500.met(live(1, 10)), empty500.count]).toEqual(['open', 1]);
  await clock.advance(75_000);
  for (const expected of ['open', 'open', 'open', 'open', 'post']) expect(empty500.met(live(1, 10))).toBe(expected);
});

it('is about the post when others went through each at its first try, and nothing of it did', () => {
  empty500.met(live(1, 10));
  empty500.met(live(11, 20));
  takeOthers();
  expect(empty500.met(live(15, 30))).toBe('post');
});

it('says nothing yet of what is left of a post of which a part was taken, nor of another post of the lane', () => {
  empty500.met(live(1, 10));
  empty500.taken(live(1, 5));
  takeOthers();
  expect(empty500.met(live(6, 10))).toBe('moment');
  takeOthers();
  expect(empty500.met(live(21, 30))).toBe('open');
});

it('is not the number of posts, once that is known of a lane, until another lane meets one, too', () => {
  empty500.met(live(1, 10));
  takeOthers();
  expect([empty500.met(live(1, 10)), empty500.met(live(11, 20))]).toEqual(['post', 'post']);
  expect([empty500.met(batch('backlog', 801, 810)), empty500.met(live(1, 10))]).toEqual(['moment', 'open']);
});
