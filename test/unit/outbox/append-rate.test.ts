import { expect, it } from 'vitest';
import { AppendRate } from '../../../src/outbox/outbox-status.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('counts the rate of the last ten to twenty minutes', async () => {
  const clock = new FakeClock();
  const rate = new AppendRate(clock);
  expect(rate.perSecond()).toBe(0);
  rate.add(60);
  await clock.advance(600_000);
  rate.add(60);
  expect(rate.perSecond()).toBeCloseTo(0.2);
  await clock.advance(599_999);
  rate.add(30);
  expect(rate.perSecond()).toBeCloseTo(0.125);
  await clock.advance(1);
  rate.add(0);
  expect(rate.perSecond()).toBeCloseTo(0.05);
});
