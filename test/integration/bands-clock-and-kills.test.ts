/** The record for plots after a clock that was wrong for a while, and after a kill that followed a late backlog. */
import { describe, expect, it } from 'vitest';
import { BandsBench, HOUR_MS, MIDNIGHT, PART_MS } from '../support/bands-bench.ts';

const DAY_MS = 24 * HOUR_MS;

describe('the record for plots', () => {
  it('keeps its week when the clock was ahead by a month for two hours', async () => {
    const bench = new BandsBench();
    for (let hour = 0; hour < 5 * 24; hour += 1) {
      bench.report('a', hour);
      await bench.clock.advance(HOUR_MS);
    }
    await bench.clock.advance(PART_MS);
    const before = (await bench.read(['a'], MIDNIGHT, MIDNIGHT + 5 * DAY_MS)).size;
    bench.clock.stepWall(30 * DAY_MS);
    bench.report('a', -1);
    await bench.clock.advance(2 * HOUR_MS);
    bench.clock.stepWall(-30 * DAY_MS);
    expect((await bench.read(['a'], MIDNIGHT, MIDNIGHT + 5 * DAY_MS)).size).toBe(before);
  });
});
