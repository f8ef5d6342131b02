/** The daemon as a process: it delivers, drains, reloads, refuses, and keeps its secrets. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PlatformRest } from '../../scripts/demo/platform-rest.ts';
import { LocalPlatform } from '../../src/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';

const TOKEN = 'a-token-nobody-may-see';
const USER = { username: 'tenant@thingsboard.org', password: 'tenant' };
const WAIT_MS = 60_000;

let platform: LocalPlatform;
let agent: AgentProcess;
let deviceId: string;

beforeEach(async () => {
  platform = await LocalPlatform.start({ port: 0 });
  deviceId = platform.ensureDevice('gateway', TOKEN).id;
  agent = await AgentProcess.make(configWith('1s'), 'serial-1');
});
afterEach(async () => {
  await agent.remove();
  await platform.close();
});

function configWith(period: string, more = ''): string {
  return `version: 1
platform: { url: "${platform.url}", accessToken: "${TOKEN}" }
time: { trust: always }
status: { page: "off" }
sensors:
  - { name: machine, kind: host, period: ${period} }
  - { name: uptime, kind: command, program: /bin/cat, arguments: [/proc/uptime], format: csv, separator: " ", columns: [uptimeSeconds], period: 1s }
${more}`;
}

async function until<T>(what: string, ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const endMs = performance.now() + WAIT_MS;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`${what} did not come; the agent said: ${agent.log.slice(-2_000)}`);
    await delay(50);
  }
}

const pointsOf = async (key: string): Promise<number> => {
  const rest = await PlatformRest.logIn(platform.url, USER);
  return (await rest.series(deviceId, [key], 0)).get(key)?.length ?? 0;
};
const status = async (): Promise<Record<string, unknown>> =>
  JSON.parse((await agent.command(['status', '--json'])).out) as Record<string, unknown>;

/** Writes the configuration anew, with the folders that the agent has. */
async function rewrite(config: string): Promise<void> {
  const { folder, configFile } = agent;
  await writeFile(configFile, `${config}\nstateFolder: ${join(folder, 'state')}\nrunFolder: ${join(folder, 'run')}\n`);
}

