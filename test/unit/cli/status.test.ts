import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { AgentStatus } from '../../../src/status/shape/agent-status.ts';
import { devicesSummary } from '../../../src/status/shape/device-status.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { attachedDevice } from '../../support/attached-device-status.ts';
import { busyStatus } from '../../support/busy-status.ts';
import { type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';
import { socketOperations } from '../../support/socket-operations.ts';

const STATUS: AgentStatus = {
  version: '1.2.3',
  nowMs: 7_300_000,
  wallMs: 1_780_000_000_000,
  bootId: 'boot',
  startedAtMs: 100_000,
  timeSynchronised: false,
  configHash: 'abcdef0123456789',
  configFileHash: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  deviceName: 'gateway-1',
  platform: {
    state: 'refused',
    sinceMs: 7_000_000,
    lastHeardAtMs: 7_000_000,
    lastAcknowledgedAtMs: 7_000_000,
    verdict: 'fault',
    words: 'the platform does not know this device; enter it there',
  },
  connection: {
    state: 'held',
    reason: 'the platform does not know this device',
    failures: 3,
    triesAgainAtMs: 7_342_000,
    acknowledgedEntries: 12,
    lastAcknowledgedAtMs: 7_000_000,
    sentBytes: 1,
    receivedBytes: 1,
  },
  outbox: {
    heldEntries: 120,
    heldBytes: 4_096,
    oldestTs: 1_779_999_940_000,
    hoursThatFit: 812.7,
    rejected: 2,
    thinned: 0,
    dropped: 0,
    damaged: 3,
    resent: 0,
    writtenBytes: 1,
  },
  writes: { words: 'the agent writes 24MB a day, the disk mmcblk0 takes 310MB a day' },
  adapted: { renamed: 5, retimed: 0, asText: 2 },
  alarms: [],
  link: {
    usedBytes: 2_000,
    todayBytes: 2_000,
    beginsAtMs: 0,
    endsAtMs: 2_678_400_000,
    features: { telemetry: 1_000, calls: 0, firmware: 0, polls: 1_000 },
    step: 'everything',
    words: '2 kB this month',
  },
  sensors: [
    {
      name: 'roof',
      kind: 'bme280',
      state: 'failing',
      fault: 'nobody answers at 0x76\u001b[31m',
      readings: [{ key: 'temperature', value: 21.123456789, unit: '°C', atMs: 7_299_000 }],
    },
  ],
  actuators: [
    { name: 'pump', kind: 'gpio-output', value: true },
    { name: 'display', kind: 'serial-write', value: null },
  ],
  lockedOut: true,
  firmware: {
    version: '1.2.3',
    state: 'DOWNLOADING',
    offered: '1.3.0',
    progressPercent: 41.6,
    failed: [{ title: 'motor\u001b[31m', version: '7', reason: 'wrong signature', endedAtMs: 0 }],
  },
  alerts: ['the clock is not synchronised'],
} as AgentStatus;

let folder: string;
let server: ControlServer | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-status-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function serve(shown = STATUS): Promise<void> {
  const readMethods = { getStatus: () => shown as unknown as JsonValue };
  server = await ControlServer.open(
    { ...socketOperations({ readMethods }), folder, clock: systemClock, files: systemFiles, log: silentLog },
    new AbortController().signal,
  );
}

async function status(words: readonly string[] = ['--run-folder', folder], options: FakeEdgeOptions = {}) {
  const edge = fakeEdge(options);
  const exitCode = await runCommandLine(['status', ...words], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

describe('turnstone status', () => {
  it('tells the hash of what the configuration says, and the first digits of that of its file', async () => {
    await serve();
    expect((await status()).out).toContain('configuration abcdef0123456789 (file ba7816bf8f01)');
    expect(JSON.parse((await status(['--run-folder', folder, '--json'])).out)).toMatchObject({
      configHash: STATUS.configHash,
      configFileHash: STATUS.configFileHash,
    });
  });

  it('tells how many devices are attached, and which sensor and output is of which', async () => {
    const devices = devicesSummary([
      attachedDevice(),
      attachedDevice({ name: 'gateway-1 meter2', state: 'blocked', heldEntries: 3 }),
    ]);
    const sensors = STATUS.sensors.map((sensor) => ({ ...sensor, device: 'meter1' }));
    const actuators = STATUS.actuators.map((actuator, at) => (at === 0 ? { ...actuator, device: 'meter2' } : actuator));
    await serve({ ...STATUS, devices, sensors, actuators });
    const { out } = await status();
    expect(out).toMatch(/^devices +2: 1 blocked, 1 ready; 3 entries wait$/m);
    expect(out).toMatch(/^ +roof +bme280 of meter1 +failing/m);
    expect(out).toMatch(/^ +pump +gpio-output of meter2 +on/m);
    expect(out).toMatch(/^ +display +serial-write +unknown/m);
  });

  it('tells in words whether the agent works', async () => {
    await serve();
    const { exitCode, out } = await status();
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toContain('gateway-1  turnstone 1.2.3, running 2h');
    expect(out.replace(/\s+/g, ' ')).toContain('clock not synchronised yet, LOCKED OUT');
    expect(out).toContain('! the clock is not synchronised');
    expect(out).toMatch(/platform +the platform does not know this device; enter it there, for 5m/);
    expect(out).toMatch(/uploads +last acknowledged 5m ago, 12 entries sent, trying again in 42s/);
    expect(out).toContain('120 entries wait (4.1kB), oldest 1m, 812 more hours fit, 2 rejected, 3 damaged');
    expect(out).toMatch(
      /adapted +5 under another key, 2 numbers as text: the platform would have lost them as they were/,
    );
    expect(out).toMatch(/storage +the agent writes 24MB a day, the disk mmcblk0 takes 310MB a day/);
    expect(out).toContain('1.2.3, DOWNLOADING 42%, offered 1.3.0');
    expect(out.replace(/\s+/g, ' ')).toMatch(
      /the update to motor\S* 7 failed at 1970-01-01T00:00:00.000Z: wrong signature/,
    );
    expect(out).toMatch(/Temperature: 21\.1 °C +1s ago/);
    expect(out).toMatch(/pump +gpio-output +on/);
    expect(out).toMatch(/display +serial-write +unknown$/m);
  });

  it('tells the alarms that are on before anything else', async () => {
    const alarm = {
      sensor: 'roof',
      key: 'roofTemperature',
      above: 40,
      limit: 'above 40',
      value: 41.5,
      unit: '°C',
      sinceMs: STATUS.nowMs - 840_000,
    };
    const alarms = [
      { ...alarm, name: 'hot', moves: ['fan'] },
      { ...alarm, device: 'meter1', name: 'above 40', moves: [] },
    ];
    await serve({ ...STATUS, alarms });
    const [first, second] = (await status()).out.split('\n').filter((line) => line.startsWith('✕'));
    expect(first).toBe('✕ Roof temperature is 41.5 °C, above 40 (hot), for 14m; it moves fan');
    expect(second).toBe('✕ Roof temperature of meter1 is 41.5 °C, above 40, for 14m');
  });

  it('calls things by their labels, with the name beside, and shows states by their class', async () => {
    const [roof] = STATUS.sensors;
    const [pump] = STATUS.actuators;
    const open = { key: 'state', label: 'Front\u202edoor', class: 'door', value: true, atMs: STATUS.nowMs };
    await serve({
      ...STATUS,
      label: 'Boiler house',
      sensors: [{ ...roof, label: 'Weather', readings: [open] }],
      actuators: [{ ...pump, label: 'Well pump', class: 'pump' }],
      alarms: [
        {
          sensor: 'roof',
          key: 'state',
          keyLabel: 'Front door',
          class: 'door',
          name: 'open',
          label: 'Stands open',
          limit: 'equal to on',
          value: true,
          sinceMs: STATUS.nowMs - 60_000,
          moves: ['pump'],
        },
      ],
    } as AgentStatus);
    const { out } = await status();
    expect(out).toContain('Boiler house  turnstone 1.2.3');
    expect(out).toMatch(/^ +Weather +roof, bme280 +failing/m);
    expect(out).toMatch(/Front.*door: open +0s ago/);
    expect(out).not.toContain('\u202e');
    expect(out).toMatch(/^ +Well pump +pump, gpio-output +running/m);
    expect(out).toContain('✕ Front door is open, equal to on (Stands open), for 1m; it moves Well pump');
  });

  it('tells where the page is, and what to compare its certificate with', async () => {
    const fingerprint = ['00', ...Array(31).fill('AB')].join(':');
    await serve({ ...STATUS, page: { url: 'https://gateway-1:8088', fingerprint } });
    const { out } = await status();
    expect(out).toMatch(/^page +https:\/\/gateway-1:8088, certificate 00 AB AB AB AB AB AB AB …$/m);
    expect(out.replace(/\s+/g, ' ')).toContain(` SHA-256 ${fingerprint} `);
    await server?.close();
    await serve({ ...STATUS, page: { url: 'http://localhost:8088' } });
    expect((await status()).out).toMatch(/^page +http:\/\/localhost:8088, on this machine alone$/m);
  });

  it('lets no device write into the terminal', async () => {
    await serve();
    const { out } = await status(['--run-folder', folder], { isTerminal: true, environment: { NO_COLOR: '1' } });
    expect(out).not.toContain('\u001b');
  });

  it('fits the terminal', async () => {
    await serve();
    const { out } = await status(['--run-folder', folder], {
      isTerminal: true,
      columns: 60,
      environment: { NO_COLOR: '1' },
    });
    expect(out.split('\n').filter((line) => /^(connection|outbox|firmware| )/.test(line) && line.length > 60)).toEqual(
      [],
    );
  });

  it('prints everything as JSON', async () => {
    await serve();
    expect(JSON.parse((await status(['--run-folder', folder, '--json'])).out)).toEqual(
      JSON.parse(JSON.stringify(STATUS)),
    );
  });

  it('finds the agent by its configuration, even a wrong one', async () => {
    await serve();
    const config = join(folder, 'turnstone.yaml');
    await writeFile(config, `version: 7\nrunFolder: ${folder}\n`);
    expect((await status(['--config', config])).exitCode).toBe(EXIT.ok);
  });

  it('says that the configuration it is to find the agent by is not there', async () => {
    const config = join(folder, 'none.yaml');
    const { exitCode, out, err } = await status(['--config', config]);
    expect({ exitCode, out, err }).toEqual({
      exitCode: EXIT.badConfig,
      out: '',
      err: `turnstone: there is no configuration ${config} (config/unreadable)\n`,
    });
  });

  it('says in one line that no agent runs, and what to do', async () => {
    const { exitCode, out, err } = await status();
    expect({ exitCode, out }).toEqual({ exitCode: EXIT.notRunning, out: '' });
    expect(err).toBe(
      `turnstone: no agent answers in ${folder}; start it (sudo systemctl start turnstone), or name its --run-folder (control-socket/not-running)\n`,
    );
  });
});

describe('turnstone status of a large gateway', () => {
  const FOLDER = (): string[] => ['--run-folder', folder];
  const LARGE = { sensors: 130, devices: 100, outputs: 24 };

  const page = async (shown: AgentStatus, more: readonly string[] = []): Promise<readonly string[]> => {
    await serve(shown);
    const { out } = await status([...FOLDER(), ...more]);
    return out.trimEnd().split('\n');
  };

  it.each([
    ['well', {}],
    ['in trouble', { failing: 2, alarms: 2, blocked: 2 }],
    ['in much trouble', { failing: 60, alarms: 50, blocked: 40 }],
  ])('fits 40 lines of 100 columns when it is %s', async (_how, trouble) => {
    const lines = await page(busyStatus(STATUS, { ...LARGE, ...trouble }));
    expect(lines.length).toBeLessThan(40);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  it('names first what needs somebody, each kind of it, and counts the rest', async () => {
    const lines = await page(busyStatus(STATUS, { ...LARGE, failing: 30, alarms: 30, blocked: 20 }));
    const platform = lines.findIndex((line) => line.startsWith('platform'));
    const urgent = lines.slice(1, platform).join('\n');
    expect(urgent).toMatch(/^✕ Cold room 1 is 7\.2 °C, above 5 \(hot\), for 14m$/m);
    expect(urgent).toMatch(/^✕ Sensor 1 \(sensor1, mbus\) failing: no answer within/m);
    expect(urgent).toMatch(/^! device gateway-1 meter1: blocked, 40 entries wait: the platform refuses its token$/m);
    expect(urgent).toContain('! the clock is not synchronised');
    expect(urgent.replace(/\s+/g, ' ')).toMatch(
      /and \d+ alarms, (\d+ alerts, )?\d+ failing sensors, \d+ devices more: turnstone status --all$/,
    );
  });

  it('names all that needs somebody where that is little', async () => {
    const lines = await page(busyStatus(STATUS, { ...LARGE, failing: 2, alarms: 1, blocked: 2 }));
    for (const name of [
      'Cold room 1',
      'Sensor 1 ',
      'Sensor 2 ',
      'device gateway-1 meter1:',
      'device gateway-1 meter2:',
    ])
      expect(lines.filter((line) => /^[✕!]/.test(line) && line.includes(name))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('! sensor '))).toEqual([]);
    expect(lines.join('\n')).not.toContain('more: turnstone status --all');
  });

  it('tells of the others in groups by kind, with their oldest value', async () => {
    const sensors = Array.from({ length: 26 }, (_, at) => ({
      name: `s${at}`,
      kind: at < 24 ? 'modbus' : 'sht4x',
      state: at === 25 ? 'failing' : 'ok',
      readings: [{ key: 'temperature', value: 1, atMs: STATUS.nowMs - (at === 3 ? 8_000 : 1_000) }],
    })) as AgentStatus['sensors'];
    const lines = await page({ ...STATUS, sensors });
    expect(lines).toContain('  24 sensors of kind modbus read, the oldest value 8 s old');
    expect(lines).toContain('  2 sensors of kind sht4x: 1 failing, 1 read, the oldest value 1 s old');
  });

  it('groups by device where there are few', async () => {
    const lines = await page(busyStatus(STATUS, { sensors: 20, devices: 2, outputs: 0 }));
    expect(lines.filter((line) => /^ {2}1 sensor of meter[12] read/.test(line))).toHaveLength(2);
  });

  it('counts many outputs by state, and names those with a fault or held by an operator', async () => {
    const shown = busyStatus(STATUS, { sensors: 2, devices: 0, outputs: 24 });
    const actuators = shown.actuators.map((output, at) => {
      if (at === 1) return { ...output, fault: 'line busy' };
      return at === 4 ? { ...output, slots: [{ slot: 'operator', value: true }] } : output;
    }) as AgentStatus['actuators'];
    const lines = await page({ ...shown, actuators });
    const outputs = lines.slice(lines.indexOf('actuators') + 1);
    expect(outputs).toEqual([
      '  output-2  gpio-output  unknown: line busy  as rule night left it',
      '  output-5  gpio-output  off                 as rule night left it',
      '  22 outputs of kind gpio-output: 14 off, 8 on',
    ]);
  });

  it('shows everything with --all', async () => {
    const lines = await page(busyStatus(STATUS, { ...LARGE, blocked: 3 }), ['--all']);
    const text = lines.join('\n');
    for (let at = 1; at <= 130; at += 1) expect(text).toContain(`  Sensor ${at} `);
    for (let at = 1; at <= 24; at += 1) expect(text).toContain(`  output-${at} `);
    for (let at = 1; at <= 100; at += 1) expect(text).toContain(`gateway-1 meter${at} `);
  });

  it('shows a small gateway whole', async () => {
    const lines = await page(busyStatus(STATUS, { sensors: 12, devices: 0, outputs: 9 }));
    expect(lines.filter((line) => line.includes('Temperature: '))).toHaveLength(12);
    expect(lines.filter((line) => line.startsWith('  output-'))).toHaveLength(9);
  });

  it('wraps at words, further in than where a row begins', async () => {
    await serve(busyStatus(STATUS, { ...LARGE, failing: 1 }));
    const { out } = await status(FOLDER(), { isTerminal: true, columns: 60, environment: { NO_COLOR: '1' } });
    expect(out).toContain('✕ Sensor 1 (sensor1, mbus) failing: no answer within the\n  time that the line is given');
    expect(out).toContain('uploads   last acknowledged 5m ago, 12 entries sent, trying\n          again in 42s');
    expect(out.split('\n').filter((line) => line.length > 60)).toEqual([]);
  });

  it('colours by state, and says the state in words all the same', async () => {
    await serve(busyStatus(STATUS, { ...LARGE, failing: 1, blocked: 1 }));
    const { out } = await status(FOLDER(), { isTerminal: true, columns: 100 });
    expect(out).toContain('\u001b[1mSensor 1\u001b[22m (sensor1, mbus) \u001b[31mfailing\u001b[39m');
    expect(out).toContain('\u001b[31m1 failing\u001b[39m');
    expect(out).toContain('\u001b[32mread\u001b[39m');
  });

  it.each([
    ['in a pipe', {}, false],
    ['in a pipe with FORCE_COLOR', { environment: { FORCE_COLOR: '1' } }, true],
    ['on a terminal', { isTerminal: true }, true],
    ['on a terminal with NO_COLOR', { isTerminal: true, environment: { NO_COLOR: '1' } }, false],
    ['on a terminal with FORCE_COLOR=0', { isTerminal: true, environment: { FORCE_COLOR: '0' } }, false],
  ])('has colours or none %s', async (_where, options, isColoured) => {
    await serve();
    expect((await status(FOLDER(), options)).out.includes('\u001b[')).toBe(isColoured);
  });
});
