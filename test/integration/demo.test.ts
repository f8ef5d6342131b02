/** The README's first command, as a newcomer runs it, and what it must say when readings are lost on the way. */
import { execFile, spawn } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from 'vitest';
import { messageOf } from '../../src/errors/agent-error.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';

const DEMO = join(import.meta.dirname, '../../scripts/demo.sh');
const WITHIN_MS = 150_000;

interface Outcome {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
  readonly verdict: {
    readonly appended: number;
    readonly stored: number;
    readonly missing: number;
    readonly different: number;
    readonly durationS: number;
  };
}

/** From the sources, as a newcomer has them, which costs several times what the bundled program does. */
async function demo(...flags: string[]): Promise<Outcome> {
  return demoWith({}, ...flags);
}

/** With the program that is bundled for this run. */
async function quickDemo(...flags: string[]): Promise<Outcome> {
  return demoWith({ TURNSTONE_DEMO_PROGRAM: AGENT_PROGRAM }, ...flags);
}

async function demoWith(environment: Readonly<Record<string, string>>, ...flags: string[]): Promise<Outcome> {
  const child = spawn(DEMO, ['--json', '--port', '0', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (piece: Buffer) => {
    out += piece.toString();
  });
  child.stderr.on('data', (piece: Buffer) => {
    err += piece.toString();
  });
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const last = out.trimEnd().split('\n').at(-1) ?? '';
  try {
    return { exitCode, out, err, verdict: JSON.parse(last) as Outcome['verdict'] };
  } catch (error) {
    throw new Error(`the demo's last line is no verdict (${messageOf(error)}): ${out}${err}`);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// At once: each waits most of its time, and has ports and folders of its own.
describe.concurrent('./scripts/demo.sh', () => {
  it('shows addresses to open, and ends with nothing missing and nothing different', { timeout: WITHIN_MS }, async ({
    expect,
  }) => {
    const { exitCode, out, verdict } = await demo('--for', '10s');
    expect(out).toMatch(/platform +http:\/\/127\.0\.0\.1:\d+/);
    expect(verdict).toMatchObject({ missing: 0, different: 0 });
    expect(verdict.appended).toBeGreaterThan(50);
    expect(exitCode).toBe(0);
  });

  it('loses nothing when the agent is killed every 5 s', { timeout: WITHIN_MS }, async ({ expect }) => {
    const { exitCode, verdict } = await quickDemo('--for', '22s', '--kill-every', '5s');
    expect(verdict).toMatchObject({ missing: 0, different: 0 });
    expect(exitCode).toBe(0);
  });

  it('loses nothing when the platform is gone for a while', { timeout: WITHIN_MS }, async ({ expect }) => {
    const { exitCode, verdict } = await quickDemo('--for', '25s', '--outage', '10s');
    expect(verdict).toMatchObject({ missing: 0, different: 0 });
    expect(exitCode).toBe(0);
  });

  it('finds the batch that a lying proxy swallowed, and exits 1', { timeout: WITHIN_MS }, async ({ expect }) => {
    const { exitCode, err, verdict } = await quickDemo('--for', '15s', '--sabotage');
    expect(verdict.missing).toBeGreaterThan(0);
    expect(err).toContain('is not at the platform');
    expect(exitCode).toBe(1);
  });
});

describe('what the demo prints', () => {
  it('can be pasted as it stands, in any folder', { timeout: WITHIN_MS }, async ({ expect }) => {
    const child = spawn(DEMO, ['--port', '0', '--for', '60s'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, TURNSTONE_DEMO_PROGRAM: AGENT_PROGRAM },
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    let out = '';
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (piece: Buffer) => {
        out += piece.toString();
        if (/^agent .*\n/m.test(out)) resolve();
      });
      child.once('close', () => resolve());
    });
    const command = /^agent +(.*)$/m.exec(out)?.[1] ?? '';
    const outcome = await promisify(execFile)('sh', ['-c', command], { cwd: '/' }).catch((error: unknown) => error);
    child.kill('SIGTERM');
    await ended;
    expect(outcome).toMatchObject({ stdout: expect.stringMatching(/room|sensor/i) });
  });
});

// By themselves: what is shared here is the moment.
describe('a demo', () => {
  it('runs beside another that was started at the same moment and wants the same port', { timeout: WITHIN_MS }, async ({
    expect,
  }) => {
    const port = await freePort();
    const both = await Promise.all(['5s', '5s'].map((time) => quickDemo('--for', time, '--port', `${port}`)));
    const addresses = both.flatMap(({ out }) => out.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? []);
    expect([addresses.length, new Set(addresses).size]).toEqual([4, 4]);
    expect(addresses).toContain(`http://127.0.0.1:${port}`);
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  });
});
