import { beforeEach, describe, expect, it } from 'vitest';
import { proveRelease } from '../../../src/firmware/release-trial.ts';
import type { Vitals } from '../../../src/firmware/updater-deps.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MINUTE = 60_000;
const confirm = { healthyForMs: 5 * MINUTE, deadlineMs: 60 * MINUTE, unreachableHoldMs: 24 * 60 * MINUTE };
const well: Vitals = { uploaded: true, reachable: true };
let clock: FakeClock;
let vitals: Vitals;
let ended: unknown;
let stop: AbortController;

beforeEach(() => {
  clock = new FakeClock();
  vitals = well;
  ended = 'watches';
  stop = new AbortController();
});

/** Begins the watch; `ended` is how it came out. */
function watch(): void {
  proveRelease({ clock, config: { confirm }, vitals: () => vitals }, stop.signal).then((outcome) => {
    ended = outcome;
  });
}

async function pass(minutes: number, now: Vitals = vitals): Promise<void> {
  vitals = now;
  await clock.advance(minutes * MINUTE);
}

describe('a release on trial', () => {
  it('has proved itself after its time of health', async () => {
    watch();
    await pass(4.9);
    expect(ended).toBe('watches');
    await pass(0.2);
    expect(ended).toEqual({ event: 'healthy' });
  });

  it.each([
    ['no upload was acknowledged', { uploaded: false, reachable: true }],
    ['something is wrong with it', { ...well, fault: 'the outbox is ill' }],
  ] as const)('begins that time anew whenever %s', async (_what, unwell: Vitals) => {
    watch();
    await pass(4);
    await pass(1, unwell);
    await pass(4, well);
    expect(ended).toBe('watches');
    await pass(1.1);
    expect(ended).toEqual({ event: 'healthy' });
  });

  it('is looked at every second', async () => {
    const looks: number[] = [];
    const look = (): Vitals => {
      looks.push(clock.monotonicMs());
      return { uploaded: false, reachable: true };
    };
    const beganMs = clock.monotonicMs();
    void proveRelease({ clock, config: { confirm }, vitals: look }, stop.signal);
    await clock.advance(3_000);
    expect(looks.map((ms) => ms - beganMs)).toEqual([1_000, 2_000, 3_000]);
    stop.abort();
  });

  it('needs no platform to be in reach while it is well', async () => {
    watch();
    await pass(5.1, { uploaded: true, reachable: false });
    expect(ended).toEqual({ event: 'healthy' });
  });

  it.each([
    [
      'no upload was acknowledged',
      { uploaded: false, reachable: true },
      'no upload was acknowledged within 60 minutes',
    ],
    ['of an fault', { ...well, fault: 'the outbox is ill' }, 'the outbox is ill within 60 minutes'],
    ['of an fault out of reach', { uploaded: false, reachable: false, fault: 'no disk' }, 'no disk within 60 minutes'],
  ] as const)('is unfit at its deadline because %s', async (_why, unwell: Vitals, reason) => {
    watch();
    await pass(60, unwell);
    expect(ended).toBe('watches');
    await pass(0.1);
    expect(ended).toEqual({ event: 'unfit', reason });
  });

  it('is unfit when it is well again and again, and never for long enough', async () => {
    watch();
    for (let turn = 0; turn < 15; turn += 1) {
      await pass(3, { ...well, fault: 'now and then' });
      await pass(1, well);
    }
    expect(ended).toBe('watches');
    await pass(1, well);
    expect(ended).toEqual({ event: 'unfit', reason: 'it was never well for long enough within 60 minutes' });
  });

  it('has a day while the platform is out of reach, in which what was counted before counts too', async () => {
    watch();
    await pass(30, { uploaded: false, reachable: true });
    await pass(24 * 60 - 30, { uploaded: false, reachable: false });
    expect(ended).toBe('watches');
    await pass(0.1);
    expect(ended).toEqual({ event: 'unfit', reason: 'the platform was out of reach for 1440 minutes' });
  });

  it('is told nothing when the watch is ended from outside', async () => {
    watch();
    await pass(1);
    stop.abort();
    await clock.advance(0);
    expect(ended).toBeUndefined();
  });
});
