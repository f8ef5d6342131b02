import { beforeEach, describe, expect, it } from 'vitest';
import { thisMachine } from '../../../src/agent/machine.ts';
import { ConfigFile, type FileConfig } from '../../../src/config/config-file.ts';
import type { ConfigFault } from '../../../src/config/fields/config-fault.ts';
import { type AgentConfig, configSchema } from '../../../src/config/schema/agent-config.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import { AgentLog } from '../../../src/host/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let clock: FakeClock;
let alerts: AlertList;
let lines: string;
let log: AgentLog;
let onDisk: FileConfig | Error;
let reads: number;
const stop = new AbortController();

beforeEach(() => {
  clock = new FakeClock();
  lines = '';
  log = new AgentLog({ level: 'debug', clock, sink: { write: (line) => (lines += line) } });
  alerts = new AlertList(log);
  reads = 0;
});

function config(platform: object = {}, more: object = {}): AgentConfig {
  return configSchema.parse({ version: 1, platform: { url: 'http://platform', ...platform }, ...more });
}

function missing(path: string): ConfigFault {
  return { line: 1, column: 1, path, problem: 'no such file:', value: '/mnt/x', expected: 'a file', mayPass: true };
}

async function open(
  first: FileConfig,
  prepare = async (_config: AgentConfig): Promise<void> => {},
): Promise<ConfigFile> {
  onDisk = first;
  const loadConfig = async (): Promise<FileConfig> => {
    reads += 1;
    if (onDisk instanceof Error) throw onDisk;
    return onDisk;
  };
  const place = { configFile: 'turnstone.yaml', environment: {}, machine: { ...thisMachine, loadConfig } };
  return new ConfigFile({ place, clock, log, alerts, prepare }, await ConfigFile.read(place));
}

const TOKEN = { accessToken: 'the-token-that-came-late' };
const WITHOUT_TOKEN: FileConfig = { config: config(), missing: [missing('platform.accessTokenFile')] };

describe('the hash of the file', () => {
  it('is that of what was read last, and stays where the file is at fault', async () => {
    const file = await open({ config: config(), missing: [], fileHash: 'one' });
    expect(file.fileHash).toBe('one');
    onDisk = { config: config(), missing: [], fileHash: 'two' };
    await file.readAgain();
    expect(file.fileHash).toBe('two');
    onDisk = new Error('broken');
    await expect(file.readAgain()).rejects.toThrow('broken');
    expect(file.fileHash).toBe('two');
  });
});

describe('a warning of the configuration', () => {
  it('is told at the start, and again when it is read again', async () => {
    const twice: ConfigFault = {
      line: 4,
      column: 52,
      path: 'actuators[0].line',
      problem: 'on most boards GPIO17:',
      value: 'gpiochip0:17',
      expected: 'a line of its own; sensors[0].line has it already',
    };
    const file = await open({ config: config(), missing: [], warnings: [twice] });
    const told = () =>
      lines.split('\n').filter((line) => line.includes('turnstone.yaml:4:52: actuators[0].line: on most'));
    expect(told()).toEqual([expect.stringContaining('"level":"warn"')]);
    await file.readAgain();
    expect(told().length).toBe(2);
    onDisk = { config: config(), missing: [], warnings: [] };
    await file.readAgain();
    expect(told().length).toBe(2);
  });
});

describe('a configuration that is read again', () => {
  it('is in force once the program is prepared for it, and not before', async () => {
    const ready = Promise.withResolvers<void>();
    const prepared: string[] = [];
    const file = await open({ config: config(), missing: [] }, async ({ log: { level } }) => {
      prepared.push(level);
      await ready.promise;
    });
    onDisk = { config: config({}, { log: { level: 'debug' } }), missing: [] };
    const reading = file.readAgain();
    await clock.advance(60_000);
    expect([prepared, file.live.current.log.level]).toEqual([['debug'], 'info']);
    ready.resolve();
    await reading;
    expect(file.live.current.log.level).toBe('debug');
  });

  it('is prepared for, too, where it fills in what was missing', async () => {
    const prepared: unknown[] = [];
    const file = await open(WITHOUT_TOKEN, async ({ platform }) => void prepared.push(platform.accessToken?.reveal()));
    onDisk = { config: config(TOKEN), missing: [] };
    const looking = file.lookForMissing(stop.signal);
    await clock.advance(60_000);
    await looking;
    expect(prepared).toEqual([TOKEN.accessToken]);
  });
});

