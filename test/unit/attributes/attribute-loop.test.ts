import { beforeEach, describe, expect, it } from 'vitest';
import { AppliedValues } from '../../../src/attributes/applied-values.ts';
import { runAttributeLoop } from '../../../src/attributes/attribute-loop.ts';
import { ClientAttributes } from '../../../src/attributes/client-attributes.ts';
import { SharedAttributes } from '../../../src/attributes/shared-attributes.ts';
import { settingTarget } from '../../../src/attributes/shared-target.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { AttributeAnswer, AttributeUpdate } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const busy = new AgentError('platform/busy', 'busy', { recovery: 'retry' });
const refused = new AgentError('platform/refused', 'refused', { recovery: 'drop' });
const PERIOD_MS = 300_000;

let clock: FakeClock;
let stop: AbortController;
let level: JsonValue;
let canBeSet: boolean;
let client: ClientAttributes;

/** A platform with the manners of the real one: a change between two polls is never told. */
class Platform {
  shared: Record<string, JsonValue> = {};
  client: Record<string, JsonValue> = {};
  reads: { readonly atMs: number; readonly clientKeys: readonly string[] }[] = [];
  polls = 0;
  posts: JsonObject[] = [];
  down = false;
  wakesAtOnce = false;
  refusedKey = '';
  /** Limit of data points in a second; nobody is told of it. */
  maxPoints = Number.POSITIVE_INFINITY;
  #points = { since: 0, taken: 0 };
  #wake: ((update: AttributeUpdate | 'cut') => void) | undefined;

  set(key: string, value: JsonValue): void {
    this.shared[key] = value;
    this.#wake?.({ changed: {}, deleted: [] });
  }

  /** Saved at the platform, with whatever value. */
  save(key: string, value: JsonValue): void {
    this.shared[key] = value;
    this.#wake?.({ changed: { [key]: value }, deleted: [] });
  }

  /** Changed while no poll stood, or by a backend that lost the notice. */
  setSilently(key: string, value: JsonValue): void {
    this.shared[key] = value;
  }

  cut(): void {
    this.#wake?.('cut');
  }

  async pollAttributes(timeoutMs: number, signal: AbortSignal): Promise<AttributeUpdate | undefined> {
    this.polls += 1;
    if (this.down) throw busy;
    if (this.wakesAtOnce) return { changed: { level: 1 }, deleted: [] };
    const woken = new Promise<AttributeUpdate | 'cut' | undefined>((resolve) => {
      this.#wake = resolve;
      void clock.sleep(timeoutMs, signal).then(() => resolve(undefined));
    });
    const update = await woken;
    this.#wake = undefined;
    if (update === 'cut') throw busy;
    return update;
  }

  async getAttributes(keys: {
    readonly clientKeys?: readonly string[];
    readonly sharedKeys?: readonly string[];
  }): Promise<AttributeAnswer> {
    this.reads.push({ atMs: clock.monotonicMs(), clientKeys: keys.clientKeys ?? [] });
    if (this.down) throw busy;
    const of = (scope: Record<string, JsonValue>, asked: readonly string[] = []): JsonObject =>
      Object.fromEntries(asked.filter((key) => Object.hasOwn(scope, key)).map((key) => [key, scope[key] as JsonValue]));
    const answer = { client: of(this.client, keys.clientKeys), shared: of(this.shared, keys.sharedKeys) };
    return { ...answer, empty: Object.keys(answer.client).length + Object.keys(answer.shared).length === 0 };
  }

