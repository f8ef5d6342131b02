/** A platform that restarts twice, as an update of it does. */
import { expect, it } from 'vitest';
import { createPollLength } from '../../../src/platform/poll-length.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('two restarts within a quarter of an hour do not make polls of five minutes ten seconds long for a day', async () => {
  const clock = new FakeClock();
  const length = createPollLength({ clock });
  for (let polls = 0; polls < 5; polls += 1) {
    const asked = length.nextMs();
    length.ended(asked, asked);
  }
  expect(length.nextMs()).toBeGreaterThan(200_000);
  // Each restart cuts what stands: the second poll is the first after the restart, and the next restart comes before its end.
  length.cut(length.nextMs(), 12_000, 'closed');
  length.cut(length.nextMs(), 40_000, 'closed');
  await clock.advance(3_600_000);
  for (let polls = 0; polls < 20; polls += 1) {
    const asked = length.nextMs();
    length.ended(asked, asked);
  }
  expect(length.nextMs()).toBeGreaterThan(60_000);
});
