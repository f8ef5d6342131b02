import { beforeEach, describe, expect, it } from 'vitest';
import { ChunkSize } from '../../../src/firmware/chunk-size.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MB = 1024 * 1024;
let clock: FakeClock;
beforeEach(() => {
  clock = new FakeClock();
});

/** Downloads from the beginning, each answer after so many ms, and says what was asked for. */
async function ask(size: ChunkSize, answersMs: readonly number[], offset = 0): Promise<number[]> {
  const asked: number[] = [];
  let at = offset;
  for (const ms of answersMs) {
    asked.push(size.next(at));
    await clock.advance(ms);
    size.arrived();
    at += size.askedBytes;
  }
  return asked;
}

describe('what is asked for at once', () => {
  it('doubles with every quick answer, up to sixteen of the configured chunk', async () => {
    const size = new ChunkSize(1000, clock);
    expect(size.askedBytes).toBe(1000);
    // Each offset has to be a multiple of what is asked for.
    expect(await ask(size, new Array(8).fill(249))).toEqual([1000, 1000, 2000, 4000, 8000, 16000, 16000, 16000]);
  });

  it('is never more than 16 MB', async () => {
    expect((await ask(new ChunkSize(4 * MB, clock), new Array(6).fill(0))).map((bytes) => bytes / MB)).toEqual([4, 4, 8, 16, 16, 16]);
    expect((await ask(new ChunkSize(5 * MB, clock), new Array(5).fill(0))).map((bytes) => bytes / MB)).toEqual([5, 5, 10, 10, 10]);
    expect((await ask(new ChunkSize(64 * MB, clock), new Array(3).fill(0))).map((bytes) => bytes / MB)).toEqual([64, 64, 64]);
  });

  it('halves with every slow one, down to the configured chunk', async () => {
    const size = new ChunkSize(1000, clock);
    await ask(size, new Array(5).fill(0));
    expect(await ask(size, [250, 250, 250, 250, 250, 250], 160_000)).toEqual([16000, 8000, 4000, 2000, 1000, 1000]);
  });

  it('is the configured chunk again after a cut', async () => {
    const size = new ChunkSize(1000, clock);
    await ask(size, new Array(5).fill(0));
    size.next(160_000);
    size.lost();
    expect(size.next(160_000)).toBe(1000);
  });

  it('grows only when what was asked for was all that is allowed', async () => {
    const size = new ChunkSize(1000, clock);
    await ask(size, [0, 0, 0]);
    // Allowed are 4000; the offset lets only 1000 be asked for.
    expect(await ask(size, [0, 0], 15_000)).toEqual([1000, 4000]);
  });
});
