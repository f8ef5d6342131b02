import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { answerWithin, withinDeadline } from '../../../src/hardware/deadline.ts';

describe('a deadline over a call that cannot be cancelled', () => {
  it('leaves nothing with a call that never ends, however often it is waited for', async () => {
    const hung = new Promise<void>(() => {});
    const reactions = vi.spyOn(hung, 'then');
    for (let time = 0; time < 5; time += 1) {
      const end = new AbortController();
      const waited = withinDeadline(hung, 'the bus', end.signal);
      end.abort();
      await expect(waited).rejects.toMatchObject({
        code: 'hardware/deadline',
        message: 'the bus: no answer within the deadline',
      });
    }
    expect(reactions).toHaveBeenCalledTimes(1);
  });

  it('gives the outcome to everyone who still waits', async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const [never, gone] = [new AbortController().signal, new AbortController()];
    const waited = [never, gone.signal, never].map((signal) =>
      withinDeadline(promise, 'the bus', signal).catch(() => 'gone'),
    );
    gone.abort();
    resolve(7);
    expect(await Promise.all(waited)).toEqual([7, 'gone', 7]);
    expect(await withinDeadline(promise, 'the bus', never)).toBe(7);
    await expect(withinDeadline(Promise.reject(new Error('no bus')), 'the bus', never)).rejects.toThrow('no bus');
  });
});

describe('an answer that others give', () => {
  it.each(['resolves', 'rejects', 'is late'] as const)('leaves nothing with the signal when it %s', async (end) => {
    const ending = new AbortController();
    const answer = answerWithin<number>(
      (resolve, reject) => {
        if (end === 'resolves') resolve(7);
        if (end === 'rejects') reject(new Error('no bus'));
      },
      'the bus',
      ending.signal,
    ).catch((error: Error) => error.message);
    if (end === 'is late') ending.abort();
    expect(await answer).toBe(
      { resolves: 7, rejects: 'no bus', 'is late': 'the bus: no answer within the deadline' }[end],
    );
    expect(getEventListeners(ending.signal, 'abort')).toEqual([]);
  });
});