describe('the daemon', () => {
  it('delivers what its sensors read, and says so', async () => {
    agent.start();
    await until('a second reading', async () => ((await pointsOf('load1')) >= 2 ? true : undefined));
    const { exitCode, out } = await agent.command(['status']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/connection +(idle|sending)/);
    expect(out).toMatch(/machine +host +ok/);
  });

  it('makes durable and sends what it holds before it ends on SIGTERM', async () => {
    agent.start();
    await until('the first reading', async () => ((await pointsOf('uptimeSeconds')) > 0 ? true : undefined));
    await delay(2_500);
    await agent.stop('SIGTERM');
    const read = (await readFile('/proc/uptime', 'utf8')).split(' ')[0];
    const rest = await PlatformRest.logIn(platform.url, USER);
    const last = (await rest.series(deviceId, ['uptimeSeconds'], 0)).get('uptimeSeconds')?.at(-1);
    // The last second's reading is there although its block would have closed seconds later.
    expect(Number(read) - Number(last?.value)).toBeLessThan(2.5);
    expect(agent.log).toContain('"stopped"');
  });

  it('keeps readings while the platform is gone, through a kill, and delivers them with the time at which they were taken', async () => {
    agent.start();
    await until('the first reading', async () => ((await pointsOf('uptimeSeconds')) > 0 ? true : undefined));
    await platform.goAway();
    const goneAtMs = Date.now();
    await delay(7_000);
    await agent.stop('SIGKILL');
    const killedAtMs = Date.now();
    await platform.comeBack();
    agent.start();
    const taken = await until('a reading from the outage', async () => {
      const rest = await PlatformRest.logIn(platform.url, USER);
      const points = (await rest.series(deviceId, ['uptimeSeconds'], goneAtMs)).get('uptimeSeconds') ?? [];
      return points.find(({ ts }) => ts > goneAtMs && ts < killedAtMs);
    });
    // The uptime that was read says when that was.
    const bootMs = Date.now() - Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]) * 1000;
    expect(Math.abs(bootMs + Number(taken.value) * 1000 - taken.ts)).toBeLessThan(500);
  });

  it('takes up a changed period on SIGHUP, and leaves the other sensor as it was', async () => {
    agent.start();
    await until('the start', () => (agent.log.includes('the agent runs') ? true : undefined));
    await rewrite(configWith('200ms'));
    agent.hangUp();
    await until('the reload', () => (agent.log.includes('the configuration was read again') ? true : undefined));
    const before = await pointsOf('load1');
    // More than a commit age: what is read is durable and sent after 5 s at the latest.
    await delay(7_000);
    expect((await pointsOf('load1')) - before).toBeGreaterThan(10);
    expect(agent.log).toContain('"changed":["sensors"],"needRestart":[]');
  });

  it('says what only a restart takes up, and goes on with the old configuration when the new one is wrong', async () => {
    agent.start();
    await until('the start', () => (agent.log.includes('the agent runs') ? true : undefined));
    await rewrite(configWith('1s', 'outbox: { maxBytes: 20MB }'));
    agent.hangUp();
    await until('the alert', () => (agent.log.includes('restart needed') ? true : undefined));
    await rewrite(configWith('1s', 'outbocks: {}'));
    agent.hangUp();
    await until('the refusal', () => (agent.log.includes('is not taken up') ? true : undefined));
    expect((await status()).alerts).toEqual(expect.arrayContaining([expect.stringContaining('outbocks')]));
  });

  it('counts the bytes of the day on over a restart, where a metered link has a budget', async () => {
    await rewrite(configWith('1s').replace(`accessToken: "${TOKEN}" }`, `accessToken: "${TOKEN}", dailyBudget: 10MB }`));
    const sentToday = async (): Promise<number> => ((await status()).connection as { sentTodayBytes: number }).sentTodayBytes;
    agent.start();
    const first = await until('the first upload', async () => ((await pointsOf('load1')) > 0 ? await sentToday() : undefined));
    await agent.stop();
    agent.start();
    const second = await until('the second start', async () =>
      (await agent.command(['status'])).exitCode === 0 ? await sentToday() : undefined,
    );
    expect(first).toBeGreaterThan(200);
    expect(second).toBeGreaterThanOrEqual(first);
  });

  it('refuses to start a second time on the same state folder, by the name of the first', async () => {
    agent.start();
    await until('the start', () => (agent.log.includes('the agent runs') ? true : undefined));
    const second = await agent.command(['run']);
    expect(second.exitCode).toBe(1);
    expect(second.err).toMatch(/^turnstone: another agent \(process \d+\) uses the state folder/);
  });

  it('ends with 78 and every fault when the configuration is wrong', async () => {
    await rewrite(configWith('1s').replace('kind: host', 'kind: hots').replace('separator', 'seperator'));
    const { exitCode, err } = await agent.command(['run']);
    expect(exitCode).toBe(78);
    expect(err.split('\n').filter((line) => /turnstone\.yaml:\d+:\d+/.test(line))).toHaveLength(2);
    expect(err).not.toMatch(/\n {4}at /);
  });

  it('shows the access token nowhere, whatever the platform does to it', async () => {
    platform.faults.plant({ kind: 'drop' });
    platform.faults.plant({ kind: 'answer', status: 500, body: `bad request to /api/v1/${TOKEN}/telemetry` });
    platform.faults.plant({ kind: 'answer', status: 302, headers: { location: `http://elsewhere/${TOKEN}` } }, { times: 10 });
    agent.start();
    await until('the redirect', () => (agent.log.includes('status 302') ? true : undefined));
    await agent.stop();
    platform.faults.clear();
    platform.ensureDevice('gateway', 'another-token');
    agent.start();
    await until('the refusal', () => (agent.log.includes('(401)') ? true : undefined));
    const { out, err } = await agent.command(['status']);
    await agent.stop();
    expect(`${agent.log}${out}${err}`).not.toContain(TOKEN);
  });
});
