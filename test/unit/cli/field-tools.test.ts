import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { sparkline } from '../../../src/cli/watch-view.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';
import { socketOperations } from '../../support/socket-operations.ts';

let folder: string;
let server: ControlServer | undefined;
let temperature = 20;
let looks = 0;
let moved: JsonObject[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-field-'));
  temperature = 20;
  looks = 0;
  moved = [];
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

function status(): JsonValue {
  looks += 1;
  temperature += 0.5;
  return {
    version: '1',
    nowMs: 10_000 + looks * 1_000,
    deviceName: 'gateway-1',
    platform: { words: 'up to date' },
    outbox: { heldEntries: 4 },
    sensors: [
      {
        name: 'roof',
        kind: 'bme280',
        state: 'ok',
        readings: [
          { key: 'temperature', value: temperature, unit: '°C', atMs: 9_000 + looks * 1_000 },
          { key: 'humidity', value: 40, atMs: 9_000 },
        ],
      },
      { name: 'door', kind: 'gpio-input', state: 'failing', fault: 'line busy', readings: [] },
    ],
    actuators: [
      { name: 'pump', kind: 'gpio-output', value: false },
      { name: 'boiler', label: 'Hot water', class: 'heater', kind: 'gpio-output', value: false },
    ],
  };
}

async function serve(): Promise<void> {
  server = await ControlServer.open(
    {
      ...socketOperations({
        readMethods: {
          getStatus: status,
          getActuator: () => ({
            why: 'off, because rule frost released it 3 min ago',
            slots: [{ slot: 'rule', value: false, rule: 'frost' }],
            silent: [{ rule: 'night', why: 'the clock is not trusted' }],
          }),
        },
        methods: {
          readSensor: ({ name }) => {
            if (name !== 'roof')
              throw new AgentError('sensors/unknown', `there is no sensor ${String(name)}`, { recovery: 'drop' });
            return [{ key: 'temperature', value: 21.123456789, unit: '°C' }];
          },
          releaseActuator: (params) => {
            moved.push(params);
            return { value: 'off' };
          },
          setActuator: (params) => {
            moved.push(params);
            return { name: params.name ?? '', value: params.value ?? null };
          },
        },
      }),
      folder,
      clock: systemClock,
      files: systemFiles,
      log: silentLog,
    },
    new AbortController().signal,
  );
}

async function run(words: readonly string[], options: FakeEdgeOptions = {}) {
  const edge = fakeEdge(options);
  const exitCode = await runCommandLine([...words, '--run-folder', folder], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

describe('turnstone sensors', () => {
  it('lists what each sensor shows, and why one does not', async () => {
    await serve();
    const { exitCode, out } = await run(['sensors']);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toMatch(/^roof +bme280 +temperature +20\.5 °C +1s +ok$/m);
    expect(out).toMatch(/^door +gpio-input .*failing: line busy$/m);
    expect(JSON.parse((await run(['sensors', '--json'])).out)).toHaveLength(2);
  });

  it('reads one now, by the agent', async () => {
    await serve();
    expect((await run(['sensors', 'read', 'roof'])).out).toBe('temperature  21.123456789 °C\n');
    expect(JSON.parse((await run(['sensors', 'read', 'roof', '--json'])).out)).toEqual([
      { key: 'temperature', value: 21.123456789, unit: '°C' },
    ]);
    expect(await run(['sensors', 'read', 'attic'])).toMatchObject({
      exitCode: EXIT.usage,
      err: 'turnstone: there is no sensor attic (sensors/unknown)\n',
    });
  });

  it('says which value of a reading there is none of', async () => {
    const config = join(folder, 'turnstone.yaml');
    const sensor =
      '{ name: both, kind: command, program: /bin/echo, arguments: ["nan,40"], format: csv, columns: [t, h] }';
    await writeFile(
      config,
      `version: 1\nplatform: { url: "https://example.org" }\nrunFolder: ${folder}\nsensors: [${sensor}]\n`,
    );
    const { out, err } = await run(['sensors', 'read', 'both', '--config', config]);
    expect({ out, err }).toEqual({ out: 'h  40\n', err: 'turnstone: no t: the line says nan\n' });
  });

  it('reads one by itself when no agent runs', async () => {
    const config = join(folder, 'turnstone.yaml');
    const sensor = '{ name: files, kind: command, program: /bin/echo, arguments: ["17"], format: number, key: answer }';
    await writeFile(
      config,
      `version: 1\nplatform: { url: "https://example.org" }\nrunFolder: ${folder}\nsensors: [${sensor}]\n`,
    );
    expect((await run(['sensors', 'read', 'files', '--config', config])).out).toBe('answer  17\n');
    expect(await run(['sensors', 'read', 'fils', '--config', config])).toMatchObject({
      exitCode: EXIT.usage,
      err: expect.stringContaining('the configuration has files'),
    });
  });
});

describe('turnstone actuate', () => {
  it('calls an output by its label, and its state by its class; programs get the name and the value', async () => {
    await serve();
    expect((await run(['actuate', 'boiler', 'on'])).out).toBe('Hot water: heating\n');
    expect(JSON.parse((await run(['actuate', 'boiler', 'on', '--json'])).out)).toEqual({ name: 'boiler', value: true });
    expect((await run(['actuate', 'boiler', '--why'])).out).toMatch(/^Hot water: off, because .*\n {2}rule +idle/);
  });

  it.each([
    ['on', true],
    ['off', false],
    ['60', 60],
    ['-1.5', -1.5],
    ['OPEN', 'OPEN'],
  ])('takes %s as a technician means it', async (typed, value) => {
    await serve();
    expect((await run(['actuate', 'pump', typed])).exitCode).toBe(EXIT.ok);
    expect(moved).toEqual([{ name: 'pump', value }]);
  });

  it('takes a number as text where it is told to', async () => {
    await serve();
    expect((await run(['actuate', 'sign', '17', '--text'])).out).toBe('sign: 17\n');
    expect(moved).toEqual([{ name: 'sign', value: '17' }]);
  });

  it('holds a value for a time, and releases it', async () => {
    await serve();
    expect((await run(['actuate', 'pump', 'on', '--for', '2h'])).exitCode).toBe(EXIT.ok);
    expect((await run(['actuate', 'pump', '--release'])).out).toBe('pump: off\n');
    expect(moved).toEqual([{ name: 'pump', value: true, for: '2h' }, { name: 'pump' }]);
  });

  it('tells why an actuator is as it is, with its slots, and moves nothing', async () => {
    await serve();
    const { out } = await run(['actuate', 'pump', '--why']);
    expect(out).toMatch(
      /^pump: off, because rule frost released it 3 min ago\n +rule +off +frost\n +silent +night: the clock is not trusted\n/,
    );
    expect(moved).toEqual([]);
  });

  it.each([[['pump']], [['pump', 'on', '--why']], [['pump', '--release', '--for', '1h']]])(
    'takes no %j',
    async (words) => {
      await serve();
      expect((await run(['actuate', ...words])).exitCode).toBe(EXIT.usage);
      expect(moved).toEqual([]);
    },
  );

  it('moves nothing when no agent runs', async () => {
    expect(await run(['actuate', 'pump', 'on'])).toMatchObject({
      exitCode: EXIT.notRunning,
      err: expect.stringContaining('no agent answers'),
    });
  });
});

describe('turnstone watch', () => {
  const words = (...more: string[]): string[] => ['watch', '--every', '100ms', '--times', '3', ...more];

  it('draws a live table with a curve for each key', async () => {
    await serve();
    const { exitCode, out } = await run(words(), { isTerminal: true, environment: { NO_COLOR: '1' } });
    expect(exitCode).toBe(EXIT.ok);
    const last = out.replaceAll('\u001b[K', '').split('\u001b[H').at(-1) ?? '';
    expect(last).toMatch(/roof +Temperature +21\.5 °C +▁▅█ +1s/);
    expect(last).toContain('line busy');
    expect(last).toMatch(/pump +off/);
    expect(out.startsWith('\u001b[?1049h')).toBe(true);
    expect(out.endsWith('\u001b[?1049l')).toBe(true);
  });

  it('prints only what changes where no terminal is', async () => {
    await serve();
    expect((await run(words())).out.split('\n')).toEqual([
      'roof temperature = 20.5 °C',
      'roof humidity = 40',
      'roof temperature = 21 °C',
      'roof temperature = 21.5 °C',
      '',
    ]);
  });

  it('prints new readings as JSON lines', async () => {
    await serve();
    const lines = (await run(words('--json'))).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ key }) => key === 'temperature').map(({ value }) => value)).toEqual([20.5, 21, 21.5]);
  });

  it('refuses to look all the time', async () => {
    expect(await run(['watch', '--every', '1ms'])).toMatchObject({ exitCode: EXIT.usage });
  });
});

describe('a sparkline', () => {
  it('goes from the least to the greatest', () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe('▁▂▃▄▅▆▇█');
    expect(sparkline([5, 5, 5])).toBe('▁▁▁');
    expect(sparkline([])).toBe('');
  });
});
