/** Drivers of a user's own that do what no driver should, in processes of their own. */
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AgentProcess } from '../support/agent-process.ts';
import { until } from '../support/board-bench.ts';

let agent: AgentProcess;
afterEach(() => agent.remove());

/** An agent with this driver and a sensor beside it; nobody answers at its platform's address. */
async function agentWith(driver: string, period = '1s'): Promise<AgentProcess> {
  const made = await AgentProcess.make('', 'STRAY-1');
  const file = join(made.folder, 'driver.mjs');
  await writeFile(file, driver);
  await chmod(file, 0o644);
  const config = `version: 1
platform: { url: "http://127.0.0.1:9", accessToken: stray-driver-token }
status: { page: off }
sensors:
  - { name: own, kind: module, file: ${file}, period: ${period}, deadline: 500ms }
  - { name: machine, kind: host, period: 200ms, deadline: 100ms, groups: [uptime] }
stateFolder: ${join(made.folder, 'state')}
runFolder: ${join(made.folder, 'run')}
`;
  await writeFile(made.configFile, config, { mode: 0o600 });
  return made;
}

const sensorsOf = async (): Promise<
  readonly { readonly name: string; readonly state: string; readonly fault?: string }[]
> => {
  const { out } = await agent.command(['sensors', '--json']);
  return out === '' ? [] : JSON.parse(out);
};

describe('a driver', () => {
  it('that never answers ends the reading of it at its deadline', async () => {
    agent = await agentWith('export const openSensor = async () => ({ read: () => new Promise(() => {}) });');
    const { exitCode, out, err } = await agent.command(['sensors', 'read', 'own']);
    expect({ exitCode, out }).toEqual({ exitCode: 1, out: '' });
    expect(err).toContain('sensor own: no answer within the deadline');
    expect(err).not.toContain('Warning');
  });

  it('that never opens does so too', async () => {
    agent = await agentWith('export const openSensor = () => new Promise(() => {});');
    const { exitCode, err } = await agent.command(['sensors', 'read', 'own']);
    expect({ exitCode, err }).toEqual({ exitCode: 1, err: expect.stringContaining('no answer within the deadline') });
  });

  it('in which something goes astray fails its reading, and says what it was', async () => {
    agent = await agentWith(
      'export const openSensor = async () => ({ read: () => { setTimeout(() => { throw new Error("lost it"); }, 5); return new Promise(() => {}); } });',
    );
    const { exitCode, err } = await agent.command(['sensors', 'read', 'own']);
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: expect.stringMatching(/a fault that it does not handle: lost it/),
    });
  });

  it('in which something goes astray fails alone: the agent goes on, opens it anew, and the other sensors never notice', async () => {
    agent = await agentWith(`
      import { EventEmitter } from 'node:events';
      import { existsSync, readFileSync, writeFileSync } from 'node:fs';
      // Each opening is a process of its own.
      const count = import.meta.filename + '.count';
      export const openSensor = async () => {
        const opened = existsSync(count) ? Number(readFileSync(count, 'utf8')) + 1 : 1;
        writeFileSync(count, String(opened));
        if (opened === 1) setTimeout(() => { throw new Error('from a timer'); }, 100);
        if (opened === 2) setTimeout(() => { void Promise.reject(new Error('from a promise')); }, 100);
        if (opened === 3) setTimeout(() => { new EventEmitter().emit('error', new Error('from an emitter')); }, 100);
        return { read: async () => [{ key: 'opened', value: opened }] };
      };`);
    agent.start();
    await until('three faults', () => agent.log.split('a fault that this driver does not handle').length === 4, 40_000);
    for (const where of ['from a timer', 'from a promise', 'from an emitter']) expect(agent.log).toContain(where);
    await until(
      'it works',
      async () => (await sensorsOf()).some(({ name, state }) => name === 'own' && state === 'ok'),
      20_000,
    );
    expect((await sensorsOf()).find(({ name }) => name === 'machine')).toMatchObject({ state: 'ok' });
    expect(agent.log).not.toContain('fault of the program');
    expect(await agent.stopCode()).toBe(0);
  });

  it('that stands still holds up nothing: an output is switched off at its longest time on, and the driver is begun again', async () => {
    agent = await agentWith(`
      import { execFileSync } from 'node:child_process';
      export const openSensor = async () => ({ read: async () => { execFileSync('/bin/sleep', ['30']); return []; } });`);
    const text = await readFile(agent.configFile, 'utf8');
    const line = `actuators: [{ name: siren, kind: command, program: ${process.execPath}, arguments: ["-e", "0"], valueType: boolean, limits: { maxOn: 2s } }]\n`;
    await writeFile(agent.configFile, text + line, { mode: 0o600 });
    agent.start();
    await until(
      'it stands',
      () => ['the sensor fails', 'the agent runs'].every((words) => agent.log.includes(words)),
      20_000,
    );
    // Its state is not known at first, which counts as on.
    const ends = (): number => agent.log.split('longest time on').length;
    await until('its first time on has ended', () => ends() > 1, 20_000);
    const { exitCode } = await agent.command(['actuate', 'siren', 'on']);
    expect(exitCode).toBe(0);
    await until('it is off', () => ends() > 2, 20_000);
    const at = (words: string): number => {
      const found = agent.log.split('\n').findLast((one) => one.includes(words)) ?? '{}';
      return Date.parse((JSON.parse(found) as { time: string }).time);
    };
    // The agent's own stamps: a machine under load delays both.
    expect(at('longest time on') - at('the agent runs')).toBeGreaterThan(0);
    await until(
      'it is killed and begun again',
      () => agent.log.split('a driver that stands still was killed').length > 2,
      30_000,
    );
    expect(await agent.stopCode()).toBe(0);
  });
});
