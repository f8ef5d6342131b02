import { beforeEach, describe, expect, it } from 'vitest';
import { type AgentConfig, configSchema } from '../../../src/config/schema/agent-config.ts';
import { platformSchema } from '../../../src/config/schema/platform.ts';
import { silentLog } from '../../../src/host/log.ts';
import { TimeSync } from '../../../src/host/time-sync.ts';
import type { TelemetryEntry } from '../../../src/outbox/format/telemetry-entry.ts';
import { openOutbox } from '../../../src/outbox/open-outbox.ts';
import type { TelemetryRows, UploadAnswer } from '../../../src/platform/device-api.ts';
import { TelemetryPath, type TelemetryPathDeps } from '../../../src/telemetry/telemetry-path.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { NO_LIMITS } from '../../support/outbox-fixture.ts';

const TANK = {
  name: 'tank',
  kind: 'command',
  program: '/bin/cat',
  format: 'json',
  period: '1s',
  keys: { raw: { rename: 'level', alarms: [{ above: 1 }] }, internal: { report: false } },
};
const configOf = (...sensors: object[]): AgentConfig =>
  configSchema.parse({
    version: 1,
    platform: { url: 'http://platform', accessToken: 'secret-token' },
    stateFolder: '/state',
    sensors,
  });

let files: MemoryFiles;
let clock: FakeClock;
let config: AgentConfig;
beforeEach(() => {
  config = configOf();
  files = new MemoryFiles();
  clock = new FakeClock();
  answer = { kind: 'accepted' };
});

let said: string[];
let posted: string[];
let answer: UploadAnswer;

async function open(deps: Pick<TelemetryPathDeps, 'observe' | 'slots'> = {}): Promise<TelemetryPath> {
  const timeSync = new TimeSync({ clock, policy: 'always', ask: async () => false });
  await timeSync.start();
  said = [];
  posted = [];
  const postTelemetry = async ({ keys }: TelemetryRows): Promise<UploadAnswer> => {
    posted.push(...keys);
    return answer;
  };
  const shared = { stateFolder: '/state', clock, files, log: silentLog, timeSync };
  return TelemetryPath.open({
    ...deps,
    config: () => config,
    clock,
    files,
    log: silentLog,
    openOutbox: () =>
      openOutbox({ ...shared, config: config.outbox, expectFolder: async () => {} }, new AbortController().signal),
    clients: { renamedEntries: 0 },
    link: () => ({ history: true, present: true, waitMs: 0 }),
    deviceApi: { postTelemetry, prepareTelemetry: () => {} },
    onDurable: (entries) =>
      said.push(...entries.map(({ key, value, class: entryClass }) => `${key} ${String(value)} ${entryClass}`)),
  });
}

/** A life of the path with what is told in it; resolves with what its entries said, in order. */
async function life(tell: (path: TelemetryPath) => void): Promise<string[]> {
  const path = await open();
  tell(path);
  await path.drainAndClose(AbortSignal.abort());
  return said;
}

