/** `turnstone scan serial` on ptys that send what devices were recorded to send, in pieces, over and over. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { firstConfigText } from '../../../src/cli/first-config.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { loadConfig } from '../../../src/config/read-config.ts';
import { linuxPorts } from '../../../src/hardware/linux-ports.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { thisHost } from '../../../src/host/machine.ts';
import { type HeardPort, listenOn } from '../../../src/scan/listen.ts';
import { serialCandidates } from '../../../src/scan/serial-guesses.ts';
import { createSensor } from '../../../src/sensors/create-sensor.ts';
import { PtyWire } from '../../../src/stand-ins/simulated-board/serial-wire.ts';
import { openBoardBench, until } from '../../support/board-bench.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { sensorDeps } from '../../support/sensor-bench.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures');
const PRESETS = join(import.meta.dirname, '../../../src/sensors/serial-line/presets');
const fixtureNames = (await readdir(join(FIXTURES, 'presets'))).filter((file) => file.endsWith('.json'));
const recordedPresets = await Promise.all(
  fixtureNames.map(async (file) => {
    const { preset, bytes, values } = JSON.parse(await readFile(join(FIXTURES, 'presets', file), 'utf8'));
    const isAsked = /^ {2}request/m.test(await readFile(join(PRESETS, `${preset}.yaml`), 'utf8'));
    return { name: preset as string, sent: Buffer.from(bytes, 'hex'), keys: Object.keys(values), isAsked };
  }),
);
const asked = recordedPresets.find(({ name }) => name === 'mh-z19');
const speaking = recordedPresets.filter(({ isAsked }) => !isAsked);
const nmea = JSON.parse(await readFile(join(FIXTURES, 'sensors/nmea-pynmea2.json'), 'utf8')).cases as [string][];
const [telegram = ''] = (await readFile(join(FIXTURES, 'sensors/sml/telegrams.jsonl'), 'utf8')).split('\n');
/** What each port sends, and the section and keys that it is to get. */
const SPEAKERS: readonly {
  readonly name: string;
  readonly sent: Buffer;
  readonly section: RegExp;
  readonly keys: readonly string[];
}[] = [
  ...speaking.map((one) => ({ ...one, section: new RegExp(`kind: serial-line, port: \\S+, .*preset: ${one.name} `) })),
  {
    name: 'gps',
    sent: Buffer.from(
      `${nmea
        .slice(0, 3)
        .map(([sentence]) => sentence)
        .join('\r\n')}\r\n`,
    ),
    section: /kind: nmea, port: \S+, baudRate: 9600/,
    keys: ['latitude', 'heading'],
  },
  {
    name: 'grid',
    sent: Buffer.from(JSON.parse(telegram).telegram, 'hex'),
    section: /kind: sml, port: \S+, baudRate: 9600/,
    keys: ['energyImport'],
  },
  {
    name: 'json',
    sent: Buffer.from('{"flow":2.5,"on":true}\r\n'),
    section: /kind: serial-line, .*baudRate: 9600.*format: json/,
    keys: ['flow', 'on'],
  },
];
const MUTE = 'mute';
const OTHERS = {
  text: Buffer.from('temperature=21.5 H=\u001b40\r\n'),
  noise: Buffer.from('0102fe80990a350a7bfe', 'hex'),
  [MUTE]: Buffer.alloc(0),
};

let folder: string;
const closing: (() => void)[] = [];
const written: Buffer[] = [];
const ports = linuxPorts(systemClock, 'sysfs');
const { signal } = new AbortController();
const pathOf = (name: string): string => join(folder, name);
let heard: readonly HeardPort[];
let text: string;

