/** A user's own driver that is edited in place, with the configuration as it was: SIGHUP takes it up, and a wrong one is refused. */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ControlClient } from '../../src/control-socket/control-client.ts';
import type { AgentStatus } from '../../src/status/shape/agent-status.ts';
import { AgentProcess } from '../support/agent-process.ts';

const PATIENTLY = { timeout: 30_000, interval: 100 };
/** Its second key tells its process: a sensor that is restarted has another. */
const driver = (level: number): string => `
  export const openSensor = async () => ({ read: async () => [{ key: 'level', value: ${level} }, { key: 'pid', value: process.pid }] });`;

let agent: AgentProcess;
let file: string;

beforeEach(async () => {
  agent = await AgentProcess.make('', 'serial-1');
  file = join(agent.folder, 'tank.mjs');
  await edit(driver(1));
  await writeFile(
    agent.configFile,
    `version: 1
platform: { url: "http://127.0.0.1:1", accessToken: fixture-token }
status: { page: "off" }
sensors:
  - { name: tank, kind: module, file: ${file}, period: 200ms }
  - { name: other, kind: module, file: ${join(agent.folder, 'other.mjs')}, prefix: other., period: 200ms }
stateFolder: ${join(agent.folder, 'state')}
runFolder: ${join(agent.folder, 'run')}
`,
  );
  await writeFile(join(agent.folder, 'other.mjs'), driver(7), { mode: 0o644 });
  agent.start();
});
afterEach(() => agent.remove());

async function edit(text: string, mode = 0o644): Promise<void> {
  await writeFile(file, text);
  await chmod(file, mode);
}

async function status(): Promise<AgentStatus> {
  const client = await ControlClient.connect({ folder: join(agent.folder, 'run') });
  try {
    return (await client.request('getStatus')) as unknown as AgentStatus;
  } finally {
    await client.close();
  }
}

/** Newest value of a key of a sensor; undefined while there is none. */
async function newestOf(sensor: string, key: string): Promise<unknown> {
  const { sensors } = await status().catch((): Pick<AgentStatus, 'sensors'> => ({ sensors: [] }));
  return sensors.find(({ name }) => name === sensor)?.readings.find((reading) => reading.key === key)?.value;
}

/** Hangs up, and resolves with the alert about it once there is one, or none any more. */
async function alertAfterReload(isExpected: boolean): Promise<string | undefined> {
  agent.hangUp();
  const found = async () => (await status()).alerts.find((alert) => alert.includes('not taken up'));
  await expect.poll(async () => (await found()) !== undefined, PATIENTLY).toBe(isExpected);
  return found();
}

it('takes up the edited driver, restarts its sensor alone, and refuses a wrong one while the old goes on', async () => {
  await expect.poll(() => newestOf('tank', 'level'), PATIENTLY).toBe(1);
  await expect.poll(() => newestOf('other', 'other.level'), PATIENTLY).toBe(7);
  const [tank, other] = [await newestOf('tank', 'pid'), await newestOf('other', 'other.pid')];

  await edit('export const openSensor = async () => ({ read: ');
  expect(await alertAfterReload(true)).toMatch(
    /sensors\[0\]\.file: a syntax error in .*; SyntaxError: Unexpected end of input/,
  );
  await edit(driver(2), 0o666);
  await expect.poll(() => alertAfterReload(true), PATIENTLY).toMatch(/tank\.mjs.*only its owner may write it/);
  expect([await newestOf('tank', 'level'), await newestOf('tank', 'pid')]).toEqual([1, tank]);

  await edit(driver(3));
  expect(await alertAfterReload(false)).toBeUndefined();
  await expect.poll(() => newestOf('tank', 'level'), PATIENTLY).toBe(3);
  expect(await newestOf('tank', 'pid')).not.toBe(tank);
  expect(await newestOf('other', 'other.pid')).toBe(other);
  expect(agent.log).toContain(`"changed":["sensors"],"needRestart":[],"drivers":["${file}"]`);
});
