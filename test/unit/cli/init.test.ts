import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { loadConfig } from '../../../src/config/read-config.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { loadTwins } from '../../../src/kinds/twins.ts';
import { type BoardConfigInput, parseBoardConfig } from '../../../src/stand-ins/simulated-board/board-config.ts';
import { BoardRecord } from '../../../src/stand-ins/simulated-board/board-record.ts';
import { BoardServer } from '../../../src/stand-ins/simulated-board/board-server.ts';
import { SimulatedBoard } from '../../../src/stand-ins/simulated-board/simulated-board.ts';
import { type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';

const constant = (value: number) => ({ kind: 'constant', value }) as const;
const ROOM = { temperature: constant(21), humidity: constant(40), pressure: constant(1010) };
const BOARD: BoardConfigInput = {
  i2c: [
    {
      bus: 1,
      chips: [
        { kind: 'mcp9808', address: 0x18, signals: ROOM },
        { kind: 'bh1750', address: 0x23, signals: { illuminance: constant(400) } },
        { kind: 'ina219', address: 0x40, signals: { voltage: constant(12), current: constant(1) } },
        { kind: 'sht3x', address: 0x44, signals: ROOM },
        { kind: 'ads1115', address: 0x48, signals: { A0: constant(1) } },
        { kind: 'tmp102', address: 0x49, signals: ROOM },
        { kind: 'bme280', address: 0x76, signals: ROOM },
        { kind: 'bmp280', address: 0x77, signals: ROOM },
      ],
    },
    { bus: 4, chips: [{ kind: 'lm75', address: 0x4f, signals: ROOM }] },
  ],
  oneWire: [{ id: '28-0316a2794aff', signal: constant(20) }],
  serial: [{ port: '/dev/ttyUSB7', pty: false, talk: { kind: 'echo' } }],
};

let folder: string;
let board: SimulatedBoard;
let server: BoardServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-init-'));
  board = new SimulatedBoard(parseBoardConfig(BOARD), {
    clock: systemClock,
    record: new BoardRecord({ clock: systemClock }),
    twins: await loadTwins(),
  });
  server = await BoardServer.open(board, join(folder, 'board.sock'));
  await writeFile(join(folder, 'token'), 'fixture-token\n');
});

afterEach(async () => {
  await server.close();
  board.close();
  await rm(folder, { recursive: true, force: true });
});

async function init(words: readonly string[], options: FakeEdgeOptions = {}) {
  const edge = fakeEdge(options);
  const out = join(folder, 'etc/turnstone.yaml');
  const exitCode = await runCommandLine(
    ['init', '--no-listen', '--simulate', join(folder, 'board.sock'), '--out', out, ...words],
    {
      edge,
      version: () => '',
    },
  );
  return {
    exitCode,
    out: edge.out(),
    err: edge.err(),
    asked: edge.asked,
    text: await readFile(out, 'utf8').catch(() => ''),
    config: () => loadConfig(out, { environment: {} }),
    file: out,
  };
}

const YES = (): string[] => ['--yes', '--url', 'https://iot.example.org', '--access-token-file', join(folder, 'token')];

