import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { endedWithin, outcomeWithin, untilAborted, withinMs } from '../../../src/host/bounded-wait.ts';
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

  it('has nobody to tell who was let go, once the work ends after all', async () => {
    const { promise: work, resolve } = Promise.withResolvers<void>();
    const gone = new AbortController();
    const waited = untilAborted(work, gone.signal);
    gone.abort(new Error('let go'));
    await expect(waited).rejects.toThrow('let go');
    const told = vi.spyOn(gone.signal, 'removeEventListener');
    resolve();
    await untilAborted(work, new AbortController().signal);
    expect(told).not.toHaveBeenCalled();
  });

  it('leaves nothing with a signal that lives longer than the work', async () => {
    const { signal } = new AbortController();
    for (let time = 0; time < 5; time += 1) await untilAborted(Promise.resolve(), signal);
    await expect(untilAborted(Promise.reject(new Error('no disk')), signal)).rejects.toThrow('no disk');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('work that is given up', () => {
  const late = (): never => {
    throw new Error('too late');
  };
  const onAbort = (signal: AbortSignal, act: () => void): void => signal.addEventListener('abort', act, { once: true });

  it('has no say any more, whatever it makes of the end of its signal', async () => {
    const clock = new FakeClock();
    const done = (signal: AbortSignal): Promise<string> =>
      new Promise((resolve) => onAbort(signal, () => resolve('done')));
    const failed = (signal: AbortSignal): Promise<string> =>
      new Promise((_, reject) => onAbort(signal, () => reject(new Error('aborted'))));
    for (const work of [done, failed]) {
      const waited = outcomeWithin(clock, 1000, work, late);
      waited.catch(() => {});
      await clock.advance(1000);
      await expect(waited).rejects.toThrow('too late');
      const end = new AbortController();
      const left = outcomeWithin(clock, 1000, work, late, end.signal);
      end.abort();
      await expect(left).rejects.toThrow('too late');
      await expect(outcomeWithin(clock, 1000, work, late, AbortSignal.abort())).rejects.toThrow('too late');
    }
    const thrown = (): never => {
      throw new Error('no such line');
    };
    await expect(outcomeWithin(clock, 1000, thrown, late, new AbortController().signal)).rejects.toThrow(
      'no such line',
    );
    await expect(outcomeWithin(clock, 1000, thrown, late, AbortSignal.abort())).rejects.toThrow('no such line');
  });

  it('keeps what it left listening to itself: nothing stays with a signal that lives on, and nothing hears its end', async () => {
    const clock = new FakeClock();
    const closing = new AbortController();
    const heard = vi.fn();
    for (const ms of [1000, 1001]) {
      await withinMs(clock, ms, async (signal) => signal.addEventListener('abort', heard), closing.signal);
      await outcomeWithin(clock, ms, async (signal) => signal.addEventListener('abort', heard), late, closing.signal);
    }
    expect(getEventListeners(closing.signal, 'abort')).toEqual([]);
    closing.abort();
    expect(heard).not.toHaveBeenCalled();
  });
});
