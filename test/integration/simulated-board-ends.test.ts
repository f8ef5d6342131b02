/** The simulated board of `run --simulate` is a process of its own, and ends with the agent however that ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AGENT_PROGRAM } from '../support/agent-program.ts';

let folder: string;
let agent: ChildProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-simulated-'));
  const folders = `stateFolder: ${join(folder, 'state')}\nrunFolder: ${join(folder, 'run')}\n`;
  const sensors = 'sensors: [{ name: roof, kind: bme280, bus: 1 }]\n';
  const platform = 'platform: { url: "http://127.0.0.1:9", accessToken: a-token }\n';
  await writeFile(join(folder, 'turnstone.yaml'), `version: 1\n${platform}${folders}${sensors}`, { mode: 0o600 });
});
afterEach(async () => {
  agent?.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

async function boardAnswers(): Promise<boolean> {
  const socket = createConnection(join(folder, 'run/board.sock'));
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

it.each(['SIGKILL', 'SIGTERM'] as const)(
  'an agent that ends by %s leaves no board behind',
  async (signal) => {
    agent = spawn(process.execPath, [AGENT_PROGRAM, 'run', '--config', join(folder, 'turnstone.yaml'), '--simulate'], {
      stdio: 'ignore',
    });
    const ended = once(agent, 'exit');
    await expect.poll(boardAnswers, { timeout: 30_000, interval: 100 }).toBe(true);
    agent.kill(signal);
    await ended;
    await expect.poll(boardAnswers, { timeout: 20_000, interval: 100 }).toBe(false);
  },
  60_000,
);
