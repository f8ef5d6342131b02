/** Meters that `turnstone init` finds, as devices of their own on the platform. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { firstConfigText } from '../../../src/cli/first-config.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import type { HeardPort } from '../../../src/scan/listen.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';
import { configOf } from '../../support/config-file.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

const settings = { baudRate: 2_400, dataBits: 8, parity: 'even' } as const;
const meter = (address: number, keys: readonly string[]) => ({
  name: 'meter',
  options: { kind: 'mbus', address },
  settings,
  keys,
  possible: keys,
});
const LINE: HeardPort = { path: '/dev/ttyUSB0', guesses: [meter(1, ['energy', 'serialNumber']), meter(2, ['energy'])] };

describe('meters on one bus', () => {
  const text = (hasDevices: boolean): string =>
    firstConfigText({
      url: 'https://example.org',
      hasDevices,
      found: { chips: [], thermometers: [], faults: [], serialPorts: [LINE] },
      credentials: { way: 'later' },
    });

  it('are a slot each, with the serial number where it is read, and keys of their own', async () => {
    const written = text(true);
    expect(written).toContain(
      'devices: # each a device of its own on the platform\n  - { name: meter, serialNumber: { key: serialNumber } }\n',
    );
    expect(written).not.toContain('prefix');
    const provisioned = written.replace('sensors:', 'provisioning: { deviceKey: k, deviceSecret: s }\nsensors:');
    const { devices, sensors } = await configOf(provisioned);
    expect(devices.map(({ name, deviceName }) => [name, deviceName])).toEqual([
      ['meter', '{gateway} {serialNumber}'],
      ['meter2', '{gateway} {name}'],
    ]);
    expect(sensors.map(({ name, device }) => [name, device])).toEqual([
      ['machine', undefined],
      ['meter', 'meter'],
      ['meter2', 'meter2'],
    ]);
  });

  it('are keys of the gateway otherwise', () => {
    expect(text(false)).not.toContain('device');
    expect(text(false)).toContain('prefix: meter2.');
  });
});

describe('turnstone init where several meters speak', () => {
  let folder: string;
  let board: BoardBench;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnstone-first-devices-'));
    for (const name of ['key', 'secret', 'token']) await writeFile(join(folder, name), `${name}\n`);
    const hex = Buffer.from('{"power":12}\r\n').toString('hex');
    board = await openBoardBench((at) => ({
      serial: ['ttyA', 'ttyB'].map((port) => ({
        port: join(at, port),
        talk: { kind: 'bytes' as const, hex, periodMs: 50 },
      })),
    }));
  });
  afterEach(async () => {
    await board.close();
    await rm(folder, { recursive: true });
  });

  async function init(answer: string | undefined, credentials: readonly string[], more: readonly string[] = []) {
    const edge = fakeEdge({ answers: answer === undefined ? [] : ['n', answer] });
    const out = join(folder, 'turnstone.yaml');
    const words = [
      '--url',
      'https://example.org',
      ...credentials,
      ...more,
      '--simulate',
      board.socketPath,
      '--out',
      out,
      '--force',
    ];
    const exitCode = await runCommandLine(['init', ...words], { edge, version: () => '' });
    return { exitCode, asked: edge.asked, err: edge.err(), text: await readFile(out, 'utf8').catch(() => '') };
  }

  it('asks once, and makes them devices by a yes alone', async () => {
    const provisioned = [
      '--provision-key-file',
      join(folder, 'key'),
      '--provision-secret-file',
      join(folder, 'secret'),
    ];
    const yes = await init('y', provisioned);
    expect(yes).toMatchObject({
      exitCode: EXIT.ok,
      asked: [
        expect.stringMatching(/changed from afar/),
        '2 meters were found: each a device of its own on the platform? [y/N] ',
      ],
    });
    expect(yes.text.match(/, device: \w+/g)).toHaveLength(2);
    expect((await init('', provisioned)).text).not.toContain('devices:');
    expect((await init(undefined, provisioned, ['--yes', '--devices'])).text).toContain('devices:');
    const withToken = await init(undefined, ['--access-token-file', join(folder, 'token')]);
    expect(withToken).toMatchObject({ exitCode: EXIT.ok, asked: [expect.stringMatching(/changed from afar/)] });
  }, 60_000);
});
