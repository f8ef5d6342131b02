import { beforeEach, describe, expect, it } from 'vitest';
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

  it('is that of the monotonic clock in a container that is told its own uptime', () => {
    slept = -900;
    const time = new TimeSinceBoot(clocks);
    wall += 3_600_000;
    expect(time.ms()).toBe(1_000.25);
  });
});
