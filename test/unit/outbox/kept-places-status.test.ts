/** Rate and hours over all places where entries are kept. */
import { expect, it } from 'vitest';
import { type KeptPlace, KeptPlaces } from '../../../src/outbox/kept-places.ts';
import { type OutboxStatus, statusBeforeOpening } from '../../../src/outbox/outbox-status.ts';

const EMPTY = statusBeforeOpening({ heldEntries: 0, dropped: 0, timeSynchronised: true });

function place(name: string, status: Partial<OutboxStatus>, isApart?: true): KeptPlace {
  const outbox = { status: () => ({ ...EMPTY, ...status }) } as KeptPlace['outbox'];
  return isApart === true ? { name, outbox, isApart } : { name, outbox };
}

it.each<[string, KeptPlace, Partial<OutboxStatus>]>([
  [
    'the place that is full first',
    place('attached devices', { ratePerS: 10, hoursThatFit: 30, hoursOnDisk: 500 }),
    { ratePerS: 10.03, hoursThatFit: 30 },
  ],
  [
    'the disk that they share',
    place('attached devices', { ratePerS: 0.03, hoursThatFit: 1_000, hoursOnDisk: 1_000 }),
    { ratePerS: 0.06, hoursThatFit: 500 },
  ],
  [
    'a place apart, whose entries came in elsewhere',
    place('meter', { ratePerS: 5, hoursThatFit: 20, hoursOnDisk: 40 }, true),
    { ratePerS: 0.03, hoursThatFit: 20 },
  ],
  ['the only one that grows', place('attached devices', {}), { ratePerS: 0.03, hoursThatFit: 1_000 }],
])('fit until %s is full', (_, other, told) => {
  const own = place('gateway', { ratePerS: 0.03, hoursThatFit: 1_000, hoursOnDisk: 1_000 });
  const { ratePerS, hoursThatFit } = new KeptPlaces(() => [own, other]).status();
  expect(ratePerS).toBeCloseTo(told.ratePerS ?? 0);
  expect(hoursThatFit).toBeCloseTo(told.hoursThatFit ?? 0);
});
