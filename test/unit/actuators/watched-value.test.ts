/** A value that a rule goes by, and values in between that say nothing. */
import { expect, it } from 'vitest';
import { WatchedValue } from '../../../src/actuators/watched-value.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('lives on two values that say nothing, and not on a third', async () => {
  const clock = new FakeClock();
  let lost = 0;
  const watched = new WatchedValue({
    clock,
    lostAfterMs: 10_000,
    onLost: () => {
      lost += 1;
    },
  });
  watched.heard(true, 21);
  for (let part = 0; part < 2; part += 1) {
    await clock.advance(8_000);
    watched.heard(undefined);
  }
  await clock.advance(8_000);
  expect([watched.truth, watched.value, lost]).toEqual([true, 21, 0]);
  watched.heard(undefined);
  await clock.advance(2_500);
  expect([watched.truth, watched.value, lost]).toEqual(['lost', undefined, 1]);
  watched.heard(false, 19);
  expect([watched.truth, watched.value]).toEqual([false, 19]);
  watched.end();
});
