import { beforeEach, describe, expect, it } from 'vitest';
import { AppliedValues } from '../../../src/attributes/applied-values.ts';
import { runAttributeLoop } from '../../../src/attributes/attribute-loop.ts';
import { ClientAttributes } from '../../../src/attributes/client-attributes.ts';
import { SharedAttributes } from '../../../src/attributes/shared-attributes.ts';
import { settingTarget } from '../../../src/attributes/shared-target.ts';
import { AgentError } from '../../../src/errors.ts';
import type { JsonObject, JsonValue } from '../../../src/host/json.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/host/state-file.ts';
import type { AttributeAnswer, AttributeUpdate } from '../../../src/platform/device-api.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const busy = new AgentError('platform/busy', 'busy', { recovery: 'retry' });
const refused = new AgentError('platform/refused', 'refused', { recovery: 'drop' });
const PERIOD_MS = 300_000;

let clock: FakeClock;
let stop: AbortController;
let level: JsonValue;
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
  #wake: ((update: AttributeUpdate | 'cut') => void) | undefined;

  set(key: string, value: JsonValue): void {
    this.shared[key] = value;
    this.#wake?.({ changed: {}, deleted: [] });
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
    if (Object.hasOwn(attributes, this.refusedKey)) throw refused;
    for (const [key, value] of Object.entries(attributes)) this.client[key] = value === '007' ? 7 : value;
  }
}

let platform: Platform;

async function start(): Promise<void> {
  client = new ClientAttributes({ deviceApi: platform, clock, log: silentLog, random: () => 0.5 });
  client.report({ agentVersion: '1.0.0' });
  const file = new StateFile({ path: '/nonexistent/shared.json', format: 'x', version: 1, log: silentLog, write: async () => {} });
  const setting = settingTarget({
    ...{ key: 'level', shape: { type: 'integer', minimum: 0, maximum: 100_000 }, effective: () => level },
    apply: (value) => {
      level = value ?? 0;
    },
  });
  const applied = await AppliedValues.open(file);
  const deps = { targets: () => [setting], applied, firmwareKeys: [], onFirmwareOffer: () => {}, onChange: () => {}, log: silentLog };
  const shared = await SharedAttributes.open(deps, stop.signal);
  const loop = { deviceApi: platform, shared, client, clock, log: silentLog, random: () => 0.5, readBackPeriodMs: 3_600_000 };
  void runAttributeLoop({ ...loop, reconcilePeriodMs: () => PERIOD_MS }, stop.signal);
  void client.run(stop.signal);
  await clock.advance(0);
}

beforeEach(() => {
  clock = new FakeClock({ monotonicMs: 1_000_000 });
  stop = new AbortController();
  level = 0;
  platform = new Platform();
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

  it('are sent one by one when one of them is refused', async () => {
    platform.refusedKey = 'bad';
    await start();
    client.report({ good: 1, bad: 2, nothing: null, noNumber: Number.NaN });
    await clock.advance(60_000);
    expect(platform.client).toEqual({ agentVersion: '1.0.0', good: 1 });
    expect(platform.posts.length).toBe(4);
  });
});
