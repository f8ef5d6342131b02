/** Polls become as long as the server and what is between hold them, and no command comes later for it; with a virtual clock. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import { runLongPoll } from '../../../src/platform/long-poll.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { createPollLength, cutOf, pollLimits } from '../../../src/platform/poll-length.ts';
import { PollTurns } from '../../../src/platform/poll-turns.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const HOUR_MS = 3_600_000;
/** Time until TCP says that nobody is there: 25 s of silence and ten questions. */
const TCP_NOTICES_MS = 35_000;

/** What stands between the agent and its commands. */
interface Way {
  /** The server answers 503 then. */
  readonly serverCutsMs?: number;
  /** A proxy closes the connection then. */
  readonly proxyCutsMs?: number;
  /** Something drops a connection without a word when it has been silent for so long; the questions of TCP are no silence, unless told. */
  readonly dropsAfterMs?: number;
}

let clock: FakeClock;
let stop: AbortController;
let way: Way;
let asked: number[];
let stood: number[];
let gaps: number;
let came: { readonly givenMs: number; readonly tookMs: number }[];
let waiting: number[];
let wake: AbortController;
let running: Promise<void>;
let said: string[];

beforeEach(() => {
  clock = new FakeClock({ jitter: 0.5 });
  stop = new AbortController();
  wake = new AbortController();
  [asked, stood, came, waiting] = [[], [], [], []];
  gaps = 0;
  said = [];
  way = {};
});
afterEach(async () => {
  stop.abort();
  await clock.advance(0);
  await running;
});

/** Two-way: handed out again until it is answered. */
function command(): void {
  waiting.push(clock.monotonicMs());
  wake.abort();
}

async function poll(timeoutMs: number, signal: AbortSignal): Promise<number | undefined> {
  asked.push(timeoutMs);
  const startedMs = clock.monotonicMs();
  const { serverCutsMs = 1e9, proxyCutsMs = 1e9, dropsAfterMs = 1e9 } = way;
  const endMs = Math.min(timeoutMs, serverCutsMs, proxyCutsMs, dropsAfterMs);
  wake = new AbortController();
  if (waiting.length === 0) await clock.sleep(endMs, AbortSignal.any([signal, wake.signal]));
  if (signal.aborted) return undefined;
  const tookMs = clock.monotonicMs() - startedMs;
  if (tookMs >= dropsAfterMs) {
    await clock.sleep(TCP_NOTICES_MS, signal);
    throw failure({ networkCode: 'ETIMEDOUT' });
  }
  const given = waiting.shift();
  if (given !== undefined) return given;
  stood.push(tookMs);
  if (tookMs >= proxyCutsMs) throw failure({ cut: true, networkCode: 'ECONNRESET' });
  return undefined;

  function failure(details: { readonly cut?: boolean; readonly networkCode: string }): PlatformError {
    const error = new PlatformError('busy', 'cannot reach the platform', details);
    error.stoodMs = clock.monotonicMs() - startedMs;
    return error;
  }
}

function run(
  options: {
    readonly pollTimeoutMs?: number | undefined;
    readonly longestPollMs?: number | undefined;
    readonly turns?: PollTurns;
  } = {},
) {
  const { turns, ...limits } = options;
  running = runLongPoll<number>(
    {
      kind: 'rpc',
      poll,
      clock,
      log: { ...silentLog, warn: (_fields: object, words: string) => void said.push(words) },
      ...limits,
      place: turns?.place('rpc'),
      onMessage: async (givenMs) => {
        came.push({ givenMs, tookMs: clock.monotonicMs() - givenMs });
        return 'worthy';
      },
      onGap: () => {
        gaps += 1;
      },
    },
    stop.signal,
  );
}

/** A command now and then, at no regular time; returns the longest time that one took. */
async function commands(count: number): Promise<number> {
  for (let at = 0; at < count; at += 1) {
    await clock.advance(17_003 + ((at * 7_919) % 400_000));
    command();
  }
  await clock.advance(HOUR_MS);
  expect(came).toHaveLength(count);
  return Math.max(...came.map(({ tookMs }) => tookMs));
}

describe('a server that cuts at 30 s', () => {
  beforeEach(() => {
    way = { serverCutsMs: 30_000 };
    run();
  });

  it('is polled for 27 s at most, after one try', async () => {
    await clock.advance(HOUR_MS);
    expect(asked.slice(0, 2)).toEqual([22_500, 60_000]);
    expect(Math.max(...asked.slice(2))).toBeLessThanOrEqual(27_000);
    expect(Math.max(...asked.slice(2))).toBeGreaterThan(22_500);
  });

  it('is tried again once a day', async () => {
    await clock.advance(4.5 * 24 * HOUR_MS);
    expect(asked.filter((ms) => ms === 60_000)).toHaveLength(5);
  });

  it('loses no command and delays none', async () => {
    expect(await commands(100)).toBe(0);
  });
});

describe('a server that holds 300 s', () => {
  it('is polled for 240 to 300 s from the third poll on', async () => {
    run();
    await clock.advance(HOUR_MS);
    expect(asked.slice(0, 3)).toEqual([22_500, 60_000, 300_000]);
    expect(new Set(asked.slice(3))).toEqual(new Set([270_000]));
  });

  it('brings each command at once', async () => {
    run();
    expect(await commands(100)).toBe(0);
  });

  it('is polled no longer than the configuration says, without any try', async () => {
    run({ pollTimeoutMs: 20_000 });
    await clock.advance(HOUR_MS);
    expect(new Set(asked)).toEqual(new Set([18_000]));
  });

  it('is polled for a minute over a forward proxy, and for 25 s in turns', async () => {
    run(pollLimits({ proxy: 'any' }));
    await clock.advance(HOUR_MS);
    expect(Math.max(...asked)).toBe(60_000);
    stop.abort();
    await clock.advance(0);
    await running;
    stop = new AbortController();
    asked = [];
    run({ turns: new PollTurns({ clock, max: 1 }) });
    await clock.advance(HOUR_MS);
    expect(Math.max(...asked)).toBeLessThanOrEqual(25_000);
  });
});

