/** A poll stands when a server holds it: one that ends at once does not, and one that stood before a trial goes on to count. */
import { expect, it } from 'vitest';
import type { PollBeat } from '../../../src/platform/poll-beat.ts';
import { PollWatch } from '../../../src/remote-config/poll-watch.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function watched(): { readonly clock: FakeClock; readonly watch: PollWatch; readonly told: string[] } {
  const clock = new FakeClock();
  const told: string[] = [];
  const beat: PollBeat = {
    meet: async () => {},
    untilOtherMs: () => undefined,
    began: (timeoutMs) => told.push(`began ${timeoutMs}`),
    ended: () => told.push('ended'),
  };
  return { clock, watch: new PollWatch(beat, clock), told };
}

it('counts a poll that is held for three seconds, and passes all on', async () => {
  const { clock, watch, told } = watched();
  const sinceMs = clock.monotonicMs();
  watch.beat.began(20_000);
  await clock.advance(2_999);
  expect(watch.hasStoodSince(sinceMs)).toBe(false);
  await clock.advance(1);
  expect(watch.hasStoodSince(sinceMs)).toBe(true);
  watch.beat.ended();
  expect(told).toEqual(['began 20000', 'ended']);
});

it('counts none that a server ends at once, however many', async () => {
  const { clock, watch } = watched();
  const sinceMs = clock.monotonicMs();
  for (let poll = 0; poll < 20; poll += 1) {
    watch.beat.began(20_000);
    await clock.advance(1_000);
    watch.beat.ended();
  }
  expect(watch.hasStoodSince(sinceMs)).toBe(false);
});

it('counts one that began before the time and still stands after it', async () => {
  const { clock, watch } = watched();
  watch.beat.began(300_000);
  await clock.advance(10_000);
  const sinceMs = clock.monotonicMs();
  expect(watch.hasStoodSince(sinceMs)).toBe(false);
  await clock.advance(1_000);
  expect(watch.hasStoodSince(sinceMs)).toBe(true);
});
