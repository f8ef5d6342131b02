import { describe, expect, it } from 'vitest';
import { SharedWork } from '../../../src/host/shared-work.ts';

function given() {
  const begun: {
    readonly signal: AbortSignal;
    readonly end: (value: number) => void;
    readonly fail: (error: Error) => void;
  }[] = [];
  const work = new SharedWork<number>((signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    signal.addEventListener('abort', () => reject(new Error('given up')));
    begun.push({ signal, end: resolve, fail: reject });
    return promise;
  });
  return { work, begun };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const said = (outcome: Promise<number>): Promise<unknown> => outcome.catch((error: Error) => error.message);

describe('shared work', () => {
  it('is done once for all who wait, and anew for who comes later', async () => {
    const { work, begun } = given();
    const never = new AbortController().signal;
    const both = Promise.all([work.join(never), work.join(never)]);
    await turn();
    expect([begun.length, work.isRunning]).toEqual([1, true]);
    begun[0]?.end(7);
    expect([await both, work.isRunning, begun[0]?.signal.aborted]).toEqual([[7, 7], false, false]);
    const third = said(work.join(never));
    await turn();
    begun[1]?.fail(new Error('no'));
    expect(await third).toBe('no');
  });

  it('lets each go at its own signal, goes on for the others, and ends with the last', async () => {
    const { work, begun } = given();
    const [one, other] = [new AbortController(), new AbortController()];
    const first = said(work.join(one.signal));
    const second = said(work.join(other.signal));
    await turn();
    one.abort(new Error('enough'));
    expect([await first, begun[0]?.signal.aborted]).toEqual(['enough', false]);
    other.abort(new Error('enough too'));
    expect([await second, begun[0]?.signal.aborted]).toEqual(['enough too', true]);
    expect(await said(work.join(one.signal))).toBe('enough');
    await turn();
    expect([begun.length, work.isRunning]).toEqual([1, false]);
  });

  it('is not begun again before what was given up has ended', async () => {
    let running = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    const work = new SharedWork<number>(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
      return 1;
    });
    const stop = new AbortController();
    const first = said(work.join(stop.signal));
    await turn();
    stop.abort(new Error('enough'));
    await first;
    const second = work.join(new AbortController().signal);
    await turn();
    expect(ends.length).toBe(1);
    ends[0]?.();
    await turn();
    ends[1]?.();
    expect([await second, most]).toEqual([1, 1]);
  });
});
