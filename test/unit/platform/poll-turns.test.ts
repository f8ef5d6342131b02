/** Long polls of many devices in turns, with a virtual clock. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import { runLongPoll } from '../../../src/platform/long-poll.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { type PollPlace, PollTurns } from '../../../src/platform/poll-turns.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const POLL_MS = 20_000;
const MAX = 8;

let clock: FakeClock;
let turns: PollTurns;
let stop: AbortController;
let running: Promise<void>[];

beforeEach(() => {
  clock = new FakeClock({ jitter: 0 });
  turns = new PollTurns({ clock, max: MAX });
  stop = new AbortController();
  running = [];
});
afterEach(async () => {
  stop.abort();
  await clock.advance(0);
  await Promise.all(running);
  expect(turns.load('rpc')).toEqual({ standing: 0, waiting: 0 });
});

/** A device at a platform that hands a command out at once to a poll that stands, and keeps it otherwise. */
class Device {
  polls = 0;
  standing = 0;
  longestWithoutMs = 0;
  readonly waitedMs: number[] = [];
  readonly commands: { readonly givenMs: number }[] = [];
  readonly tookMs: number[] = [];
  #endedMs = clock.monotonicMs();
  #wake = new AbortController();
  readonly place: PollPlace = turns.place('rpc');

  constructor(handledWithinMs = 0) {
    running.push(
      runLongPoll(
        {
          kind: 'rpc',
          clock,
          log: silentLog,
          place: this.place,
          poll: (timeoutMs, signal) => this.#poll(timeoutMs, signal),
          onMessage: async ({ givenMs }) => {
            this.tookMs.push(clock.monotonicMs() - givenMs);
            await clock.sleep(handledWithinMs, stop.signal);
            return 'worthy';
          },
          onWaited: (waitedMs) => this.waitedMs.push(waitedMs),
        },
        stop.signal,
      ),
    );
  }

  command(): void {
    this.commands.push({ givenMs: clock.monotonicMs() });
    this.#wake.abort();
  }