describe('what is missing', () => {
  it('is an alert, is looked for less and less often, and is taken when it is there', async () => {
    const file = await open(WITHOUT_TOKEN);
    expect(alerts.list()).toEqual([
      'what the configuration names is not there, or no good, and is looked for again: platform.accessTokenFile: no such file: /mnt/x',
    ]);
    let connected = false;
    void file.untilThere(['platform'], stop.signal).then(() => {
      connected = true;
    });
    const looking = file.lookForMissing(stop.signal);
    await clock.advance(3_600_000);
    expect([connected, reads > 60, reads < 800]).toEqual([false, true, true]);
    onDisk = { config: config(TOKEN), missing: [] };
    await clock.advance(60_000);
    await looking;
    expect([connected, alerts.list()]).toEqual([true, []]);
    expect(file.live.current.platform.accessToken?.reveal()).toBe('the-token-that-came-late');
    const readsThen = reads;
    await clock.advance(3_600_000);
    expect(reads).toBe(readsThen);
    log.info({ token: 'the-token-that-came-late' }, 'seen');
    expect(lines).not.toContain('the-token-that-came-late');
  });

  it('is said anew when it is wrong in another way, or when it is another file', async () => {
    const file = await open(WITHOUT_TOKEN);
    const looking = file.lookForMissing(stop.signal);
    onDisk = { config: config(), missing: [{ ...missing('platform.accessTokenFile'), problem: 'no token in' }] };
    await clock.advance(60_000);
    expect(alerts.list()).toEqual([expect.stringMatching(/again: platform.accessTokenFile: no token in/)]);
    onDisk = { config: config(TOKEN), missing: [missing('platform.caFile')] };
    await clock.advance(60_000);
    expect(alerts.list()).toEqual([expect.stringMatching(/again: platform.caFile: no such file/)]);
    expect(file.live.current.platform.accessToken?.reveal()).toBe('the-token-that-came-late');
    onDisk = { config: config(TOKEN), missing: [] };
    await clock.advance(60_000);
    await looking;
  });

  it('holds up only who needs it', async () => {
    const file = await open({ config: config(), missing: [missing('status.pinFile')] });
    await file.untilThere(['platform', 'provisioning'], stop.signal);
    let shown = false;
    void file.untilThere(['status'], stop.signal).then(() => {
      shown = true;
    });
    await clock.advance(0);
    expect(shown).toBe(false);
  });

  it('ends with the agent', async () => {
    const file = await open(WITHOUT_TOKEN);
    const end = new AbortController();
    const both = Promise.all([file.untilThere(['platform'], end.signal), file.lookForMissing(end.signal)]);
    end.abort();
    await both;
    expect(alerts.list()).toHaveLength(1);
  });

  it('is taken alone: what somebody is changing in the file waits for a reload', async () => {
    const file = await open(WITHOUT_TOKEN);
    const looking = file.lookForMissing(stop.signal);
    onDisk = { config: config(TOKEN, { shutdown: { drain: '1s' }, outbox: { minFree: '1MB' } }), missing: [] };
    await clock.advance(60_000);
    await looking;
    expect(file.live.current.platform.accessToken).toBeDefined();
    expect(file.live.current.shutdown).toEqual(WITHOUT_TOKEN.config.shutdown);
    expect(file.live.current.outbox).toEqual(WITHOUT_TOKEN.config.outbox);
  });

  it('that is a sensor’s own driver changes no sensor when it is there: it is tried again by itself', async () => {
    const sensors = (period: string) => config({}, { sensors: [{ name: 'own', kind: 'host', period }] });
    const file = await open({ config: sensors('1m'), missing: [missing('sensors[0].file')] });
    const looking = file.lookForMissing(stop.signal);
    onDisk = { config: sensors('2m'), missing: [] };
    await clock.advance(60_000);
    await looking;
    expect([file.live.current.sensors[0]?.periodMs, alerts.list()]).toEqual([60_000, []]);
  });

  it('that is a broker’s password is taken up when it is there', async () => {
    const brokers = (more: object) =>
      config(TOKEN, { brokers: [{ name: 'house', url: 'mqtt://a', user: 'b', ...more }] });
    const file = await open({ config: brokers({}), missing: [missing('brokers[0].passwordFile')] });
    const looking = file.lookForMissing(stop.signal);
    onDisk = { config: brokers({ password: 'a-secret' }), missing: [] };
    await clock.advance(60_000);
    await looking;
    expect([file.live.current.brokers?.[0]?.password?.reveal(), alerts.list()]).toEqual(['a-secret', []]);
  });

  it('is looked for beside a file that somebody is in the middle of writing', async () => {
    const file = await open(WITHOUT_TOKEN);
    const looking = file.lookForMissing(stop.signal);
    onDisk = new Error('half a file');
    await clock.advance(120_000);
    onDisk = { config: config(TOKEN), missing: [] };
    await clock.advance(60_000);
    await looking;
    expect(file.live.current.platform.accessToken).toBeDefined();
  });
});

