/** The whole agent whose month is used up: what still leaves it, and what the terminal says. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sealJson } from '../../src/store/sealed-json.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';
import { RemoteBench } from '../support/remote-bench.ts';

const asked: string[] = [];
let bench: RemoteBench;
let platform: Server;
let agent: ChildProcess;

const run = promisify(execFile);

async function turnstone(...words: string[]): Promise<string> {
  const said = await run(process.execPath, [AGENT_PROGRAM, ...words]).catch((error: { stdout: string }) => error);
  return said.stdout;
}

beforeAll(async () => {
  bench = await RemoteBench.open();
  platform = createServer((request, response) => {
    const [, , , , what = ''] = (request.url ?? '').split('/');
    asked.push(`${request.method} ${what.split('?')[0]}`);
    request.resume().on('end', () => {
      if (request.url?.includes('timeout=')) setTimeout(() => response.writeHead(408).end(), 2_900);
      else response.writeHead(200, { 'content-type': 'application/json' }).end(request.method === 'GET' ? '{}' : '');
    });
  });
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  const nowMs = Date.now();
  const state = join(bench.folder, 'state');
  await mkdir(state, { mode: 0o700 });
  const features = { telemetry: 49_900_000, polls: 0, calls: 0, firmware: 0 };
  const account = {
    atMs: nowMs,
    isSure: true,
    resetDay: 1,
    features,
    totalBytes: 49_900_000,
    sinceMs: nowMs - 20 * 86_400_000,
    hours: [],
  };
  const ladder = { taken: 4, changedAtMs: nowMs - 3_600_000 };
  await writeFile(
    join(state, 'link.json'),
    sealJson({ format: 'turnstone/link', version: 1, state: { account, ladder, stepTotal: 49_900_000 } }),
  );
  const config = {
    version: 1,
    platform: { url: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`, accessToken: 'test-access-token' },
    stateFolder: state,
    runFolder: join(bench.folder, 'run'),
    status: { page: 'off' },
    log: { level: 'warn' },
    hardware: { board: 'simulated', boardSocket: join(bench.folder, 'board.sock') },
    sensors: [{ name: 'host', kind: 'host', period: '500ms' }],
    actuators: [{ name: 'fan', kind: 'gpio-output', line: 'GPIO21' }],
    link: { metered: true, monthly: '50MB' },
    upload: { interval: '1s' },
  };
  const file = join(bench.folder, 'turnstone.yaml');
  await writeFile(file, JSON.stringify(config));
  agent = spawn(process.execPath, [AGENT_PROGRAM, 'run', '--config', file], { stdio: ['ignore', 'ignore', 'ignore'] });
  await sleep(15_000);
}, 120_000);

afterAll(async () => {
  agent.kill('SIGKILL');
  await once(agent, 'exit');
  platform.closeAllConnections();
  platform.close();
  await bench.close();
});

it('sends nothing but alarms while outputs move', async () => {
  asked.length = 0;
  for (let times = 0; times < 6; times += 1) {
    await turnstone('actuate', 'fan', times % 2 === 0 ? 'on' : 'off', '--run-folder', join(bench.folder, 'run'));
    await sleep(1_100);
  }
  expect(asked).toEqual([]);
});

it('says in its status that readings wait for the month, and for nothing else', async () => {
  const said = await turnstone('status', '--run-folder', join(bench.folder, 'run'));
  const platformLine = said.split('\n').find((line) => line.includes('platform')) ?? '';
  expect(platformLine).toMatch(/month|link/);
});
