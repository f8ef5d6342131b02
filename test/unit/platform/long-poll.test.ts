/** A poll that fails is asked for ever more seldom, however long it waited for its turn. */
import { expect, it } from 'vitest';
import { runLongPoll } from '../../../src/platform/long-poll.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';

async function attemptsWhere(
  stoodMs: number | undefined,
): Promise<{ readonly attempts: number; readonly warnings: number }> {
  const clock = new FakeClock({ jitter: 0.9 });
  const stop = new AbortController();
  let attempts = 0;
  let warnings = 0;
  const warn = (): void => {
    warnings += 1;
  };
  const log = { debug: () => {}, info: () => {}, error: () => {}, warn };
  const running = runLongPoll(
    {
      kind: 'rpc',
      poll: async () => {
        attempts += 1;
        // Its turn comes after six seconds.
        await clock.sleep(6_000, stop.signal);
        const error = new PlatformError('busy', 'cannot reach the platform');
        error.stoodMs = stoodMs;
        throw error;
      },
      onMessage: async () => 'worthy',
      clock,
      log,
    },
    stop.signal,
  );
  await clock.advance(600_000);
  stop.abort();
  await clock.advance(0);
  await running;
  return { attempts, warnings };
}

it('a wait for a turn does not count as a connection that stood', async () => {
  const { attempts, warnings } = await attemptsWhere(10);
  expect(attempts).toBeLessThan(35);
  expect(warnings).toBe(1);
});

it('a connection that stood before it was cut begins the back-off anew', async () => {
  expect((await attemptsWhere(6_000)).attempts).toBeGreaterThan(75);
});

it('an answer that is worth nothing, between faults, begins no back-off anew', async () => {
  const clock = new FakeClock({ jitter: 0.9 });
  const stop = new AbortController();
  const said: string[] = [];
  let polls = 0;
  const running = runLongPoll(
    {
      kind: 'attributes',
      poll: async () => {
        polls += 1;
        if (polls % 2 === 1) throw new PlatformError('bad-answer', 'the answer is no object');
        return polls % 4 === 2 ? 'nonsense that is an object' : undefined;
      },
      onMessage: async () => 'worthless',
      clock,
      log: {
        debug: () => {},
        error: () => {},
        info: (_fields, words) => said.push(words),
        warn: (_fields, words) => said.push(words),
      },
    },
    stop.signal,
  );
  await clock.advance(600_000);
  expect(polls).toBeLessThan(120);
  expect(said).toEqual(['the long poll failed']);
  stop.abort();
  await clock.advance(0);
  await running;
});
