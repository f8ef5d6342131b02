import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { loadTwins } from '../../../src/kinds/twins.ts';
import { scanI2cBus } from '../../../src/scan/find-chips.ts';
import { parseBoardConfig } from '../../../src/stand-ins/simulated-board/board-config.ts';
import { BoardRecord } from '../../../src/stand-ins/simulated-board/board-record.ts';
import { BoardServer } from '../../../src/stand-ins/simulated-board/board-server.ts';
import { SimulatedBoard } from '../../../src/stand-ins/simulated-board/simulated-board.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

const constant = (value: number) => ({ kind: 'constant', value }) as const;
const BOARD = {
  gpio: [{ chip: 'gpiochip0', label: 'pinctrl-test', lines: 4, names: { 0: 'GPIO0', 1: 'DOOR' }, held: { 2: 'leds' } }],
  i2c: [
    { bus: 1, chips: [{ kind: 'bme280', address: 0x76, signals: {} }] },
    { bus: 3, chips: [{ kind: 'tmp102', address: 0x4a, signals: { temperature: constant(20) } }] },
  ],
  oneWire: [{ id: '28-0316a2794aff', signal: constant(20) }],
  serial: [{ port: '/dev/ttyUSB7', pty: false, talk: { kind: 'echo' } }],
  kernel: [
    { of: 'iio' as const, name: 'ads1015', place: '1-0048', files: { in_voltage0_raw: '12', in_voltage0_scale: '3' } },
  ],
};

let folder: string;
let socket: string;
let board: SimulatedBoard;
let server: BoardServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-scan-'));
  socket = join(folder, 'board.sock');
  board = new SimulatedBoard(parseBoardConfig(BOARD), {
    clock: systemClock,
    record: new BoardRecord({ clock: systemClock }),
    twins: await loadTwins(),
  });
  server = await BoardServer.open(board, socket);
});
afterAll(async () => {
  await server.close();
  board.close();
  await rm(folder, { recursive: true, force: true });
});

async function scan(...words: string[]) {
  const edge = fakeEdge();
  const exitCode = await runCommandLine(['scan', ...words], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

describe('turnstone scan', () => {
  it('shows who answers on I2C, and the line that switches it on', async () => {
    const { exitCode, out } = await scan('i2c', '--simulate', socket);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toMatch(/i2c-1 +0x76 +bme280 +- \{ name: bme280, kind: bme280, bus: 1, address: 0x76 \}/);
    expect(out).toMatch(/i2c-3 +0x4a +tmp102\? /);
    expect((await scan('i2c', '--bus', '3', '--simulate', socket)).out).not.toContain('bme280');
  });

  it('has headings in the colours that its person has set', async () => {
    const environment = { XDG_CONFIG_HOME: join(folder, 'settings') };
    const coloured = async (colours: string): Promise<boolean> => {
      await mkdir(join(folder, 'settings/turnstone-nodejs'), { recursive: true });
      await writeFile(join(folder, 'settings/turnstone-nodejs/config.json'), JSON.stringify({ colours }));
      const edge = fakeEdge({ environment, isTerminal: true });
      await runCommandLine(['scan', 'one-wire', '--simulate', socket], { edge, version: () => '' });
      return edge.out().includes('\u001b[1mID');
    };
    expect([await coloured('always'), await coloured('never')]).toEqual([true, false]);
  });

  it('writes nothing to any chip when only addresses are wanted, and says what asking chips may do', async () => {
    const { out } = await scan('i2c', '--addresses-only', '--simulate', socket);
    expect(out).toMatch(/i2c-1 +0x76 +\?/);
    expect(out).not.toMatch(/bme280|tmp102/);
    for (const command of ['scan', 'init']) {
      const edge = fakeEdge();
      await runCommandLine([command, '--help'], { edge, version: () => '' });
      expect(edge.out()).toMatch(/take\s+the\s+register’s\s+number\s+for\s+a\s+setting.*--(addresses-only|no-scan)/s);
    }
    const written: string[] = [];
    const told = async (address: number): Promise<never> => {
      written.push(`0x${address.toString(16)}`);
      throw new Error('a chip that takes each first byte for its setting');
    };
    const bus = {
      probe: async (address: number) => address === 0x48,
      write: told,
      readRegisters: told,
      readWord: told,
      close: async () => {},
    };
    const ports = { i2c: { openBus: async () => bus } } as unknown as Ports;
    const signal = new AbortController().signal;
    const chips = await scanI2cBus(ports, 1, { addressesOnly: true }, signal);
    expect({ chips, written }).toEqual({ chips: [{ bus: 1, address: 0x48 }], written: [] });
    await scanI2cBus(ports, 1, {}, signal);
    expect(written).toContain('0x48');
  });

  it('gives lines that check-config takes as they are', async () => {
    const { out } = await scan('i2c', '--simulate', socket);
    const snippets = out.split('\n').flatMap((line) => /- \{ name.*\}/.exec(line)?.[0] ?? []);
    const config = await configOf(
      `${SMALLEST}sensors:\n${snippets
        .map((snippet) => `  ${snippet}\n`)
        .join('')
        .replace('kind: tmp102,', 'kind: tmp102, keys: { temperature: { rename: other } },')}`,
    );
    expect(config.sensors.map(({ kind }) => kind)).toEqual(['bme280', 'tmp102']);
  });

  it('shows GPIO lines, who holds them, and how to name the free ones', async () => {
    const { out } = await scan('gpio', '--simulate', socket);
    expect(out).toMatch(/gpiochip0 0 +pinctrl-test +GPIO0 .*free +line: GPIO0/);
    expect(out).toMatch(/gpiochip0 2 .*held by leds/);
    expect(out).toMatch(/gpiochip0 3 .*line: \{ chip: gpiochip0, offset: 3 \}/);
  });

  it('shows serial ports and one-wire thermometers', async () => {
    expect((await scan('serial', '--for', '10ms', '--simulate', socket)).out).toContain('port: /dev/ttyUSB7');
    expect((await scan('one-wire', '--simulate', socket)).out).toContain(
      '- { name: thermometer, kind: ds18b20, id: 28-0316a2794aff }',
    );
  });

  it('shows chips that the kernel reads, and what to do where it reads none', async () => {
    expect((await scan('iio', '--simulate', socket)).out).toMatch(
      /ads1015 +1-0048 +voltage0 +- \{ name: ads1015, kind: iio, chip: ads1015 \}/,
    );
    expect((await scan('hwmon', '--simulate', socket)).err).toMatch(/nothing found; .*a dtoverlay line in config\.txt/);
  });

  it('prints the same as JSON', async () => {
    expect(JSON.parse((await scan('i2c', '--simulate', socket, '--json')).out)[0]).toEqual({
      bus: 1,
      address: 0x76,
      guess: { kind: 'bme280', isCertain: true },
    });
  });

  it('looks at the board that a configuration names', async () => {
    const config = join(folder, 'turnstone.yaml');
    await writeFile(config, `hardware: { board: simulated, boardSocket: ${socket} }\n`);
    expect((await scan('one-wire', '--config', config)).out).toContain('28-0316a2794aff');
  });

  it('says in one line what it does not know', async () => {
    const { exitCode, err } = await scan('spi');
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toContain('Allowed choices are i2c, serial, gpio, one-wire');
  });
});
