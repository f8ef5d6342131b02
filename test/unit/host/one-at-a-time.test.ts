/** Two runs never overlap; whoever asks while one runs gets one that began after the asking, or joins it. */
import { describe, expect, it } from 'vitest';
import { joinedWhileUnderWay, oneAtATime } from '../../../src/host/shared-work.ts';

describe('work that is asked for again while it runs', () => {
  it('runs once more, for all who asked, and never twice at a time', async () => {
    const ends: (() => void)[] = [];
    let runs = 0;
    const ask = oneAtATime(() => {
      const run = ++runs;
      return new Promise<number>((resolve) => ends.push(() => resolve(run)));
    });
    const first = ask();
    await Promise.resolve();
    const later = [ask(), ask(), ask()];
    await new Promise(setImmediate);
    expect(runs).toBe(1);
    ends[0]?.();
    await new Promise(setImmediate);
    expect(runs).toBe(2);
    ends[1]?.();
    expect(await first).toBe(1);
    expect(await Promise.all(later)).toEqual([2, 2, 2]);
  });

  it('runs again after a run that failed', async () => {
    let runs = 0;
    const ask = oneAtATime(async () => {
      runs += 1;
      if (runs === 1) throw new Error('once');
      return runs;
    });
    await expect(ask()).rejects.toThrow('once');
    expect(await ask()).toBe(2);
  });
});

it('work that is joined is done once for all who ask meanwhile, and anew for who asks after its end, however it ended', async () => {
  const ends: PromiseWithResolvers<number>[] = [];
  const ask = joinedWhileUnderWay(() => {
    const end = Promise.withResolvers<number>();
    ends.push(end);
    return end.promise;
  });
  const both = [ask(), ask()];
  expect(ends).toHaveLength(1);
  ends[0]?.resolve(1);
  expect(await Promise.all(both)).toEqual([1, 1]);
  const second = ask();
  ends[1]?.reject(new Error('no'));
  await expect(second).rejects.toThrow('no');
  const third = ask();
  ends[2]?.resolve(3);
  expect(await third).toBe(3);
});
