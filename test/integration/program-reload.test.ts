/** A program that a sensor and an output share, and that a reload changes: both go on with the old one until the restart, and the agent says so. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ControlClient } from '../../src/control-socket/control-client.ts';
import type { AgentStatus } from '../../src/status/shape/agent-status.ts';
import { AgentProcess } from '../support/agent-process.ts';

const PATIENTLY = { timeout: 30_000, interval: 100 };
const WAITS = 'restart needed: only a restart takes up what changed in actuators';

let agent: AgentProcess;
let starts: string;

beforeEach(async () => {
  agent = await AgentProcess.make('', 'serial-1');
  starts = join(agent.folder, 'starts');
  await configure(1);
  agent.start();
});
afterEach(() => agent.remove());

/** Writes the configuration with the program's argument. */
async function configure(argument: number): Promise<void> {
  const script = `echo "$1" >> ${starts}; while :; do echo "{\\"level\\": $1}"; sleep 0.2; done`;
  const program = `kind: process, program: /bin/sh, arguments: ${JSON.stringify(['-c', script, 'sh', String(argument)])}`;
  await writeFile(
    agent.configFile,
    `version: 1
platform: { url: "http://127.0.0.1:1", accessToken: fixture-token }
status: { page: "off" }
sensors:
  - { name: tank, ${program}, format: json, period: 1s }
actuators:
  - { name: pump, ${program}, valueType: boolean }
stateFolder: ${join(agent.folder, 'state')}
runFolder: ${join(agent.folder, 'run')}
`,
  );
}

async function status(): Promise<Pick<AgentStatus, 'sensors' | 'alerts'>> {
  const client = await ControlClient.connect({ folder: join(agent.folder, 'run') });
  try {
    return (await client.request('getStatus')) as unknown as AgentStatus;
  } finally {
    await client.close();
  }
}

async function level(): Promise<unknown> {
  const { sensors } = await status().catch((): Pick<AgentStatus, 'sensors'> => ({ sensors: [] }));
  return sensors[0]?.readings.find(({ key }) => key === 'level')?.value;
}

const startsOf = (): Promise<string> => readFile(starts, 'utf8');
const waits = async (): Promise<boolean> => (await status()).alerts.some((alert) => alert.includes(WAITS));

it('goes on as the old one behind a reload, and is the new one behind the restart', { timeout: 120_000 }, async () => {
  await expect.poll(level, PATIENTLY).toBe(1);
  await configure(2);
  agent.hangUp();
  await expect.poll(waits, PATIENTLY).toBe(true);
  await expect.poll(() => agent.log, PATIENTLY).toMatch(/"sensor":"tank".*its changed program waits for the restart/);
  expect([await level(), await startsOf()]).toEqual([1, '1\n']);

  await configure(1);
  agent.hangUp();
  await expect.poll(waits, PATIENTLY).toBe(false);
  await configure(2);
  agent.hangUp();
  await expect.poll(waits, PATIENTLY).toBe(true);

  await agent.stop();
  agent.start();
  await expect.poll(level, PATIENTLY).toBe(2);
  expect([await waits(), await startsOf()]).toEqual([false, '1\n2\n']);
});