describe('a reload', () => {
  it('that brings what was missing needs no restart', async () => {
    const file = await open(WITHOUT_TOKEN);
    onDisk = { config: config(TOKEN), missing: [] };
    expect(await file.readAgain()).toEqual({ changed: ['platform'], needRestart: [] });
    expect(alerts.list()).toEqual([]);
  });

  it.each([
    [{ metered: true, monthly: '50MB' }, []],
    [{ metered: true, monthly: '500MB', resetDay: 5, wake: '20m' }, []],
    [{ metered: false }, ['link']],
  ])('takes up the link but for how connections are opened: %j', async (link, needRestart) => {
    const file = await open({ config: config(TOKEN, { link: { metered: true, monthly: '400MB' } }), missing: [] });
    onDisk = { config: config(TOKEN, { link }), missing: [] };
    expect(await file.readAgain()).toEqual({ changed: ['link'], needRestart });
    expect(file.live.current.link.metered).toBe(link.metered);
  });

  it('says what only a restart takes up, until it is taken back', async () => {
    const file = await open({ config: config(TOKEN), missing: [] });
    onDisk = { config: config({ accessToken: 'another-token' }), missing: [] };
    expect(await file.readAgain()).toEqual({ changed: ['platform'], needRestart: ['platform'] });
    expect(alerts.list().join()).toContain('restart needed');
    onDisk = { config: config(TOKEN), missing: [] };
    expect(await file.readAgain()).toEqual({ changed: ['platform'], needRestart: [] });
    expect(alerts.list()).toEqual([]);
  });

  it('asks for no restart where it takes up all that changed in a section', async () => {
    const withMore = (link: object, commitAge: string, more: object = {}): FileConfig => ({
      config: config(TOKEN, { link, outbox: { commitAge, ...more }, status: { telemetryPeriod: commitAge } }),
      missing: [],
    });
    const file = await open(withMore({}, '5s'));
    onDisk = withMore({ daily: '2MB' }, '10s');
    expect(await file.readAgain()).toEqual({ changed: ['link', 'outbox', 'status'], needRestart: [] });
    expect([alerts.list(), file.live.current.outbox.commitAgeMs]).toEqual([[], 10_000]);
    onDisk = withMore({}, '10s', { maxAge: '1d' });
    expect(await file.readAgain()).toMatchObject({ needRestart: ['outbox'] });
  });

  it('takes up at once to which device a sensor belongs, and says that devices wait for a restart', async () => {
    const withDevices = (devices: readonly object[], device: string): FileConfig => ({
      config: config(TOKEN, { devices, sensors: [{ name: 'room', kind: 'host', device }] }),
      missing: [],
    });
    const file = await open(withDevices([{ name: 'm1' }, { name: 'm2' }], 'm1'));
    onDisk = withDevices([{ name: 'm1' }, { name: 'm2' }], 'm2');
    expect(await file.readAgain()).toEqual({ changed: ['sensors'], needRestart: [] });
    onDisk = withDevices([{ name: 'm1', accessToken: 'its-own-token' }, { name: 'm2' }], 'm2');
    expect(await file.readAgain()).toEqual({ changed: ['devices'], needRestart: ['devices'] });
    log.info({ hidden: 'its-own-token' }, 'told');
    expect(lines).not.toContain('its-own-token');
  });

  it('takes up brokers', async () => {
    const withBroker = (url: string): FileConfig => ({
      config: config(TOKEN, { brokers: [{ name: 'house', url }] }),
      missing: [],
    });
    const file = await open(withBroker('mqtt://old'));
    onDisk = withBroker('mqtt://new');
    expect(await file.readAgain()).toEqual({ changed: ['brokers'], needRestart: [] });
    expect(file.live.current.brokers?.[0]?.url).toBe('mqtt://new');
  });

  it('says that a rule waits for a restart with its actuator', async () => {
    const room = { name: 'room', kind: 'host', period: '1s' };
    const cooled = (fan: string, above: number): FileConfig => {
      const rule = { name: 'cool', when: { sensor: 'room', key: 't', above }, set: { actuator: fan, value: true } };
      const more = { sensors: [room], actuators: [{ name: fan, kind: 'gpio-output', line: 'GPIO17' }], rules: [rule] };
      return { config: config(TOKEN, more), missing: [] };
    };
    const file = await open(cooled('fan', 50));
    onDisk = cooled('fan', 60);
    expect(await file.readAgain()).toEqual({ changed: ['rules'], needRestart: [], rules: ['cool'] });
    onDisk = cooled('cabinetFan', 60);
    expect(await file.readAgain()).toMatchObject({
      changed: ['actuators', 'rules'],
      needRestart: ['actuators', 'rules'],
      rules: ['cool'],
    });
    expect(alerts.list().join()).toContain('actuators, rules');
    onDisk = cooled('fan', 70);
    expect(await file.readAgain()).toMatchObject({ changed: ['actuators', 'rules'], needRestart: [] });
  });

  it('is refused where something is missing that was there', async () => {
    const file = await open({ config: config(TOKEN), missing: [] });
    const { hash } = file;
    onDisk = WITHOUT_TOKEN;
    await expect(file.readAgain()).rejects.toMatchObject({ code: 'config/not-now' });
    expect(file.live.current.platform.accessToken).toBeDefined();
    expect(file.hash).toBe(hash);
    expect(alerts.list()).toEqual([]);
  });

  it('takes up the rest while something is missing still', async () => {
    const file = await open(WITHOUT_TOKEN);
    onDisk = { ...WITHOUT_TOKEN, config: config({}, { shutdown: { drain: '1s' } }) };
    expect(await file.readAgain()).toEqual({ changed: ['shutdown'], needRestart: [] });
    expect(file.live.current.shutdown.drainMs).toBe(1_000);
    expect(alerts.list()).toHaveLength(1);
  });
});