/** Lets time pass, and what waits for files go on. */
async function pass(seconds: number): Promise<void> {
  for (let tenth = 0; tenth < seconds * 10; tenth += 1) {
    await clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('a stop sends what the disk has, and what waits in memory as the disk takes nothing any more', async () => {
  const path = await open();
  const kept = path.append([entryOf('kept', 'regular')]);
  await pass(10);
  await kept;
  files.faults = { delay: (operation) => (operation === 'write' ? new Promise<never>(() => {}) : undefined) };
  void path.append([entryOf('door', 'regular'), entryOf('fire', 'alarm')]);
  const closed = path.drainAndClose(new AbortController().signal);
  await pass(9);
  expect(posted.sort()).toEqual(['door', 'fire', 'kept']);
  files.faults = {};
  closed.catch(() => {});
});

it.each([
  ['15s', ['a', 'b', 'b']],
  ['0s', ['a', 'b']],
])(
  'a restart of the platform has what it acknowledged in the last %s sent once more, and counted as re-sent',
  async (resendWindow, sent) => {
    config = {
      ...config,
      platform: { ...config.platform, ...platformSchema.parse({ url: 'http://platform', resendWindow }) },
    };
    const path = await open();
    for (const key of ['a', 'b']) {
      void path.append([entryOf(key, 'alarm')]);
      await pass(1);
      await path.uploader.drain(new AbortController().signal);
      await pass(16);
    }
    path.platformRestarted(clock.monotonicMs() - 10_000);
    await path.uploader.drain(new AbortController().signal);
    expect([posted, path.outbox.status().resent]).toEqual([sent, sent.length - 2]);
  },
);

it('a lost contact has what arrived before it written, of every outbox', async () => {
  let asked = 0;
  const ofDevices = {
    keepRecord: () => {
      asked += 1;
    },
    resendRecent: () => {},
  };
  const outbox = { append: async () => {}, take: () => {} };
  const path = await open({ slots: { idOf: () => 'self', observe: () => {}, outbox, outboxes: [ofDevices] } });
  for (const key of ['first', 'before', 'after']) {
    const arrived = path.append([entryOf(key, 'regular')]);
    await pass(1);
    await path.uploader.drain(new AbortController().signal);
    await arrived;
    if (key === 'before') path.contactLost();
    await pass(1);
  }
  files.cutPower(() => false);
  const again = await open();
  const kept: string[] = [];
  for await (const { key } of again.outbox.read({}, new AbortController().signal)) kept.push(key);
  await again.uploader.drain(new AbortController().signal);
  expect([kept, posted, asked]).toEqual([['first', 'before'], [], 1]);
});

it('a change that waits for its interval keeps its time through a step of the clock', async () => {
  config = configOf({ ...TANK, keys: { '*': { minInterval: '1m' } } });
  const path = await open();
  path.configured(new Set(['tank']));
  const take = (value: number): void =>
    void path.take([{ sensor: 'tank', key: 'raw', value, bootId: clock.bootId, monotonicMs: clock.monotonicMs() }]);
  take(1);
  await pass(10);
  const takenMs = clock.wallMs();
  take(2);
  await clock.advance(10);
  clock.stepWall(300_000);
  await pass(60);
  const batch = await path.outbox.peek('live', NO_LIMITS);
  expect([...(batch?.entries ?? [])].filter(({ value }) => value === 2).map(({ ts }) => ts)).toEqual([takenMs]);
});

it('a stop keeps a change that waits for its interval', async () => {
  config = configOf({ ...TANK, keys: { '*': { minInterval: '1m' } } });
  const kept = await life((path) => {
    path.configured(new Set(['tank']));
    for (const value of [1, 2, 3])
      path.take([{ sensor: 'tank', key: 'raw', value, bootId: clock.bootId, monotonicMs: clock.monotonicMs() }]);
  });
  expect(kept).toEqual(['raw 1 regular', 'raw 3 regular']);
});

describe("a sensor's state", () => {
  it('that was failing is said to be over by the next life, as an alarm', async () => {
    expect(await life((path) => path.reportSensor('roof', 'failing: wire off', true))).toEqual([
      'roof_state failing: wire off alarm',
    ]);
    expect(await life((path) => path.reportSensor('roof', 'working', false))).toEqual(['roof_state working alarm']);
    expect(await life((path) => path.reportSensor('roof', 'working', false))).toEqual(['roof_state working regular']);
  });

  it('is over when the sensor was taken out of the configuration', async () => {
    await life((path) => path.reportSensor('roof', 'failing: wire off', true));
    expect(await life((path) => path.configured(new Set(['roof'])))).toEqual([]);
    expect(await life((path) => path.configured(new Set()))).toEqual(['roof_state removed alarm']);
    expect(await life((path) => path.configured(new Set()))).toEqual([]);
  });
});

describe('an alarm of a reading', () => {
  const PLC = {
    name: 'plc',
    kind: 'modbus',
    connection: { transport: 'tcp', host: 'plc' },
    unitId: 1,
    period: '1s',
    keys: { '*': { alarms: [{ above: 5 }] } },
  };
  const level = { table: 'holding', address: 0, type: 'uint16' };
  const window = { length: '1m', statistics: ['mean', 'max'] };
  const mean = { length: '1m', statistics: ['mean'] };

  it.each([
    ['its register', { registers: { level, pressure: level } }, { registers: { level } }, 'pressure'],
    ['its statistic', { registers: { level }, window }, { registers: { level }, window: mean }, 'level_max'],
    ['its window', { registers: { level }, window }, { registers: { level } }, 'level_max'],
  ])(
    'is over when %s was taken out of the configuration, and is raised anew when it is back',
    async (_what, before, after, key) => {
      const high = () => [{ sensor: 'plc', key, value: 9, bootId: clock.bootId, monotonicMs: clock.monotonicMs() }];
      const configure = (path: TelemetryPath, sensor: object): void => {
        config = configOf({ ...PLC, ...sensor });
        path.configured(new Set(['plc']));
      };
      const raise = (path: TelemetryPath): void => {
        configure(path, before);
        path.take(high());
      };
      const raised = [`${key} 9 alarm`, `${key}_alarm above 5 alarm`];
      const over = `${key}_alarm removed alarm`;
      expect(await life(raise)).toEqual(raised);
      expect(await life((path) => configure(path, after))).toEqual([over]);
      const inOneLife = (path: TelemetryPath): void => {
        raise(path);
        configure(path, before);
        configure(path, after);
        raise(path);
      };
      expect(await life(inOneLife)).toEqual([...raised, over, ...raised]);
    },
  );
});

describe('what a window holds that a reload ends', () => {
  const window = { length: '1m', statistics: ['mean', 'last'] };
  const { internal: _, ...others } = TANK.keys;

  it.each<[string, object, string[]]>([
    ['its window is taken out', TANK, ['level_mean 2 regular']],
    ['its statistic is', { ...TANK, window: { length: '1m', statistics: ['last'] } }, ['level_mean 2 regular']],
    [
      'another key is reported from now on',
      { ...TANK, window, keys: { ...others, '*': {} } },
      ['level_mean 2 alarm', 'level_mean_alarm above 1 alarm'],
    ],
  ])('goes by the rules that its reading had, when %s', async (_what, next, expected) => {
    config = configOf({ ...TANK, window });
    const path = await open();
    path.configured(new Set(['tank']));
    config = configOf(next);
    path.configured(new Set(['tank']));
    const now = { sensor: 'tank', bootId: clock.bootId, monotonicMs: clock.monotonicMs() };
    path.take(['raw_mean', 'internal_mean'].map((key) => ({ ...now, key, value: 2 })));
    await pass(1);
    expect(said).toEqual(expected);
    await path.drainAndClose(AbortSignal.abort());
  });

  it('is kept of all sensors that one reload takes out, however many', async () => {
    const sensors = Array.from({ length: 150 }, (_, at) => ({ ...TANK, name: `tank${at}`, window, keys: {} }));
    config = configOf(...sensors);
    const path = await open();
    path.configured(new Set(sensors.map(({ name }) => name)));
    config = configOf();
    path.configured(new Set());
    await pass(5);
    path.take(
      sensors.map(({ name }) => ({ sensor: name, key: 'raw_mean', value: 7, bootId: clock.bootId, monotonicMs: 0 })),
    );
    await pass(1);
    expect(said).toHaveLength(150);
    await path.drainAndClose(AbortSignal.abort());
  });

  it('does not bind what the sensor gives from then on', async () => {
    config = configOf({ ...TANK, window });
    const path = await open();
    path.configured(new Set(['tank']));
    config = configOf({ ...TANK, keys: {} });
    path.configured(new Set(['tank']));
    await pass(1);
    path.take([{ sensor: 'tank', key: 'raw_mean', value: 7, bootId: clock.bootId, monotonicMs: clock.monotonicMs() }]);
    await pass(1);
    expect(said).toEqual(['raw_mean 7 regular']);
    await path.drainAndClose(AbortSignal.abort());
  });
});

describe('what a sensor gives while it is taken out of the configuration', () => {
  const now = () => ({ sensor: 'tank', bootId: clock.bootId, monotonicMs: clock.monotonicMs() });
  const both = () => [
    { ...now(), key: 'raw', value: 2 },
    { ...now(), key: 'internal', value: 7 },
  ];

  it.each([
    ['renamed', () => configOf({ ...TANK, name: 'tank1' })],
    ['switched off', () => configOf({ ...TANK, enabled: false })],
    ['removed', () => configOf()],
  ])('(%s) goes by the rules that it had, and raises no alarm', async (_name, next) => {
    config = configOf(TANK);
    const said = await life((path) => {
      const configured = (): void =>
        path.configured(new Set(config.sensors.filter(({ enabled }) => enabled).map(({ name }) => name)));
      configured();
      config = next();
      configured();
      configured();
      path.take(both());
    });
    expect(said).toEqual(['level 2 regular']);
  });

  it('is not reported when nobody knows its rules', async () => {
    expect(await life((path) => path.take(both()))).toEqual([]);
  });
});

it('the sum of a part of a window is the latest value as the platform gets it, and no value for local rules', async () => {
  config = configOf({ ...TANK, window: { length: '1h', statistics: ['sum'] }, keys: { flow: { rename: 'total' } } });
  const observed: unknown[] = [];
  const path = await open({ observe: (...all) => void observed.push(all) });
  for (const [value, isPart] of [
    [20, false],
    [3, true],
  ] as const)
    path.take([
      { sensor: 'tank', key: 'flow_sum', value, isPart, bootId: clock.bootId, monotonicMs: clock.monotonicMs() },
    ]);
  expect([path.latest.get('tank', 'total_sum'), observed]).toEqual([
    3,
    [
      ['tank', 'total_sum', 20],
      ['tank', 'total_sum', undefined],
    ],
  ]);
  await path.drainAndClose(AbortSignal.abort());
});

function entryOf(key: string, entryClass: TelemetryEntry['class']): TelemetryEntry {
  return { device: 'self', key, value: 1, bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: entryClass };
}

it('takes a reading as kept once it is durable, at once where none is reported, and never where it was lost', async () => {
  config = configOf({ ...TANK, keys: { raw: { deadband: 1 } } });
  const path = await open();
  path.configured(new Set(['tank']));
  const take = (value: number) =>
    path.take([{ sensor: 'tank', key: 'raw', value, bootId: clock.bootId, monotonicMs: clock.monotonicMs() }]);
  const kept = take(1);
  expect(kept).toBeInstanceOf(Promise);
  expect(said).toEqual([]);
  expect(take(1.5)).toBeUndefined();
  await Promise.all([kept, path.outbox.flush()]);
  expect(said).toEqual(['raw 1 regular']);
  await path.drainAndClose(AbortSignal.abort());
  await expect(take(9)).rejects.toThrow();
});

it('holds no alarm against a reading of unknown age, and tells no rule of it', async () => {
  config = configOf({ ...TANK, keys: { raw: { alarms: [{ above: 1 }] } } });
  const seen: unknown[] = [];
  const path = await open({ observe: (_sensor, _key, value) => seen.push(value) });
  path.configured(new Set(['tank']));
  const at = { sensor: 'tank', key: 'raw', bootId: clock.bootId, monotonicMs: clock.monotonicMs() };
  void path.take([{ ...at, value: 5, isOld: true }]);
  expect(path.status().alarms).toEqual([]);
  expect(path.latest.get('tank', 'raw')).toBe(5);
  expect(seen).toEqual([]);
  void path.take([{ ...at, value: 5 }]);
  expect(path.status().alarms).toHaveLength(1);
  await path.drainAndClose(AbortSignal.abort());
});
