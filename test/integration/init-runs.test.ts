/** From nothing to readings at the platform: init looks at a simulated board, and the configuration it writes runs. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { loadTwins } from '../../src/kinds/twins.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { parseBoardConfig } from '../../src/stand-ins/simulated-board/board-config.ts';
import { BoardRecord } from '../../src/stand-ins/simulated-board/board-record.ts';
import { BoardServer } from '../../src/stand-ins/simulated-board/board-server.ts';
import { sampleBoard } from '../../src/stand-ins/simulated-board/sample-board.ts';
import { SimulatedBoard } from '../../src/stand-ins/simulated-board/simulated-board.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';
import { PlatformPerson } from '../support/platform-people.ts';

const run = promisify(execFile);

let folder: string;
let platform: LocalPlatform;
let board: SimulatedBoard;
let server: BoardServer;
let agent: ChildProcess | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-init-runs-'));
  platform = await LocalPlatform.start({ port: 0 });
  const twins = await loadTwins();
  const record = new BoardRecord({ clock: systemClock });
  board = new SimulatedBoard(parseBoardConfig(sampleBoard(twins)), { clock: systemClock, record, twins });
  server = await BoardServer.open(board, join(folder, 'board.sock'));
});

afterAll(async () => {
  agent?.kill('SIGTERM');
  await new Promise((done) =>
    agent === undefined || agent.exitCode !== null ? done(undefined) : agent.once('exit', done),
  );
  await server.close();
  board.close();
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

describe('turnstone init --yes on the simulated board', () => {
  it('writes a configuration with which readings reach the platform', async () => {
    const { id } = platform.ensureDevice('gateway-1', 'fixture-token');
    await writeFile(join(folder, 'token'), 'fixture-token\n', { mode: 0o600 });
    const config = join(folder, 'turnstone.yaml');
    const folders = ['--state-folder', join(folder, 'state'), '--run-folder', join(folder, 'run')];
    const credentials = ['--url', platform.url, '--access-token-file', join(folder, 'token')];
    await run(process.execPath, [
      AGENT_PROGRAM,
      'init',
      '--yes',
      '--no-listen',
      ...credentials,
      ...folders,
      '--simulate',
      join(folder, 'board.sock'),
      '--out',
      config,
    ]);

    agent = spawn(process.execPath, [AGENT_PROGRAM, 'run', '--config', config], { stdio: 'ignore' });
    const person = await PlatformPerson.logIn(platform.url);
    const newest = async (key: string): Promise<number> => Number((await person.values(id, key))[0]?.value ?? 0);
    const patiently = { timeout: 20_000, interval: 200 };
    await expect.poll(() => newest('temperature'), patiently).toBeGreaterThan(0);
    await expect.poll(() => newest('pressure'), patiently).toBeGreaterThan(900);
  }, 40_000);

  it('leaves an agent that status and doctor find', async () => {
    const config = join(folder, 'turnstone.yaml');
    const status = JSON.parse(
      (await run(process.execPath, [AGENT_PROGRAM, 'status', '--config', config, '--json'])).stdout,
    );
    const kinds = status.sensors.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['host', 'bme280', 'sht3x', 'ads1115', 'ds18b20']));
    const doctor = await run(process.execPath, [AGENT_PROGRAM, 'doctor', '--config', config, '--json']).catch(
      (error: { stdout: string }) => error,
    );
    const verdicts = new Map(
      JSON.parse(doctor.stdout).checks.map((check: { id: string; verdict: string }) => [check.id, check.verdict]),
    );
    for (const id of ['configuration', 'state-folder', 'devices', 'sensors', 'reachable', 'token', 'agent', 'uploads'])
      expect([id, verdicts.get(id)]).toEqual([id, 'good']);
  }, 20_000);
});
