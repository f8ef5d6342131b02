/** Two kinds of polls end and begin together, and neither waits long for the other; with a virtual clock. */
import { expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { silentLog } from '../host/log.ts';
import { runLongPoll } from './long-poll.ts';
import { createPollBeat } from './poll-beat.ts';

async function begun(ms: number, tookMs: (kind: string, timeoutMs: number) => number) {
  let drawn = 7;
  const clock = new FakeClock({ jitter: 0.5 });
  clock.jitter = () => {
    drawn = (drawn * 16_807) % 2_147_483_647;
    return drawn / 2_147_483_647;
  };
  const beats = createPollBeat(clock);
  const stop = new AbortController();
  const polls: Record<string, number[]> = { rpc: [], attributes: [] };
  const running = Object.keys(polls).map((kind) =>
    runLongPoll<never>(
      {
        kind,
        clock,
        log: silentLog,
        beat: beats(),
        longestPollMs: 25_000,
        poll: async (timeoutMs, signal) => {
          polls[kind]?.push(clock.monotonicMs());
          await clock.sleep(tookMs(kind, timeoutMs), signal);
          return undefined;
        },
        onMessage: async () => 'worthy',
      },
      stop.signal,
    ),
  );
  await clock.advance(ms);
  stop.abort();
  await clock.advance(0);
  await Promise.all(running);
  return polls;
}

it('polls of two kinds begin together, a few ms apart from a server as they may come', async () => {
  const { rpc = [], attributes = [] } = await begun(3_600_000, (kind, ms) => ms + (kind === 'rpc' ? 7 : 0));
  expect(rpc.length).toBeGreaterThan(130);
  expect(attributes).toEqual(rpc);
});

it('a poll whose company does not end goes by itself', async () => {
  const { rpc = [], attributes = [] } = await begun(3_600_000, (kind, ms) => (kind === 'rpc' ? ms : ms + 20_000));
  expect(rpc.length).toBeGreaterThan(130);
  expect(attributes.length).toBeLessThan(rpc.length);
});
