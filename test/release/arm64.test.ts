/**
 * The release for arm64, built here and started under user-mode emulation: its runtime, its cross-compiled modules, its configuration
 * check, and readings of a simulated board that arrive at a platform. Run by scripts/test-release.sh, which installs the emulator.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { type BuiltRelease, buildRelease, makeSigningKey, ROOT, until } from '../support/installed-gateway.ts';
import { PlatformPerson } from '../support/platform-people.ts';

const run = promisify(execFile);
/** The emulator, and where Debian puts the C library of the other architecture. */
const EMULATOR = ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'] as const;
const AARCH64 = 0xb7;
let out: string;
let folder: string;
let release: BuiltRelease;

beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'turnstone-arm64-'));
  release = await buildRelease({ out, key: await makeSigningKey(out), arch: 'arm64' });
  folder = release.file.replace(/\.tar\.zst$/, '');
}, 600_000);
afterAll(() => rm(out, { recursive: true, force: true }));

function words(...command: readonly string[]): string[] {
  return [...EMULATOR.slice(1), join(folder, 'node'), join(folder, 'main.mjs'), ...command];
}

async function turnstone(...command: readonly string[]): Promise<string> {
  return (await run(EMULATOR[0], words(...command))).stdout;
}

describe('the arm64 release', { timeout: 120_000 }, () => {
  it('holds only programs for that machine', async () => {
    for (const file of [
      'node',
      'native/turnstone.node',
      'native/epoll.node',
      'native/i2c.node',
      'native/serialport.node',
    ]) {
      const head = (await readFile(join(folder, file))).subarray(0, 20);
      expect([head.toString('latin1', 1, 4), head.readUInt16LE(18)], file).toEqual(['ELF', AARCH64]);
    }
  });

  it('starts and says its version', async () => {
    expect(await turnstone('--version')).toBe(`${release.release}\n`);
  });

  it('loads every native module', async () => {
    expect(await turnstone('firmware', 'self-test')).toBe('ok\n');
  });

  it('accepts the example configuration', async () => {
    expect(await turnstone('check-config', join(ROOT, 'config/turnstone.example.yaml'))).toContain('good');
  });

  it('brings the readings of a simulated board to the platform', async () => {
    const platform = await LocalPlatform.start();
    const started: ChildProcess[] = [];
    try {
      const { id } = platform.ensureDevice('arm', 'arm-token');
      const config = join(out, 'turnstone.yaml');
      const socket = join(out, 'board.sock');
      await writeFile(
        config,
        `version: 1
platform: { url: "${platform.url}", accessToken: arm-token }
stateFolder: ${join(out, 'state')}
runFolder: ${join(out, 'run')}
time: { trust: always }
status: { page: loopback, port: 0 }
hardware: { board: simulated, boardSocket: ${socket} }
sensors:
  - { name: roof, kind: bme280, bus: 1, address: 0x76, period: 1s }
  - { name: machine, kind: host, period: 1s }
`,
      );
      started.push(
        spawn(process.execPath, [join(ROOT, 'src/main.ts'), 'board', '--socket', socket, '--fit', config], {
          stdio: 'ignore',
        }),
      );
      started.push(spawn(EMULATOR[0], words('run', '--config', config), { stdio: ['ignore', 'ignore', 'inherit'] }));
      const person = await PlatformPerson.logIn(platform.url);
      for (const key of ['temperature', 'humidity', 'uptimeS']) {
        await until(`${key} arrives`, async () => (await person.values(id, key)).length > 0, 90_000);
      }
    } finally {
      for (const child of started) {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGTERM');
        await ended;
      }
      await platform.close();
    }
  });
});
