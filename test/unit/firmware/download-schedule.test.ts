import { beforeEach, describe, expect, it } from 'vitest';
import { type DownloadLimits, DownloadSchedule, WindowClosed } from '../../../src/firmware/download-schedule.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const HOUR = 3_600_000;
const never = new AbortController().signal;
let clock: FakeClock;

/** A wall clock that shows this local time of day. */
function clockAt(hours: number, minutes = 0): FakeClock {
  return new FakeClock({ wallMs: new Date(2026, 5, 15, hours, minutes).getTime() });
}

function schedule(limits: Partial<DownloadLimits> = {}, elapsedMs = 0): DownloadSchedule {
  return new DownloadSchedule({ downloadDeadlineMs: 24 * HOUR, ...limits }, clock, elapsedMs);
}

/** How an act stands, now and later. */
function follow(act: Promise<unknown>): { state: unknown } {
  const seen = { state: 'waits' as unknown };
  act.then(
    (value) => {
      seen.state = value ?? 'done';
    },
    (error: unknown) => {
      seen.state = error;
    },
  );
  return seen;
}

beforeEach(() => {
  clock = clockAt(12);
});

describe('a window of hours', () => {
  it.each([
    ['within', '11:00', '13:00', true],
    ['from its first minute', '12:00', '13:00', true],
    ['to its last', '11:00', '12:00', false],
    ['after it', '10:00', '11:59', false],
    ['before it', '12:01', '13:00', false],
    ['across midnight, in the evening', '11:30', '03:00', true],
    ['across midnight, in the morning', '22:00', '12:01', true],
    ['across midnight, in between', '22:00', '12:00', false],
    ['across midnight, before its first minute', '12:01', '03:00', false],
    ['across midnight, from its first minute', '12:00', '03:00', true],
    ['with minutes in it', '11:45', '12:10', true],
  ])('%s', async (_where, from, to, open) => {
    const waiting = follow(schedule({ hours: { from, to } }).waitForWindow(never));
    await clock.advance(0);
    expect(waiting.state).toBe(open ? 'done' : 'waits');
  });

  it('is waited for, also when the clock steps, and that time does not count', async () => {
    const limits = schedule({ hours: { from: '14:00', to: '15:00' }, downloadDeadlineMs: HOUR });
    const waiting = follow(limits.waitForWindow(never));
    await clock.advance(HOUR);
    expect(waiting.state).toBe('waits');
    clock.stepWall(HOUR);
    await clock.advance(60_000);
    expect(waiting.state).toBe('done');
    expect(limits.elapsedMs).toBe(0);
    await clock.advance(5_000);
    expect(limits.elapsedMs).toBe(5_000);
  });

  it('ends a request that is under way within a minute', async () => {
    clock = clockAt(12, 59);
    const endless = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const request = follow(schedule({ hours: { from: '12:00', to: '13:00' } }).within(endless, never));
    await clock.advance(59_999);
    expect(request.state).toBe('waits');
    await clock.advance(60_000);
    expect(request.state).toBeInstanceOf(WindowClosed);
    expect(clock.pending).toBe(0);
  });
});

describe('a deadline', () => {
  it('is over once as much time was spent, by all runs together', async () => {
    const limits = schedule({ downloadDeadlineMs: HOUR }, HOUR - 1_000);
    expect(limits.elapsedMs).toBe(HOUR - 1_000);
    await expect(limits.waitForWindow(never)).resolves.toBeUndefined();
    await clock.advance(999);
    await expect(limits.waitForWindow(never)).resolves.toBeUndefined();
    await clock.advance(1);
    await expect(limits.waitForWindow(never)).rejects.toMatchObject({
      code: 'firmware/download-deadline',
      recovery: 'drop',
    });
  });

  it('ends a request exactly then', async () => {
    const endless = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const request = follow(schedule({ downloadDeadlineMs: 90_000 }).within(endless, never));
    await clock.advance(89_999);
    expect(request.state).toBe('waits');
    await clock.advance(1);
    expect(request.state).toMatchObject({ code: 'firmware/download-deadline' });
  });

  it('leaves no timer behind a request that ends by itself', async () => {
    const limits = schedule({ downloadDeadlineMs: HOUR });
    expect(await limits.within(async () => 7, never)).toBe(7);
    await expect(limits.within(() => Promise.reject(new Error('cut')), never)).rejects.toThrow('cut');
    expect(clock.pending).toBe(0);
  });
});

describe('a caller who gives up', () => {
  it('ends the wait and the request with their own reason', async () => {
    const stop = new AbortController();
    const waiting = follow(schedule({ hours: { from: '20:00', to: '21:00' } }).waitForWindow(stop.signal));
    const request = follow(
      schedule({ downloadDeadlineMs: 60_000 }).within(
        (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        stop.signal,
      ),
    );
    stop.abort('enough');
    await clock.advance(0);
    expect([waiting.state, request.state]).toEqual(['done', 'enough']);
  });
});

describe('a rate', () => {
  it('is kept over the whole, with a second of credit after a pause and no more', async () => {
    const limits = schedule({ rateLimitBytesPerS: 1_000 });
    const times: number[] = [];
    const beganMs = clock.monotonicMs();
    const receive = async (bytes: number): Promise<void> => {
      const paid = follow(limits.pay(bytes, never));
      await clock.advance(0);
      while (paid.state === 'waits') await clock.advance(100);
      times.push(clock.monotonicMs() - beganMs);
    };
    await receive(500);
    await receive(2_000);
    await clock.advance(10_000);
    await receive(1_000);
    await receive(1_000);
    expect(times).toEqual([500, 2_500, 12_500, 13_500]);
  });

  it('is none where none is set', async () => {
    await schedule().pay(10 ** 9, never);
    expect(clock.pending).toBe(0);
  });
});