/** A device that repeats itself, and answers where it is asked. */
function device(name: string, sent: Buffer, answer?: (request: Buffer) => Uint8Array | undefined): void {
  const wire = new PtyWire(pathOf(name), (request) => {
    written.push(Buffer.from(request));
    const given = answer?.(Buffer.from(request));
    if (given !== undefined) wire.send(given);
  });
  const send = setInterval(() => {
    for (let at = 0; at < sent.length; at += 7) wire.send(sent.subarray(at, at + 7));
  }, 10);
  closing.push(() => {
    clearInterval(send);
    wire.close();
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-scan-serial-'));
  for (const { name, sent } of SPEAKERS) device(name, sent);
  for (const [name, sent] of Object.entries(OTHERS)) device(name, sent);
  const found = [...SPEAKERS.map(({ name }) => name), ...Object.keys(OTHERS)].map((name) => ({ path: pathOf(name) }));
  const candidates = await serialCandidates('/nowhere/turnstone.yaml');
  heard = await listenOn({ ...thisHost, ports }, found, { forMs: 400, candidates }, signal);
  const board = { chips: [], thermometers: [], faults: [], serialPorts: heard };
  text = firstConfigText({
    url: 'https://example.org',
    credentials: { way: 'token-variable', variable: 'TOKEN' },
    found: board,
  });
}, 30_000);
afterAll(async () => {
  await ports.close();
  for (const close of closing) close();
  await rm(folder, { recursive: true, force: true });
});

async function scan(...words: readonly string[]) {
  const edge = fakeEdge({ columns: 200 });
  const exitCode = await runCommandLine(['scan', 'serial', ...words], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

/** What is proposed for a port. */
function linesFor(name: string): string {
  const lines = text.split('\n');
  const at = lines.findIndex(
    (line) => line.includes(` ${pathOf(name)} gives `) || line.includes(`port: ${pathOf(name)}. `),
  );
  return lines.slice(at, at + 2).join('\n');
}

describe('listening on serial ports', () => {
  it('writes nothing', () => {
    expect(written).toEqual([]);
  });

  it.each(SPEAKERS)('proposes the section that reads what $name sends', ({ name, section, keys }) => {
    expect(linesFor(name)).toMatch(section);
    const [guess] = heard.find(({ path }) => path === pathOf(name))?.guesses ?? [];
    // A device may send its values in several parts.
    expect(guess?.keys.some((key) => keys.includes(key))).toBe(true);
  });

  it('says what nobody here understands, and that nothing was heard, with an example as a comment', () => {
    expect(linesFor('text')).toMatch(
      /It sends lines of text: "temperature=21\.5 H=�40"\n {2}# - \{ name: \w+, kind: serial-line, port: /,
    );
    expect(linesFor('noise')).toMatch(/It sends bytes of an unknown kind: [0-9a-f ]+\n {2}# - /);
    expect(linesFor(MUTE)).toMatch(/Nothing was heard\.\n {2}# - /);
    expect(text).toContain(`turnstone scan modbus --port ${pathOf(MUTE)}`);
  });

  it('gives sections that check-config takes together, and that read the values', async () => {
    const { sensors } = await configOf(text, { TOKEN: 'fixture-token' });
    const onPorts = sensors.filter((sensor) => 'port' in sensor);
    expect(onPorts.map((sensor) => 'port' in sensor && sensor.port)).toEqual(SPEAKERS.map(({ name }) => pathOf(name)));
    for (const [at, config] of onPorts.entries()) {
      const sensor = await createSensor(config, sensorDeps({ ports, folder }), signal);
      const missing = new Set(SPEAKERS[at]?.keys);
      sensor.subscribe?.((readings) => {
        for (const { key } of readings) missing.delete(key);
      });
      await until(`values of ${config.name}`, async () => {
        const readings = await sensor.read(AbortSignal.timeout(2_000)).catch(() => []);
        for (const { key } of readings) missing.delete(key);
        return missing.size === 0;
      });
      await sensor.close();
    }
  });
});

const [console = ''] = (await readFile('/sys/class/tty/console/active', 'utf8').catch(() => '')).trim().split(' ');
it.skipIf(console === '')('leaves the console of the machine alone', async () => {
  const [port] = await listenOn(
    { ...thisHost, ports },
    [{ path: `/dev/${console}` }],
    { forMs: 10, candidates: [] },
    signal,
  );
  expect(port?.heard).toEqual({ what: 'It is the console of this machine.' });
});

describe('turnstone scan serial', () => {
  it('prints a section to paste, and JSON for programs', async () => {
    const { exitCode, out } = await scan('--port', pathOf('sds011'), '--for', '400ms');
    expect(exitCode).toBe(EXIT.ok);
    expect((await configOf(`${SMALLEST}${out}`)).sensors).toMatchObject([
      { name: 'sds011', preset: 'sds011', port: pathOf('sds011') },
    ]);
    const { out: json } = await scan('--port', pathOf('sds011'), '--for', '400ms', '--json');
    expect(JSON.parse(json)).toMatchObject([
      { path: pathOf('sds011'), guesses: [{ name: 'sds011', keys: ['pm2_5', 'pm10'] }] },
    ]);
  });

  it('says that a port is in use, and leaves it alone', async () => {
    const held = await ports.serial.open({ port: pathOf(MUTE), baudRate: 9_600 }, signal);
    const { out } = await scan('--port', pathOf(MUTE), '--for', '10ms');
    await held.close();
    expect(out).toMatch(/It is in use by another program\./);
  });

  it('asks with the requests of presets only when it is told to', async () => {
    device('co2', Buffer.alloc(0), () => asked?.sent);
    written.length = 0;
    expect((await scan('--port', pathOf('co2'), '--for', '10ms')).out).toMatch(/# - \{ name: serial/);
    expect(written).toEqual([]);
    const { out } = await scan('--port', pathOf('co2'), '--for', '10ms', '--ask');
    expect((await configOf(`${SMALLEST}${out}`)).sensors).toMatchObject([{ preset: 'mh-z19' }]);
  });

  it('asks for the master of a stack of batteries', async () => {
    const [first = ''] = (await readFile(join(FIXTURES, 'meters/pylontech/frames.jsonl'), 'utf8')).split('\n');
    const frame = Buffer.from(`~${JSON.parse(first).frame}\r`);
    device('stack', Buffer.alloc(0), (request) =>
      Buffer.from(request).toString() === '~20024642E00202FD33\r' ? frame : undefined,
    );
    const { out } = await scan('--port', pathOf('stack'), '--for', '10ms', '--ask', '--units', '2', '--timeout', '2s');
    expect((await configOf(`${SMALLEST}${out}`)).sensors).toMatchObject([
      { kind: 'pylontech', address: 2, baudRate: 115_200, parity: 'none' },
    ]);
  }, 60_000);

  it('asks each primary address of the M-Bus, and reads the meters that acknowledge', async () => {
    const answers = await readFile(join(FIXTURES, 'sensors/mbus/answers.jsonl'), 'utf8');
    const frame = Buffer.from(JSON.parse(answers.split('\n')[0] ?? '').frame, 'hex');
    const ofMeter = Buffer.from(frame);
    ofMeter[5] = 3;
    ofMeter[ofMeter.length - 2] = ofMeter.subarray(4, -2).reduce((sum, byte) => (sum + byte) & 0xff, 0);
    device('bus', Buffer.alloc(0), ([start, control, address]) =>
      start !== 0x10 || address !== 3 ? undefined : control === 0x40 ? Uint8Array.of(0xe5) : ofMeter,
    );
    const { out } = await scan('--port', pathOf('bus'), '--for', '10ms', '--ask', '--units', '2-4', '--timeout', '2s');
    const { sensors } = await configOf(`${SMALLEST}${out}`);
    expect(sensors).toMatchObject([{ kind: 'mbus', address: 3, baudRate: 2_400, parity: 'even' }]);
  }, 60_000);
});

describe('turnstone init', () => {
  it('proposes what it hears on a serial port, and an example without listening', async () => {
    const steps = { kind: 'steps' as const, values: [1.25, 2.5], everyMs: 20 };
    const bench = await openBoardBench((at) => ({
      serial: [
        { port: join(at, 'ttyStation'), talk: { kind: 'lines', periodMs: 20, values: { flow: { signal: steps } } } },
      ],
    }));
    const token = join(bench.folder, 'token');
    await writeFile(token, 'fixture-token\n');
    const init = async (name: string, ...words: readonly string[]) => {
      const out = join(bench.folder, name);
      const flags = [
        '--yes',
        '--url',
        'https://example.org',
        '--access-token-file',
        token,
        '--simulate',
        bench.socketPath,
        '--out',
        out,
      ];
      const edge = fakeEdge();
      const exitCode = await runCommandLine(['init', ...flags, ...words], { edge, version: () => '' });
      expect({ exitCode, err: edge.err() }).toEqual({ exitCode: EXIT.ok, err: '' });
      return await loadConfig(out, { environment: {} });
    };
    try {
      const { sensors } = await init('heard.yaml');
      expect(sensors.filter(({ kind }) => kind === 'serial-line')).toMatchObject([
        { port: join(bench.folder, 'ttyStation'), format: 'json' },
      ]);
      const unheard = await init('unheard.yaml', '--no-listen');
      expect(unheard.sensors.map(({ kind }) => kind)).toEqual(['host']);
      expect(await readFile(join(bench.folder, 'unheard.yaml'), 'utf8')).toMatch(
        /What hangs on it\?\n {2}# - \{ name: serial, kind: serial-line/,
      );
    } finally {
      await bench.close();
    }
  }, 30_000);
});