  async #poll(timeoutMs: number, signal: AbortSignal): Promise<{ readonly givenMs: number } | undefined> {
    this.longestWithoutMs = Math.max(this.longestWithoutMs, clock.monotonicMs() - this.#endedMs);
    this.polls += 1;
    this.standing += 1;
    this.#wake = new AbortController();
    if (this.commands.length === 0) await clock.sleep(timeoutMs, AbortSignal.any([signal, this.#wake.signal]));
    this.standing -= 1;
    this.#endedMs = clock.monotonicMs();
    return this.commands.shift();
  }
}

function devices(count: number, handledWithinMs = 0): readonly Device[] {
  return Array.from({ length: count }, () => new Device(handledWithinMs));
}

function standing(all: readonly Device[]): number {
  return all.reduce((sum, one) => sum + one.standing, 0);
}

describe('as many devices as there are places', () => {
  it('poll all the time, and nobody waits', async () => {
    const all = devices(MAX);
    await clock.advance(10 * POLL_MS - 1);
    expect(all.map(({ polls }) => polls)).toEqual(all.map(() => 10));
    expect(all.flatMap(({ waitedMs }) => waitedMs)).toEqual([]);
    expect(turns.load('rpc')).toEqual({ standing: MAX, waiting: 0 });
  });
});

describe('more devices than places', () => {
  const COUNT = 100;
  const ROUND_MS = Math.ceil(COUNT / MAX) * POLL_MS;

  it('never has more polls standing than places, none free, and no timer for those that wait', async () => {
    const all = devices(COUNT);
    for (let at = 0; at < 300; at += 1) {
      await clock.advance(997);
      expect(standing(all)).toBe(MAX);
    }
    expect(turns.load('rpc')).toEqual({ standing: MAX, waiting: COUNT - MAX });
    // Each poll has its own end, and the time after which it counts as dead.
    expect(clock.pending).toBe(2 * MAX);
  });

  it('starves nobody, and favours nobody', async () => {
    const all = devices(COUNT);
    await clock.advance(10 * ROUND_MS);
    const polls = all.map((one) => one.polls);
    expect(Math.max(...polls) - Math.min(...polls)).toBeLessThanOrEqual(1);
    expect(Math.max(...all.map(({ longestWithoutMs }) => longestWithoutMs))).toBeLessThanOrEqual(ROUND_MS);
  });

  it('brings a command within a share of the round, whenever it is given', async () => {
    const all = devices(COUNT);
    for (let at = 0; at < 200; at += 1) {
      all[(at * 37) % COUNT]?.command();
      await clock.advance(3_001);
    }
    await clock.advance(ROUND_MS);
    const took = all.flatMap(({ tookMs }) => tookMs);
    expect(took).toHaveLength(200);
    expect(Math.max(...took)).toBeLessThanOrEqual(ROUND_MS);
  });

  it('lets a device with one command after the other go on until its turn is over, and no longer', async () => {
    const all = devices(COUNT, 100);
    const greedy = all[50] as Device;
    for (let at = 0; at < 2_000; at += 1) greedy.command();
    await clock.advance(5 * ROUND_MS);
    // At a command each 100 ms.
    expect(greedy.tookMs.length).toBeGreaterThan((4 * POLL_MS) / 100);
    expect(greedy.tookMs.length).toBeLessThanOrEqual((5 * POLL_MS) / 100);
    const others = all.filter((one) => one !== greedy);
    expect(Math.min(...others.map(({ polls }) => polls))).toBeGreaterThanOrEqual(4);
    expect(Math.max(...others.map(({ longestWithoutMs }) => longestWithoutMs))).toBeLessThanOrEqual(ROUND_MS + POLL_MS);
  });

  it('tells each how long it had no poll', async () => {
    const all = devices(MAX + 1);
    await clock.advance(POLL_MS + 1);
    expect(all.flatMap(({ waitedMs }) => waitedMs)).toEqual([POLL_MS]);
  });
});

describe('devices that cannot use their turn', () => {
  it('hold up nobody when their token is refused', async () => {
    for (let at = 0; at < MAX; at += 1) {
      const poll = async (): Promise<undefined> => {
        throw new PlatformError('unauthorised', 'no such token');
      };
      const place = turns.place('rpc');
      running.push(
        runLongPoll(
          {
            kind: 'rpc',
            clock,
            log: silentLog,
            place,
            poll,
            onMessage: async () => 'worthy' as const,
          },
          stop.signal,
        ),
      );
    }
    const others = devices(MAX);
    await clock.advance(10 * POLL_MS - 1);
    expect(Math.max(...others.map(({ longestWithoutMs }) => longestWithoutMs))).toBeLessThanOrEqual(POLL_MS);
    expect(Math.min(...others.map(({ polls }) => polls))).toBeGreaterThanOrEqual(9);
  });

  it('give it to others while they handle a message for longer than three seconds', async () => {
    const busy = devices(MAX, 15_000);
    const other = new Device();
    for (const one of busy) one.command();
    await clock.advance(2_999);
    expect([standing(busy), other.polls]).toEqual([0, 0]);
    await clock.advance(1);
    expect(other.standing).toBe(1);
  });
});

describe('a place', () => {
  const never = new AbortController().signal;
  const wish = { timeoutMs: POLL_MS };

  /** A device beside enough others that all places are taken, and one more that waits. */
  async function crowded() {
    const place = turns.place('rpc');
    const others = Array.from({ length: MAX - 1 }, () => turns.place('rpc'));
    for (const other of others) await other.enter(wish, never);
    await place.enter(wish, never);
    const waiting = turns.place('rpc');
    const granted = waiting.enter(wish, stop.signal);
    const leaveAll = async (): Promise<void> => {
      stop.abort();
      await granted;
      for (const one of [place, waiting, ...others]) one.leave();
    };
    return { place, others, waiting, granted, leaveAll };
  }

  it('is kept while the turn lasts, and then goes to the one that waits longest', async () => {
    const { place, others, granted, leaveAll } = await crowded();
    const late = turns.place('rpc');
    const lateGranted = late.enter(wish, stop.signal);
    await clock.advance(1_000);
    expect(await place.enter(wish, never)).toEqual({ timeoutMs: POLL_MS - 1_000, waitedMs: 0 });
    await clock.advance(POLL_MS - 2_000);
    const again = place.enter(wish, stop.signal);
    expect(await granted).toEqual({ timeoutMs: POLL_MS, waitedMs: POLL_MS - 1_000 });
    expect(turns.load('rpc').waiting).toBe(2);
    others[0]?.leave();
    expect(await lateGranted).toMatchObject({ timeoutMs: POLL_MS });
    late.leave();
    expect(await again).toMatchObject({ timeoutMs: POLL_MS });
    await leaveAll();
  });

  it('is got back before others who wait by the device that left it, while its turn lasts', async () => {
    const { place, others, granted, leaveAll } = await crowded();
    const late = turns.place('rpc').enter(wish, stop.signal);
    await clock.advance(1_000);
    place.leave();
    expect(await granted).toEqual({ timeoutMs: POLL_MS, waitedMs: 1_000 });
    const again = place.enter(wish, never);
    await clock.advance(500);
    others[0]?.leave();
    expect(await again).toEqual({ timeoutMs: POLL_MS - 1_500, waitedMs: 500 });
    expect(turns.load('rpc').waiting).toBe(1);
    await leaveAll();
    expect(await late).toBeUndefined();
  });

  it('is kept beyond the turn for an outcome that is under way, for ten seconds', async () => {
    const { place, waiting, granted, leaveAll } = await crowded();
    await clock.advance(POLL_MS + 9_999);
    expect(await place.enter({ ...wish, isUnderWay: true }, never)).toEqual({ timeoutMs: 2_000, waitedMs: 0 });
    expect(turns.load('rpc').waiting).toBe(1);
    await clock.advance(1);
    const over = place.enter({ ...wish, isUnderWay: true }, stop.signal);
    expect(await granted).toMatchObject({ timeoutMs: POLL_MS });
    await leaveAll();
    waiting.leave();
    expect(await over).toBeUndefined();
  });

  it('is not given to who has gone, nor to who comes after the end', async () => {
    const { place, granted, leaveAll } = await crowded();
    stop.abort();
    expect(await granted).toBeUndefined();
    place.leave();
    expect(turns.load('rpc')).toEqual({ standing: MAX - 1, waiting: 0 });
    expect(await place.enter(wish, stop.signal)).toBeUndefined();
    place.leave();
    expect(turns.load('rpc').standing).toBe(MAX - 1);
    await leaveAll();
  });

  it('is counted by the kind of poll', async () => {
    const { leaveAll } = await crowded();
    const other = turns.place('attributes');
    expect(await other.enter(wish, never)).toEqual({ timeoutMs: POLL_MS, waitedMs: 0 });
    other.leave();
    await leaveAll();
  });
});
