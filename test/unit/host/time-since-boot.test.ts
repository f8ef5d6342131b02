import { beforeEach, describe, expect, it, vi } from 'vitest';
import { TimeSinceBoot } from '../../../src/host/time-since-boot.ts';

let awake: number;
let slept: number;
let wall: number;
let uptimeReads: number;

const clocks = {
  awakeMs: () => awake,
  wallMs: () => wall,
  uptimeMs: () => {
    uptimeReads += 1;
    return Math.floor((awake + slept) / 10) * 10;
  },
};

function pass(ms: number): void {
  awake += ms;
  wall += ms;
}

function suspend(ms: number): void {
  slept += ms;
  wall += ms;
}

beforeEach(() => {
  awake = 1_000.25;
  slept = 0;
  wall = 1_700_000_000_000;
  uptimeReads = 0;
});

describe('time since boot', () => {
  it('is that of the monotonic clock on a board that was never suspended, whatever the wall clock does', () => {
    const time = new TimeSinceBoot(clocks);
    expect(time.ms()).toBe(1_000.25);
    pass(500.5);
    wall += 3_600_000;
    expect(time.ms()).toBe(1_500.75);
    wall -= 7_200_000;
    expect(time.ms()).toBe(1_500.75);
  });

  it('counts each suspension, to ten milliseconds', () => {
    const time = new TimeSinceBoot(clocks);
    for (const ms of [60_000, 3_600_000, 2_000]) {
      const before = time.ms();
      suspend(ms);
      pass(10);
      expect(Math.abs(time.ms() - before - ms - 10)).toBeLessThanOrEqual(10);
    }
  });

  it('counts what was before its start, as another process of the same boot does', () => {
    const first = new TimeSinceBoot(clocks);
    suspend(60_000);
    pass(5);
    expect(Math.abs(new TimeSinceBoot(clocks).ms() - first.ms())).toBeLessThanOrEqual(10);
  });

  it('never goes back, and reads the uptime only where the wall clock has gone by itself', () => {
    const time = new TimeSinceBoot(clocks);
    let last = 0;
    for (let at = 0; at < 1_000; at += 1) {
      pass(0.5);
      wall += at % 2 === 0 ? 20 : -20;
      expect(time.ms()).toBeGreaterThan(last);
      last = time.ms();
    }
    expect(uptimeReads).toBe(1);
  });

  it('shows a stamp of the kernel as itself, whatever was slept before', () => {
    const time = new TimeSinceBoot(clocks);
    suspend(8 * 3_600_000);
    pass(20);
    const stamp = awake - 5;
    expect(Math.abs(time.of(stamp) - (time.ms() - 5))).toBeLessThan(0.001);
  });

  it('takes no time that the process was held up for a suspension', () => {
    let held = 2_000;
    const time = new TimeSinceBoot({
      ...clocks,
      uptimeMs: () => {
        pass(held);
        held = 0;
        return clocks.uptimeMs();
      },
    });
    expect(time.ms()).toBe(awake);
    suspend(60_000);
    held = 2_000;
    expect(time.ms()).toBeLessThanOrEqual(awake);
    expect(time.ms()).toBeCloseTo(awake + 60_000, -2);
  });

  it('calls back when it is due, and soon after a suspension in which it was', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const time = new TimeSinceBoot(clocks);
      const run = async (ms: number): Promise<void> => {
        for (let at = 0; at < ms; at += 500) {
          pass(500);
          await vi.advanceTimersByTimeAsync(500);
        }
      };
      const called: string[] = [];
      time.after(1_000, () => called.push('short'));
      time.after(30_000, () => called.push('plain'));
      time.after(1_800_000, () => called.push('slept'));
      time.after(86_400_000, () => called.push('long'));
      const cancel = time.after(50_000, () => called.push('cancelled'));
      await run(1_000);
      expect(called).toEqual(['short']);
      await run(28_500);
      expect(called).toEqual(['short']);
      await run(500);
      expect(called).toEqual(['short', 'plain']);
      cancel();
      suspend(8 * 3_600_000);
      await run(10_500);
      expect(called).toEqual(['short', 'plain', 'slept']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is that of the monotonic clock in a container that is told its own uptime', () => {
    slept = -900;
    const time = new TimeSinceBoot(clocks);
    wall += 3_600_000;
    expect(time.ms()).toBe(1_000.25);
  });
});
