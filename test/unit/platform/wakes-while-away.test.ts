/** Wakes of a link that is too dear for standing polls, while the platform is away. */
import { expect, it } from 'vitest';
import { runLongPoll } from '../../../src/platform/long-poll.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MINUTE_MS = 60_000;

it.each([
  ['refuses connections', 'busy', 15 * MINUTE_MS],
  ['does not know the token', 'unauthorised', 15 * MINUTE_MS],
  ['refuses connections, and shared attributes are read every six hours', 'busy', 6 * 60 * MINUTE_MS],
] as const)('a platform that %s is asked at wakes', async (_what, fault, wakeMs) => {
  const clock = new FakeClock({ jitter: 0.9 });
  const stop = new AbortController();
  const log = { debug: () => {}, info: () => {}, error: () => {}, warn: () => {} };
  let attempts = 0;
  const poll = async (): Promise<undefined> => {
    attempts += 1;
    throw new PlatformError(fault, 'the platform is away');
  };
  const running = runLongPoll(
    { kind: 'rpc', poll, onMessage: async () => 'worthy', wakes: () => wakeMs, clock, log },
    stop.signal,
  );
  await clock.advance(6 * 60 * MINUTE_MS);
  stop.abort();
  await clock.advance(0);
  await running;
  // A second try at each wake is taken as fair.
  expect(attempts).toBeLessThanOrEqual(2 * (6 * 4 + 1));
});
