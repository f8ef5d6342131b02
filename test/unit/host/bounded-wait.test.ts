import { describe, expect, it, vi } from 'vitest';
import { endedWithin } from '../../../src/host/bounded-wait.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('work that is waited for so long', () => {
  it('is told from work that still goes on, whatever its end, and by whose signal it is left', async () => {
    const clock = new FakeClock();
    const hung = new Promise<void>(() => {});
    expect(await endedWithin(clock, 1000, Promise.resolve(7))).toBe(true);
    expect(await endedWithin(clock, 1000, Promise.reject(new Error('no disk')))).toBe(true);
    expect(await endedWithin(clock, 1000, hung, AbortSignal.abort())).toBe(false);
    const late = endedWithin(clock, 1000, hung);
    await clock.advance(999);
    expect(await Promise.race([late, 'still waited for'])).toBe('still waited for');
    await clock.advance(1);
    expect(await late).toBe(false);
  });

  it('keeps nothing of those who no longer wait, however often a hung disk is waited for', async () => {
    const clock = new FakeClock();
    const hung = new Promise<void>(() => {});
    const reactions = vi.spyOn(hung, 'then');
    for (let time = 0; time < 5; time += 1) {
      const late = endedWithin(clock, 1000, hung);
      await clock.advance(1000);
      expect(await late).toBe(false);
    }
    expect(reactions).toHaveBeenCalledTimes(1);
  });
});
