import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContactWatch } from '../../../src/actuators/contact-watch.ts';
import type { Output } from '../../../src/actuators/output.ts';
import { DeviceCommands, type DeviceCommandsDeps } from '../../../src/agent/device-commands.ts';
import { LiveConfig } from '../../../src/config/live-config.ts';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import type { LogLevel } from '../../../src/host/log.ts';
import { silentLog } from '../../../src/host/log.ts';
import { SummedLog } from '../../../src/host/summed-log.ts';
import type { DeviceApi } from '../../../src/platform/device-api.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

let clock: FakeClock;
let stop: AbortController;
let polls: { rpc: number; attributes: number };
let standing: number;
let posted: JsonObject[];

beforeEach(() => {
  clock = new FakeClock();
  stop = new AbortController();
  polls = { rpc: 0, attributes: 0 };
  standing = 0;
  posted = [];
});
afterEach(async () => {
  stop.abort();
  await clock.advance(0);
});

async function silence(timeoutMs: number, signal: AbortSignal): Promise<undefined> {
  standing += 1;
  await clock.sleep(timeoutMs, signal);
  standing -= 1;
}

const deviceApi = {
  pollRpc: (timeoutMs: number, signal: AbortSignal) => {
    polls.rpc += 1;
    return silence(timeoutMs, signal);
  },
  pollAttributes: (timeoutMs: number, signal: AbortSignal) => {
    polls.attributes += 1;
    return silence(timeoutMs, signal);
  },
  getAttributes: async () => ({ client: {}, shared: {}, empty: true }),
  postAttributes: async (attributes: JsonObject) => void posted.push(attributes),
} as Partial<DeviceApi> as DeviceApi;

type Own = Partial<
  Pick<DeviceCommandsDeps, 'actuators' | 'alerts' | 'config' | 'live' | 'log'> & {
    readonly deviceApi: DeviceApi;
  }
>;

async function open(identity: () => JsonObject, own: Own = {}) {
  const config = configSchema.parse({
    version: 1,
    platform: { url: 'http://platform', accessToken: 'secret-token' },
    stateFolder: '/state',
  });
  const {
    actuators = actuatorsWith({ heard: () => {}, onQuiet: () => () => {} }),
    live = { settings: () => [], overrides: {} },
    deviceApi: api = deviceApi,
    ...others
  } = own;
  return await DeviceCommands.open(
    {
      config: () => config,
      files: new MemoryFiles(),
      clock,
      log: silentLog,
      alerts: new AlertList(silentLog),
      ...others,
      slot: undefined,
      device: { id: 'self', name: '', folder: '/state', deviceApi: api },
      actuators,
      live,
      methods: [],
      locked: () => false,
      polls: { rpc: {}, attributes: {} },
      wakes: () => undefined,
      firmware: { keys: ['fw_title'], consider: () => {} },
      identity: () => ({ version: '1', ...identity() }),
    },
    stop.signal,
  );
}

function actuatorsWith(contact: object): DeviceCommandsDeps['actuators'] {
  return { control: { onState: () => () => {}, contact }, configs: [] } as unknown as DeviceCommandsDeps['actuators'];
}