describe('a proxy that cuts at 60 s', () => {
  beforeEach(() => {
    way = { proxyCutsMs: 60_000 };
    run();
  });

  it('is stayed below by a tenth, and no poll is cut any more', async () => {
    await clock.advance(12 * HOUR_MS);
    expect(stood.filter((ms) => ms >= 60_000).length).toBeLessThanOrEqual(2);
    expect(Math.max(...asked.slice(4))).toBeLessThanOrEqual(54_000);
    expect(Math.min(...asked.slice(4))).toBeGreaterThan(40_000);
  });

  it('tells of the gap before and after the cut, as attributes may have changed in it', async () => {
    await clock.advance(23 * HOUR_MS);
    expect(gaps).toBeGreaterThanOrEqual(2);
  });

  it('loses no command', async () => {
    expect(await commands(100)).toBeLessThanOrEqual(2_000);
  });
});

describe('a way that drops a connection silently', () => {
  beforeEach(() => {
    way = { dropsAfterMs: 40_000 };
    run();
  });

  it('is polled for 25 s again after the first loss', async () => {
    await clock.advance(12 * HOUR_MS);
    expect(asked.filter((ms) => ms > 25_000)).toEqual([60_000]);
  });

  it('delays a command by what TCP needs to notice, and a second for the back-off', async () => {
    expect(await commands(100)).toBeLessThanOrEqual(TCP_NOTICES_MS + 2_000);
  });
});

describe('a balancer that closes what is silent', () => {
  it.each([
    [4_000, {}],
    [6_000, {}],
    [9_000, {}],
    [12_000, {}],
    [12_000, { pollTimeoutMs: 20_000 }],
    [5_000, { pollTimeoutMs: 60_000 }],
  ])('after %d ms is stayed below after a few polls, with one line of what to do: %j', async (proxyCutsMs, options) => {
    way = { proxyCutsMs };
    run(options);
    await clock.advance(150_000);
    stood = [];
    await clock.advance(HOUR_MS / 2);
    expect(Math.max(...stood)).toBeLessThan(proxyCutsMs);
    expect(stood.length).toBeGreaterThan(100);
    expect(said.filter((words) => words.includes('let it wait 30 s')).length).toBeLessThanOrEqual(1);
    expect(said.length).toBeLessThanOrEqual(3);
  });

  it('is told once an hour, with the count, where no length helps', async () => {
    run();
    for (let at = 0; at < 200; at += 1) {
      // Never twice alike.
      way = { proxyCutsMs: 5_000 + (at % 2) * 4_000 };
      await clock.advance(way.proxyCutsMs as number);
      await clock.advance(1_000);
    }
    expect(said.filter((words) => words.includes('let it wait 30 s')).length).toBeLessThanOrEqual(2);
    expect(said.length).toBeLessThanOrEqual(4);
  });

  it('is asked for the length of the configuration again a day later', async () => {
    way = { proxyCutsMs: 12_000 };
    run({ pollTimeoutMs: 60_000 });
    await clock.advance(HOUR_MS);
    way = {};
    await clock.advance(25 * HOUR_MS);
    expect(asked.at(-1)).toBeGreaterThan(45_000);
  });

  it('may say that the server is late', () => {
    expect(cutOf(new PlatformError('busy', 'the platform answers 504', { status: 504 }))).toBe('closed');
    expect(cutOf(new PlatformError('busy', 'the platform answers 503', { status: 503 }))).toBeUndefined();
  });
});

describe('faults that say nothing of a limit', () => {
  it('a cut sooner than what was held ends no trying for the day', async () => {
    run();
    // The first poll stands; the try is cut at 15 s.
    await clock.advance(22_000);
    way = { proxyCutsMs: 15_000 };
    await clock.advance(20_000);
    way = {};
    await clock.advance(HOUR_MS);
    expect(stood[1]).toBe(15_000);
    expect(asked.at(-1)).toBeGreaterThanOrEqual(240_000);
  });

  it('one cut of a length that was held is a restart, two are another limit', async () => {
    run();
    await clock.advance(HOUR_MS);
    expect(asked.at(-1)).toBe(270_000);
    way = { proxyCutsMs: 100_000 };
    await clock.advance(270_000);
    await clock.advance(300_000);
    expect(asked.at(-1)).toBeLessThanOrEqual(90_000);
    expect(await commands(50)).toBeLessThanOrEqual(2_000);
  });
});

it('two restarts within a quarter of an hour do not make polls of five minutes ten seconds long for a day', async () => {
  const length = createPollLength({ clock });
  for (let polls = 0; polls < 5; polls += 1) {
    const asked = length.nextMs();
    length.ended(asked, asked);
  }
  expect(length.nextMs()).toBeGreaterThan(200_000);
  // Each restart cuts what stands: the second poll is the first after the restart, and the next restart comes before its end.
  length.cut(length.nextMs(), 12_000, 'closed');
  length.cut(length.nextMs(), 40_000, 'closed');
  await clock.advance(3_600_000);
  for (let polls = 0; polls < 20; polls += 1) {
    const asked = length.nextMs();
    length.ended(asked, asked);
  }
  expect(length.nextMs()).toBeGreaterThan(60_000);
});
