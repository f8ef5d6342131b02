import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { configSchema } from '../../../src/config/agent-config.ts';
import { guardLines, releasePaths } from '../../../src/firmware/guard-state.ts';
import { lostTrial, proveRelease } from '../../../src/firmware/release-trial.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import type { Vitals } from '../../../src/firmware/updater-deps.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

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
    ['no upload was acknowledged', { uploaded: false, reachable: true }, 'no upload was acknowledged within 60 minutes'],
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

describe('a trial that the journal has lost', () => {
  const paths = releasePaths('/');
  const { firmware } = configSchema.parse({ version: 1, platform: { url: 'http://127.0.0.1:1', accessToken: 'token' } });
  let disk: MemoryFiles;
  const find = (changes: object = {}) =>
    lostTrial({ kind: 'firmware', files: updateFiles(disk), paths, config: firmware, clock, runningVersion: '2.0.0', ...changes });

  beforeEach(() => {
    disk = new MemoryFiles();
    disk.put(join(paths.guard, 'trial'), guardLines({ id: 'one', version: '2.0.0', previous: '1.0.0' }));
  });

  it('is found again in what the guard knows', async () => {
    expect(await find()).toEqual({
      id: 'one',
      title: 'turnstone',
      version: '2.0.0',
      source: 'kept',
      from: '1.0.0',
      startedAtMs: clock.wallMs(),
      unanswered: 0,
      attempts: 0,
    });
  });

  it('is none of another release, none of the other kind of package, and none that was confirmed', async () => {
    expect(await find({ runningVersion: '1.0.0' })).toBeUndefined();
    expect(await find({ kind: 'software' })).toBeUndefined();
    disk.put(join(paths.firmware, 'confirmed'), 'id=another\n');
    expect(await find()).toMatchObject({ id: 'one' });
    disk.put(join(paths.firmware, 'confirmed'), 'id=one\n');
    expect(await find()).toBeUndefined();
  });
});