describe('what is told from afar', () => {
  it('says of outputs that are switched off that they are unknown, but for those of attached devices', async () => {
    const relay = { kind: 'gpio-output', line: 'GPIO5', enabled: false };
    const config = configSchema.parse({
      version: 1,
      platform: { url: 'http://platform', accessToken: 'secret-token' },
      devices: [{ name: 'one' }],
      actuators: [
        { ...relay, name: 'lamp' },
        { ...relay, name: 'pump', device: 'one' },
      ],
    });
    const remote = await open(() => ({}), { config: () => config });
    expect(remote.client.keys.filter((key) => key.endsWith('State'))).toEqual(['lampState']);
    await remote.close();
  });

  it('gives a log that sums up no more than a few kB a minute of a flood of requests, and how many there were', async () => {
    let bytes = 0;
    let answered = 0;
    const told = (fields: object, message: string): void => {
      bytes += JSON.stringify(fields).length + message.length;
      const { message: of, times = 1 } = fields as { message?: string; times?: number };
      if ([of, message].includes('RPC answered')) answered += times;
    };
    let id = 0;
    const flood = {
      ...deviceApi,
      pollRpc: async () => {
        id += 1;
        return { id, method: 'noSuchMethod', params: {} };
      },
      replyRpc: async () => {},
    };
    const summed = new SummedLog({ tell: (_level, fields, message) => told(fields, message), clock });
    const at = (level: LogLevel) => (fields: object, message: string) => summed.logMessage(level, fields, message);
    const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
    const remote = await open(() => ({}), { deviceApi: flood, log });
    const running = remote.run(stop.signal);
    await clock.advance(6_000);
    stop.abort();
    await clock.advance(100);
    await running;
    await remote.close();
    summed.close();
    expect(answered).toBe(id);
    expect(id).toBeGreaterThan(500);
    expect(bytes).toBeLessThan(5_000);
  });

  it('tells the settings in one attribute, with those alone that a wish changed, however many sensors there are', async () => {
    const sensors = Array.from({ length: 300 }, (_, at) => ({ name: `host${at}`, kind: 'host', period: '10s' }));
    const live = new LiveConfig(
      configSchema.parse({ version: 1, platform: { url: 'http://platform', accessToken: 'secret-token' }, sensors }),
    );
    live.set('sensors.host7.period', '2s');
    let configHash = 'first';
    const remote = await open(() => ({ configHash }), { live });
    expect(remote.client.keys).toEqual([
      'version',
      'configHash',
      'actuatorFaults',
      'effectiveSettings',
      'sharedRefused',
    ]);
    const running = remote.run(stop.signal);
    await clock.advance(100);
    expect(posted.map(({ effectiveSettings }) => effectiveSettings)).toEqual([{ 'sensors.host7.period': 2_000 }]);
    live.set('sensors.host7.period', undefined);
    configHash = 'another';
    remote.configurationChanged();
    await clock.advance(2_000);
    expect(posted.at(-1)).toMatchObject({ configHash: 'another', effectiveSettings: {} });
    stop.abort();
    await clock.advance(100);
    await running;
    await remote.close();
  });

  it('tells the status of refused settings and of names that are no setting, until each is corrected or deleted', async () => {
    const sensors = [{ name: 'host', kind: 'host', period: '10s' }];
    const live = new LiveConfig(
      configSchema.parse({ version: 1, platform: { url: 'http://platform', accessToken: 'token' }, sensors }),
    );
    const alerts = new AlertList(silentLog);
    let atPlatform: JsonObject = {};
    let wake = (_changed: JsonObject): void => {};
    const shares: DeviceApi = {
      ...deviceApi,
      pollAttributes: () => new Promise((resolve) => (wake = (changed) => resolve({ changed, deleted: [] }))),
      getAttributes: async ({ sharedKeys }: { readonly sharedKeys: readonly string[] }) => ({
        client: { version: '1' },
        shared: Object.fromEntries(Object.entries(atPlatform).filter(([key]) => sharedKeys.includes(key))),
        empty: false,
      }),
    };
    const save = async (values: JsonObject): Promise<readonly string[]> => {
      atPlatform = values;
      wake(values);
      await clock.advance(5_000);
      return alerts.list();
    };
    const remote = await open(() => ({}), { live, alerts, deviceApi: shares });
    void remote.run(stop.signal);
    await clock.advance(1_000);
    expect(alerts.list()).toEqual([]);
    expect(await save({ 'log.level': 'loud', 'sensors.host.perod': '2s', 'somebody.elses': 1, other: 2 })).toEqual([
      expect.stringMatching(
        /log.level: expected .*; sensors.host.perod is no live setting, did you mean sensors.host.period\?.*: correct, save again or delete/,
      ),
    ]);
    expect(await save({ 'log.level': 'warn', 'sensors.host.perod': '2s' })).toEqual([
      expect.not.stringContaining('log.level'),
    ]);
    expect(Object.assign({}, ...posted).sharedRefused).toEqual({
      'sensors.host.perod': expect.stringContaining('did you mean'),
    });
    expect(await save({ 'log.level': 'warn', 'sensors.host.period': '2s' })).toEqual([]);
    expect(live.current.sensors[0]?.periodMs).toBe(2_000);
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`sensors.made-up-${at}.period`, 1]));
    expect(await save(many)).toEqual([expect.stringMatching(/^.{1,700}; and 15 more/)]);
  });

  it('says of what was a setting in an earlier release, and has stood at the platform since, where it is now', async () => {
    const sensors = [{ name: 'host', kind: 'host', keys: { load: { deadband: 1 } } }];
    const live = new LiveConfig(
      configSchema.parse({ version: 1, platform: { url: 'http://platform', accessToken: 'token' }, sensors }),
    );
    const alerts = new AlertList(silentLog);
    const atPlatform: JsonObject = { 'platform.dailyBudget': '6MB', 'sensors.host.keys.load.deadbandPercent': 5 };
    const shares: DeviceApi = {
      ...deviceApi,
      getAttributes: async ({ sharedKeys }: { readonly sharedKeys: readonly string[] }) => ({
        client: { version: '1' },
        shared: Object.fromEntries(Object.entries(atPlatform).filter(([key]) => sharedKeys.includes(key))),
        empty: false,
      }),
    };
    const remote = await open(() => ({}), { live, alerts, deviceApi: shares });
    void remote.run(stop.signal);
    await clock.advance(1_000);
    expect(alerts.list()).toEqual([
      expect.stringMatching(/dailyBudget is no live setting: it is link\.daily now.*deadband now, such as "5 %"/),
    ]);
  });

  it('ends every loop when one fails, so that the next run has the only poll of each kind', async () => {
    let looks = 0;
    const remote = await open(() => {
      looks += 1;
      // The first is at the opening.
      if (looks === 3) throw new Error('a fault of the program');
      return {};
    });
    const failed = remote.run(stop.signal).catch((error: Error) => error.message);
    await clock.advance(1_000);
    expect([polls, standing]).toEqual([{ rpc: 1, attributes: 1 }, 2]);
    await clock.advance(60_000);
    expect([await failed, standing]).toEqual(['a fault of the program', 0]);
    void remote.run(stop.signal);
    await clock.advance(1_000);
    expect(standing).toBe(2);
  });

  it('takes a request for contact, for the states that a silence asks for', async () => {
    let contacts = 0;
    const actuators = actuatorsWith({ heard: () => (contacts += 1), onQuiet: () => () => {} });
    const requests = [{ id: 0, method: 'ping', params: {} }];
    const pollRpc = async (timeoutMs: number, signal: AbortSignal) => requests.shift() ?? silence(timeoutMs, signal);
    const offline = {
      ...deviceApi,
      pollRpc,
      replyRpc: async () => {},
      getAttributes: () => new Promise<never>(() => {}),
    };
    const remote = await open(() => ({}), { actuators, deviceApi: offline });
    void remote.run(stop.signal);
    await clock.advance(1_000);
    expect(contacts).toBe(1);
  });

  it('lets no safe state for a silence come as long as the platform answers when it is asked', async () => {
    const set: string[] = [];
    const settings = relaySettings('fan', { safe: { noContact: { afterMs: 20_000, value: false } } });
    const take = async ({ kind }: { kind: string }) => void (kind === 'silent' && set.push('no contact'));
    // All that a silence wants of an output.
    const output = { settings, take } as unknown as Output;
    const contact = new ContactWatch({ outputs: [output], clock });
    let asked = 0;
    let isThere = true;
    const getAttributes: DeviceApi['getAttributes'] = async () => {
      asked += 1;
      return isThere ? { client: {}, shared: {}, empty: true } : await Promise.reject(new Error('nobody there'));
    };
    const actuators = actuatorsWith(contact);
    const remote = await open(() => ({}), { actuators, deviceApi: { ...deviceApi, getAttributes } });
    void remote.run(stop.signal);
    await clock.advance(3_600_000);
    expect(set).toEqual([]);
    expect(asked).toBeLessThan(400);
    isThere = false;
    await clock.advance(20_000);
    expect(set).toEqual(['no contact']);
  });

  it('tells who the device is, and what of that has changed', async () => {
    let address = '192.0.2.1';
    let configHash = 'first';
    const remote = await open(() => ({ addresses: [address], configHash }));
    void remote.run(stop.signal);
    await clock.advance(1_000);
    address = '192.0.2.2';
    await clock.advance(62_000);
    configHash = 'abc';
    remote.configurationChanged();
    await clock.advance(2_000);
    expect(Object.assign({}, ...posted)).toMatchObject({ version: '1', addresses: ['192.0.2.2'], configHash: 'abc' });
    expect(posted[0]).toMatchObject({ addresses: ['192.0.2.1'] });
  });

  it('tells that the state of a disabled output is not known, in place of what an earlier run told', async () => {
    const lamp = { name: 'lamp', kind: 'gpio-output', line: 'GPIO17', enabled: false };
    const given = {
      version: 1,
      platform: { url: 'http://platform', accessToken: 'secret-token' },
      stateFolder: '/state',
    };
    const config = configSchema.parse({ ...given, actuators: [lamp, { ...lamp, name: 'horn', stateKey: 'hornIs' }] });
    const remote = await open(() => ({}), { config: () => config });
    void remote.run(stop.signal);
    await clock.advance(1_000);
    expect(posted[0]).toMatchObject({ lampState: 'unknown', hornIs: 'unknown' });
  });

  it('ends when told to', async () => {
    const remote = await open(() => ({}));
    const running = remote.run(stop.signal);
    await clock.advance(1_000);
    stop.abort();
    await clock.advance(0);
    await running;
    await remote.close();
    expect(standing).toBe(0);
  });
});