describe('turnstone init', () => {
  it('finds every chip on the buses, and tells them apart by their registers', async () => {
    const { exitCode, config } = await init(YES());
    expect(exitCode).toBe(EXIT.ok);
    const found = (await config()).sensors.map((sensor) =>
      'bus' in sensor ? `${sensor.kind} ${sensor.bus}/0x${sensor.address.toString(16)}` : sensor.kind,
    );
    expect(found).toEqual([
      'host',
      'mcp9808 1/0x18',
      'bh1750 1/0x23',
      'ina219 1/0x40',
      'sht3x 1/0x44',
      'ads1115 1/0x48',
      'tmp102 1/0x49',
      'bme280 1/0x76',
      'bmp280 1/0x77',
      'lm75 4/0x4f',
      'ds18b20',
    ]);
  });

  it('gives each key of several thermometers a name of its own', async () => {
    const { config } = await init(YES());
    const { sensors } = await config();
    const renames = sensors
      .map(({ name, keys }) => [name, keys.temperature?.rename])
      .filter(([, rename]) => rename !== undefined);
    expect(renames).toEqual([
      ['machine', 'machineTemperature'],
      ['sht3x', 'temperature2'],
      ['tmp102', 'temperature3'],
      ['bme280', 'temperature4'],
      ['bmp280', 'temperature5'],
      ['lm75', 'temperature6'],
      ['thermometer', 'temperature7'],
    ]);
  });

  it('shows what it takes a person for as comments', async () => {
    const { text } = await init(YES());
    expect(text).toContain('# A serial port: /dev/ttyUSB7 (simulated). What hangs on it?');
    expect(text).toMatch(/kind: tmp102, .* # by its address and registers/);
  });

  it('says what it found and what comes next', async () => {
    const { out, file } = await init(YES());
    expect(out).toContain(
      'found   mcp9808, bh1750, ina219, sht3x, ads1115, tmp102, bme280, bmp280, lm75, thermometer 28-0316a2794aff, serial port /dev/ttyUSB7',
    );
    expect(out).toContain(`next    sudo turnstone doctor --config ${file}`);
  });

  it('reads each sensor once, and shows what it gave', async () => {
    const { out } = await init(YES());
    expect(out).toMatch(/^read {2}mcp9808 +temperature 21 °C$/m);
    expect(out).toMatch(/^read {2}bme280 +temperature4 21 °C, pressure 1010 hPa, humidity2 40 %$/m);
    expect((await init([...YES(), '--force', '--no-try'])).out).not.toMatch(/^read/m);
  });

  it('asks a technician the few questions, and keeps what is secret out of the configuration', async () => {
    const { exitCode, asked, text, config } = await init(['--no-try'], {
      answers: ['https://iot.example.org', '', 'the-key', 'the-secret', '', 'y'],
    });
    expect(exitCode).toBe(EXIT.ok);
    expect(asked).toHaveLength(6);
    const { provisioning, remoteConfiguration } = await config();
    expect(remoteConfiguration.enabled).toBe(true);
    expect(provisioning).toMatchObject({
      deviceName: 'gateway-{serial|mac}',
      deviceKeyFile: join(folder, 'etc/provision-key'),
    });
    expect([provisioning?.deviceKey?.reveal(), provisioning?.deviceSecret?.reveal()]).toEqual([
      'the-key',
      'the-secret',
    ]);
    expect(text).not.toMatch(/the-key|the-secret/);
    expect((await stat(join(folder, 'etc/provision-secret'))).mode & 0o007).toBe(0);
  });

  it('takes a token that is typed', async () => {
    const { config } = await init(['--no-try'], { answers: ['https://iot.example.org', 't', 'typed-token'] });
    expect((await config()).platform.accessToken?.reveal()).toBe('typed-token');
  });

  it('names an environment variable that only the service has', async () => {
    const { exitCode, text } = await init([
      '--yes',
      '--url',
      'https://iot.example.org',
      '--access-token-env',
      'TURNSTONE_TOKEN_OF_SERVICE',
    ]);
    expect(exitCode).toBe(EXIT.ok);
    expect(text).toContain('accessToken: "${' + 'TURNSTONE_TOKEN_OF_SERVICE}"');
  });

  it('does not overwrite a configuration without being told', async () => {
    const { text } = await init(YES());
    const again = await init(['--yes', '--url', 'https://other.example.org']);
    expect(again).toMatchObject({
      exitCode: EXIT.failure,
      text,
      err: expect.stringContaining('overwrite it with --force'),
    });
    expect((await init(['--yes', '--url', 'https://other.example.org', '--force'])).text).toContain(
      'other.example.org',
    );
  });

  it('writes over the example that an installation put there, as long as nobody changed it', async () => {
    const out = join(folder, 'etc/turnstone.yaml');
    const example = await readFile(join(import.meta.dirname, '../../../config/provisioning.example.yaml'));
    await mkdir(join(folder, 'etc'));
    await writeFile(join(folder, 'etc/provisioning.example.yaml'), example);
    await writeFile(out, Buffer.concat([example, Buffer.from('# mine\n')]));
    expect(await init(YES())).toMatchObject({ err: expect.stringContaining('is there already') });
    await writeFile(out, example);
    const { exitCode, text, out: said } = await init(YES());
    expect(exitCode).toBe(EXIT.ok);
    expect(text).not.toContain('the-device-profiles-provision-key');
    expect(said).toContain('sudo systemctl restart turnstone');
  });

  it('takes a link to a disk that is not mounted for a configuration, too', async () => {
    const out = join(folder, 'etc/turnstone.yaml');
    await mkdir(join(folder, 'etc'));
    await symlink(join(folder, 'not-mounted/turnstone.yaml'), out);
    expect(await init(YES())).toMatchObject({
      exitCode: EXIT.failure,
      err: expect.stringContaining('is there already'),
    });
    expect(await readlink(out)).toBe(join(folder, 'not-mounted/turnstone.yaml'));
  });

  it('writes nothing that check-config would refuse', async () => {
    const { exitCode, err, text } = await init(['--yes', '--url', 'https://iot.example.org?x']);
    expect({ exitCode, text }).toEqual({ exitCode: EXIT.badConfig, text: '' });
    expect(err).toContain('platform.url: wrong value "https://iot.example.org?');
  });

  it.each([
    [[], 'nobody can be asked here; say --yes'],
    [['--yes'], 'the address of the platform is missing; give it as --url'],
    [['--yes', '--url', 'https://x', '--provision-key-file', '/k'], 'provisioning needs a key and a secret'],
  ])('says in one line what %j lacks', async (words, message) => {
    const { exitCode, err } = await init(words);
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toMatch(new RegExp(`^turnstone: ${message}.*\\n$`));
  });

  it('goes on when a bus cannot be looked at', async () => {
    await server.close();
    const { exitCode, out, config } = await init(YES());
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toContain('! not looked at: I2C');
    expect((await config()).sensors.map(({ kind }) => kind)).toEqual(['host']);
    server = await BoardServer.open(board, join(folder, 'board.sock'));
  });
});