  async postAttributes(attributes: JsonObject): Promise<void> {
    this.posts.push(attributes);
    if (this.down) throw busy;
    if (clock.monotonicMs() - this.#points.since >= 1_000) this.#points = { since: clock.monotonicMs(), taken: 0 };
    this.#points.taken += Object.keys(attributes).length;
    if (this.#points.taken > this.maxPoints) throw new PlatformError('busy', 'it answered 500', { status: 500 });
    if (Object.hasOwn(attributes, this.refusedKey)) throw refused;
    for (const [key, value] of Object.entries(attributes)) this.client[key] = value === '007' ? 7 : (value ?? null);
  }
}

/** When it was tried; each try fails after 5 s, as hardware does that gives no answer in time. */
let tries: number[];
async function answersLate(): Promise<void> {
  tries.push(clock.monotonicMs());
  await clock.sleep(5_000, stop.signal);
  throw new AgentError('actuators/deadline-passed', 'slow did not answer within 5000 ms', { recovery: 'retry' });
}

let platform: Platform;
let ask: () => void;
let periodMs: number;

async function start(): Promise<void> {
  client = new ClientAttributes({ deviceApi: platform, clock, log: silentLog });
  client.report({ agentVersion: '1.0.0' });
  const file = new StateFile({
    path: '/nonexistent/shared.json',
    format: 'x',
    version: 1,
    log: silentLog,
    files: new MemoryFiles(),
    clock,
  });
  const setting = settingTarget({
    key: 'level',
    shape: { type: 'integer', minimum: 0, maximum: 100_000 },
    apply: (value) => {
      level = value ?? 0;
    },
  });
  const applied = await AppliedValues.open(file);
  const isOff = { restored: false, switchesOff: (value: JsonValue) => value === 0 };
  const hangs = { ...settingTarget({ key: 'hangs', shape: {}, apply: () => new Promise(() => {}) }), ...isOff };
  const slow = { ...settingTarget({ key: 'slow', shape: {}, apply: answersLate }), ...isOff };
  const deps = {
    targets: () => [hangs, slow, setting],
    applied,
    firmwareKeys: [],
    onFirmwareOffer: () => {},
    onChange: () => {},
    log: silentLog,
  };
  const shared = await SharedAttributes.open(deps, stop.signal);
  const onQuiet = (asking: () => void): (() => void) => {
    ask = asking;
    return () => (ask = () => {});
  };
  const loop = {
    deviceApi: platform,
    shared,
    client,
    clock,
    log: silentLog,
    readBackPeriodMs: 3_600_000,
    onQuiet,
    canBeSet: () => canBeSet,
  };
  void runAttributeLoop({ ...loop, reconcilePeriodMs: () => periodMs }, stop.signal);
  void client.run(stop.signal);
  await clock.advance(0);
}

beforeEach(() => {
  clock = new FakeClock({ monotonicMs: 1_000_000 });
  stop = new AbortController();
  level = 0;
  periodMs = PERIOD_MS;
  canBeSet = true;
  platform = new Platform();
  tries = [];
});

describe('where nothing can be set by shared attributes', () => {
  it('none is waited for, and what the device says of itself is still read back', async () => {
    canBeSet = false;
    await start();
    await clock.advance(PERIOD_MS);
    expect(platform.polls).toBe(0);
    expect(platform.reads.length).toBeGreaterThan(0);
  });
});

describe('the attribute loop', () => {
  it('reads at start, and after every wake-up', async () => {
    platform.setSilently('level', 1);
    await start();
    expect(level).toBe(1);
    await clock.advance(5_000);
    platform.set('level', 2);
    await clock.advance(300);
    expect(level).toBe(2);
  });

  it('takes a value that is saved again for a wish, and the same value read again for none', async () => {
    platform.setSilently('level', 1);
    await start();
    level = 0;
    await clock.advance(2 * PERIOD_MS);
    expect(level).toBe(0);
    platform.save('level', 1);
    await clock.advance(300);
    expect(level).toBe(1);
  });

  it('takes up what is wished while hardware hangs', async () => {
    await start();
    platform.set('hangs', 1);
    await clock.advance(5_000);
    platform.set('level', 2);
    await clock.advance(300);
    expect(level).toBe(2);
  });

  it.each([
    ['alone', {}],
    ['beside another that hangs', { hangs: 0 }],
  ])(
    'tries again soon what fails only long after it was read, each time after the last has ended, %s',
    async (_where, others) => {
      await start();
      await clock.advance(60_000);
      Object.assign(platform.shared, others);
      platform.set('slow', 0);
      await clock.advance(30_000);
      const gaps = tries.slice(1).map((atMs, n) => atMs - (tries[n] as number));
      expect(tries.length).toBeGreaterThanOrEqual(5);
      for (const gapMs of gaps) expect([gapMs >= 5_000, gapMs <= 6_500]).toEqual([true, true]);
    },
  );

  it('finds what changed between a wake-up and the next poll by a second read', async () => {
    await start();
    await clock.advance(5_000);
    platform.set('level', 2);
    await clock.advance(500);
    platform.setSilently('level', 3);
    await clock.advance(1_500);
    expect(level).toBe(3);
  });

  it('finds what was never told within one period', async () => {
    await start();
    await clock.advance(5_000);
    platform.setSilently('level', 4);
    await clock.advance(PERIOD_MS);
    expect(level).toBe(4);
  });

  it('reads again after a poll was cut, and as soon as the platform is back', async () => {
    await start();
    await clock.advance(5_000);
    platform.setSilently('level', 5);
    platform.cut();
    await clock.advance(2_000);
    expect(level).toBe(5);
    platform.down = true;
    platform.cut();
    await clock.advance(600_000);
    platform.setSilently('level', 6);
    platform.down = false;
    await clock.advance(61_000);
    expect(level).toBe(6);
  });

  it('reads again soon after a read that failed by itself, while the polls stand', async () => {
    await start();
    await clock.advance(10_000);
    const read = platform.getAttributes.bind(platform);
    let isFailed = false;
    platform.getAttributes = async () => {
      isFailed = true;
      platform.getAttributes = read;
      throw busy;
    };
    while (!isFailed) await clock.advance(1_000);
    platform.setSilently('level', 5);
    await clock.advance(2_000);
    expect(level).toBe(5);
  });

  it('reads again within half of a short period, however long the platform was gone', async () => {
    periodMs = 5_000;
    await start();
    platform.down = true;
    platform.cut();
    await clock.advance(600_000);
    platform.setSilently('level', 7);
    const failed = platform.reads.length;
    while (platform.reads.length === failed) await clock.advance(10);
    platform.down = false;
    await clock.advance(periodMs / 2);
    expect(level).toBe(7);
  });

  it('reads twice in a period for a minute after a failed read, as the next may have to wait for its turn', async () => {
    periodMs = 5_000;
    await start();
    platform.down = true;
    await clock.advance(periodMs);
    platform.down = false;
    await clock.advance(periodMs);
    const readsIn = async (ms: number): Promise<number> => {
      const before = platform.reads.length;
      await clock.advance(ms);
      return platform.reads.length - before;
    };
    expect(await readsIn(40_000)).toBeGreaterThanOrEqual(16);
    await clock.advance(30_000);
    expect(await readsIn(45_000)).toBeLessThanOrEqual(11);
  });

  it('reads when somebody needs to know whether the platform is there, also in the time after a failed read', async () => {
    await start();
    await clock.advance(60_000);
    const before = platform.reads.length;
    ask();
    await clock.advance(10);
    expect(platform.reads.length).toBe(before + 1);
    platform.down = true;
    await clock.advance(600_000);
    const times = platform.reads.map(({ atMs }) => atMs);
    expect((times.at(-1) ?? 0) - (times.at(-2) ?? 0)).toBeGreaterThan(20_000);
    await clock.advance(1_000);
    const failed = platform.reads.length;
    ask();
    await clock.advance(10);
    expect(platform.reads.length).toBe(failed + 1);
  });

  it('keeps to the time that the platform asks for, whoever needs to know', async () => {
    await start();
    platform.getAttributes = async () => {
      platform.reads.push({ atMs: clock.monotonicMs(), clientKeys: [] });
      throw new PlatformError('busy', 'slow down', { status: 429, retryAfterMs: 120_000 });
    };
    await clock.advance(PERIOD_MS);
    const failed = platform.reads.length;
    const failedAtMs = platform.reads.at(-1)?.atMs ?? 0;
    while (clock.monotonicMs() < failedAtMs + 119_000) {
      await clock.advance(1_000);
      ask();
    }
    expect(platform.reads.length).toBe(failed);
    await clock.advance(2_000);
    expect(platform.reads.length).toBe(failed + 1);
  });

  it('keeps everything on an empty answer, and takes a missing key in another answer for deleted', async () => {
    platform.setSilently('level', 7);
    await start();
    await clock.advance(5_000);
    platform.shared = {};
    platform.client = {};
    await clock.advance(PERIOD_MS);
    expect(level).toBe(7);
    platform.client = { agentVersion: '1.0.0' };
    await clock.advance(PERIOD_MS);
    expect(level).toBe(0);
  });

  it('agrees with the platform within one period after any run of changes and cuts', async () => {
    await start();
    let seed = 42;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    for (let change = 1; change <= 200; change += 1) {
      await clock.advance(random(20_000));
      if (random(3) === 0) platform.setSilently('level', change);
      else platform.set('level', change);
      if (random(4) === 0) platform.cut();
      if (change % 20 !== 0) continue;
      await clock.advance(PERIOD_MS);
      expect(level).toBe(change);
    }
  });

  it('slows down for a platform that answers now with a fault and now with something else', async () => {
    await start();
    await clock.advance(60_000);
    platform.wakesAtOnce = true;
    const { reads } = platform;
    const [readsBefore, pollsBefore] = [reads.length, platform.polls];
    let turns = 0;
    const { getAttributes, pollAttributes } = platform;
    platform.getAttributes = (keys) => {
      turns += 1;
      platform.shared.level = turns;
      platform.down = turns % 2 === 0;
      return getAttributes.call(platform, keys);
    };
    platform.pollAttributes = (timeoutMs, signal) => {
      turns += 1;
      platform.down = turns % 2 === 0;
      return pollAttributes.call(platform, timeoutMs, signal);
    };
    await clock.advance(300_000);
    expect(reads.length - readsBefore).toBeLessThan(40);
    expect(platform.polls - pollsBefore).toBeLessThan(60);
  });

  it('slows down for a platform that wakes it without end and without news', async () => {
    await start();
    platform.wakesAtOnce = true;
    platform.cut();
    await clock.advance(60_000);
    expect(platform.polls).toBeLessThan(60);
    expect(platform.reads.length).toBeLessThan(80);
    const before = platform.polls;
    await clock.advance(60_000);
    expect(platform.polls - before).toBeLessThan(15);
  });

  it('asks a platform that wakes at once, and has another value at each read, far less than twenty times a second', async () => {
    await start();
    const { getAttributes } = platform;
    platform.getAttributes = (keys) => {
      platform.shared.level = platform.reads.length;
      return getAttributes.call(platform, keys);
    };
    platform.wakesAtOnce = true;
    platform.cut();
    await clock.advance(60_000);
    expect((platform.reads.length + platform.polls) / 60).toBeLessThan(15);
    // It is read as often as before, so that no change waits.
    expect(platform.reads.length / 60).toBeGreaterThan(2);
  });
});

describe('client attributes', () => {
  it('are sent when they change, together, and not when they do not', async () => {
    await start();
    await clock.advance(5_000);
    client.report({ relayState: true });
    client.report({ relayState: false, periodS: 5 });
    await clock.advance(5_000);
    client.report({ relayState: false });
    await clock.advance(5_000);
    expect(platform.posts).toEqual([{ agentVersion: '1.0.0' }, { relayState: false, periodS: 5 }]);
  });

  it('go out within 50 ms, and at most once a second', async () => {
    await start();
    await clock.advance(5_000);
    platform.posts.length = 0;
    client.report({ n: 0 });
    await clock.advance(50);
    expect(platform.posts).toEqual([{ n: 0 }]);
    for (let n = 1; n <= 100; n += 1) {
      client.report({ n });
      await clock.advance(100);
    }
    await clock.advance(1_000);
    expect(platform.posts.length).toBeLessThanOrEqual(12);
    expect(platform.client.n).toBe(100);
  });

  it('are sent when the platform is back, the newest value of each', async () => {
    platform.down = true;
    await start();
    client.report({ n: 1 });
    await clock.advance(100_000);
    client.report({ n: 2 });
    platform.down = false;
    await clock.advance(61_000);
    expect(platform.client).toEqual({ agentVersion: '1.0.0', n: 2 });
  });

  it('are healed when the platform holds something else or nothing, but not without end', async () => {
    await start();
    client.report({ a: 1, b: 2, serial: '007' });
    await clock.advance(5_000);
    platform.client = { a: 5, serial: 7 };
    await clock.advance(3_600_000 + PERIOD_MS);
    expect(platform.client).toEqual({ agentVersion: '1.0.0', a: 1, b: 2, serial: 7 });
    const sent = platform.posts.length;
    await clock.advance(5 * 3_600_000);
    expect(platform.posts.length).toBe(sent);
  });

  it('go in halves when one of them is refused', async () => {
    platform.refusedKey = 'bad';
    await start();
    client.report({ good: 1, bad: 2, nothing: null, noNumber: Number.NaN });
    await clock.advance(2_000);
    expect(platform.client).toEqual({ agentVersion: '1.0.0', good: 1 });
    expect(platform.posts.length).toBe(5);
  });

  it('go in pieces to a platform that takes only so many at once', async () => {
    platform.maxPoints = 20;
    await start();
    client.report(Object.fromEntries(Array.from({ length: 200 }, (_none, at) => [`key${at}`, at])));
    await clock.advance(120_000);
    expect(Object.keys(platform.client).length).toBe(201);
    expect(platform.posts.length).toBeLessThan(60);
    // A change is not held up by those before it.
    client.report({ relayState: true });
    await clock.advance(1_100);
    expect(platform.client.relayState).toBe(true);
  });

  it('are found out by few posts, however many there are', async () => {
    platform.refusedKey = 'bad';
    await start();
    client.report({ ...Object.fromEntries(Array.from({ length: 62 }, (_none, at) => [`key${at}`, at])), bad: 2 });
    await clock.advance(2_000);
    expect(Object.keys(platform.client).length).toBe(63);
    expect(platform.posts.length).toBeLessThanOrEqual(13);
  });
});
