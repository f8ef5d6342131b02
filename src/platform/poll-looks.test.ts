/** Looks in place of standing polls, with a virtual clock. */
import { expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { silentLog } from '../host/log.ts';
import { runLongPoll } from './long-poll.ts';

it('take what waits one poll after the other, rest in between, and end when polls may stand again', async () => {
  const clock = new FakeClock({ jitter: 0 });
  const stop = new AbortController();
  const beginMs = clock.monotonicMs();
  const polls: (readonly [atMs: number, timeoutMs: number])[] = [];
  const waited: number[] = [];
  const messages = [1, 2];
  let everyMs: number | undefined = Number.POSITIVE_INFINITY;
  const running = runLongPoll<number>(
    {
      kind: 'rpc',
      clock,
      log: silentLog,
      wakes: () => everyMs,
      poll: async (timeoutMs, signal) => {
        polls.push([clock.monotonicMs() - beginMs, timeoutMs]);
        if (messages.length === 0) await clock.sleep(timeoutMs, signal);
        return messages.shift();
      },
      onMessage: async () => 'worthy',
      onWaited: (ms) => waited.push(ms),
    },
    stop.signal,
  );
  await clock.advance(3_600_000);
  expect(polls).toEqual([]);
  everyMs = 900_000;
  await clock.advance(30_000);
  expect(polls.map(([, timeoutMs]) => timeoutMs)).toEqual([3_000, 3_000, 3_000]);
  await clock.advance(1_810_000);
  expect(polls).toHaveLength(5);
  everyMs = undefined;
  await clock.advance(31_000);
  expect(polls.at(-1)?.[1]).toBe(20_000);
  expect(waited[0]).toBe(3_630_000);
  // Wakes are at whole multiples of the time between them.
  expect(polls.slice(3, 5).map(([atMs]) => (atMs + beginMs) % 900_000)).toEqual([0, 0]);
  stop.abort();
  await clock.advance(0);
  await running;
});
