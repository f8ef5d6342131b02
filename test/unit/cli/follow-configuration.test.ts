import { expect, it } from 'vitest';
import { followConfiguration } from '../../../src/cli/follow-configuration.ts';
import type { ConfigurationsTold } from '../../../src/remote-config/told-configurations.ts';

const HASH = 'b'.repeat(64);
const OTHER = 'c'.repeat(64);
const MINUTE_MS = 60_000;

type State = NonNullable<ConfigurationsTold['state']>;

function status(state: State['state'], hash = HASH, trial?: ConfigurationsTold['trial']): ConfigurationsTold {
  return {
    fileHash: HASH,
    state: { state, hash, atMs: 0, origin: 'local' },
    ...(trial !== undefined && { trial }),
    history: [],
  };
}

/** Follows by a clock of its own: what the agent answers depends on the time, ms. */
async function followed(at: (nowMs: number) => ConfigurationsTold | undefined) {
  let nowMs = 0;
  const clock = {
    monotonicMs: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
  };
  const deps = { hash: HASH, look: async () => at(nowMs), onTrial: () => {}, onSilence: () => {}, clock };
  const end = await followConfiguration(deps, new AbortController().signal);
  return { end, nowMs };
}

it('goes on through a restart of some minutes', async () => {
  const { end } = await followed((ms) =>
    ms < MINUTE_MS || ms > 5 * MINUTE_MS ? status(ms > 5 * MINUTE_MS ? 'kept' : 'trying') : undefined,
  );
  expect(end).toEqual({ outcome: 'kept' });
});

it('does not know the end of an agent that stays silent', async () => {
  const { end, nowMs } = await followed((ms) => (ms < MINUTE_MS ? status('trying') : undefined));
  expect(end).toEqual({ outcome: 'unknown', reason: 'the agent does not answer' });
  expect(nowMs).toBeLessThan(7 * MINUTE_MS);
});

it('is not misled by the refusal of another during the trial', async () => {
  const trial = { hash: HASH, secondsLeft: 60, waitsFor: [] };
  const { end } = await followed((ms) => {
    if (ms < 2 * MINUTE_MS) return status('refused', OTHER, trial);
    return ms < 2 * MINUTE_MS + 5_000 ? status('refused', OTHER) : status('returned');
  });
  expect(end).toEqual({ outcome: 'returned' });
});

it('does not believe an end while the trial is on', async () => {
  const trial = { hash: HASH, secondsLeft: 60, waitsFor: [] };
  const { end } = await followed((ms) => (ms < MINUTE_MS ? status('kept', HASH, trial) : status('returned')));
  expect(end).toEqual({ outcome: 'returned' });
});

it('does not know the end when another came after it', async () => {
  const { end, nowMs } = await followed((ms) => (ms < 1_000 ? status('received') : status('trying', OTHER)));
  expect(end).toEqual({ outcome: 'unknown', reason: 'another configuration came after it' });
  expect(nowMs).toBeLessThan(MINUTE_MS);
});
