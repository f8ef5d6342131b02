/** The daemon as a process: it delivers, drains, reloads, refuses, and keeps its secrets. */
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { type StoredValue, wallOffset } from '../../scripts/demo/delivery-verdict.ts';
import { PlatformRest } from '../../scripts/demo/platform-rest.ts';
import { ControlClient } from '../../src/control-socket/control-client.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';

const TOKEN = 'a-token-nobody-may-see';
const USER = { username: 'tenant@thingsboard.org', password: 'tenant' };
const WAIT_MS = 60_000;

const test = it.extend<{ readonly gateway: Gateway }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures that a fixture needs from this pattern.
  gateway: async ({}, use) => {
    const gateway = await Gateway.make();
    await use(gateway);
    await gateway.remove();
  },
});

/** A platform, a device of it, and the agent as a process. */
class Gateway {
  readonly platform: LocalPlatform;
  readonly agent: AgentProcess;
  readonly deviceId: string;

  private constructor(platform: LocalPlatform, agent: AgentProcess) {
    this.platform = platform;
    this.agent = agent;
    this.deviceId = platform.ensureDevice('gateway', TOKEN).id;
  }

  static async make(): Promise<Gateway> {
    const platform = await LocalPlatform.start({ port: 0 });
    return new Gateway(platform, await AgentProcess.make(configWith(platform, '1s'), 'serial-1'));
  }

  async remove(): Promise<void> {
    await this.agent.remove();
    await this.platform.close();
  }

  readonly configWith = (period: string, more = ''): string => configWith(this.platform, period, more);

  readonly until = async <T>(what: string, ask: () => Promise<T | undefined> | T | undefined): Promise<T> => {
    const endMs = performance.now() + WAIT_MS;
    for (;;) {
      const found = await ask();
      if (found !== undefined) return found;
      if (performance.now() > endMs)
        throw new Error(`${what} did not come; the agent said: ${this.agent.log.slice(-2_000)}`);
      await delay(50);
    }
  };

  readonly seriesOf = async (key: string, fromMs = 0): Promise<readonly StoredValue[]> => {
    const rest = await PlatformRest.logIn(this.platform.url, USER);
    return (await rest.series(this.deviceId, [key], fromMs)).get(key) ?? [];
  };

  readonly pointsOf = async (key: string): Promise<number> => (await this.seriesOf(key)).length;

  /** Asked as the command asks, without a process for each question. */
  readonly status = async (): Promise<Record<string, unknown>> => {
    const client = await ControlClient.connect({ folder: join(this.agent.folder, 'run') });
    try {
      return (await client.request('getStatus')) as Record<string, unknown>;
    } finally {
      await client.close();
    }
  };

  /** Writes the configuration anew, with the folders that the agent has. */
  readonly rewrite = async (config: string): Promise<void> => {
    const { folder, configFile } = this.agent;
    await writeFile(
      configFile,
      `${config}\nstateFolder: ${join(folder, 'state')}\nrunFolder: ${join(folder, 'run')}\n`,
    );
  };
}

function configWith(platform: LocalPlatform, period: string, more = ''): string {
  return `version: 1
platform: { url: "${platform.url}", accessToken: "${TOKEN}" }
time: { trust: always }
status: { page: "off" }
sensors:
  - { name: machine, kind: host, period: ${period} }
  - { name: uptime, kind: command, program: /bin/cat, arguments: [/proc/uptime], format: csv, separator: " ", columns: [uptimeSeconds], period: 1s }
${more}`;
}

// At once: each waits for its agent most of the time.
describe.concurrent('the daemon', () => {
  test('delivers what its sensors read, and says so', async ({ expect, gateway }) => {
    const { agent, until, pointsOf } = gateway;
    agent.start();
    await until('a second reading', async () => ((await pointsOf('load1')) >= 2 ? true : undefined));
    const { exitCode, out } = await agent.command(['status']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/platform +up to date/);
    expect(out).toMatch(/machine +host +ok/);
  });

  test('sends what it holds before it ends on SIGTERM, and writes what has arrived', async ({ expect, gateway }) => {
    const { agent, configWith, until, seriesOf, pointsOf, rewrite } = gateway;
    await rewrite(configWith('1s', 'upload: { interval: 1h }'));
    agent.start();
    await until('the first reading', async () => ((await pointsOf('uptimeSeconds')) > 0 ? true : undefined));
    await delay(2_500);
    const stoppedAt = Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]);
    await agent.stop('SIGTERM');
    const arrived = await seriesOf('uptimeSeconds');
    // The last second's reading is there although it would have left an hour later.
    expect(stoppedAt - Number(arrived.at(-1)?.value)).toBeLessThan(2.5);
    const { out } = await agent.command(['outbox', 'export', '--all', '--key', 'uptimeSeconds']);
    expect(out.trim().split('\n')).toHaveLength(arrived.length);
    expect(agent.log).toContain('"stopped"');
  });

  test('keeps readings while the platform is gone, through a kill, and delivers them with the time at which they were taken', async ({
    expect,
    gateway,
  }) => {
    const { platform, agent, until, seriesOf, pointsOf } = gateway;
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
      const points = await seriesOf('uptimeSeconds', goneAtMs);
      return points.find(({ ts }) => ts > goneAtMs && ts < killedAtMs);
    });
    // The uptime that was read says when that was.
    expect(Math.abs(wallOffset() + Number(taken.value) * 1000 - taken.ts)).toBeLessThan(500);
  });

  test('writes what has arrived once the platform is lost, whatever the age of a commit', async ({ gateway }) => {
    const { agent, platform, configWith, until, pointsOf, rewrite } = gateway;
    const written = async (): Promise<number> => {
      const { out } = await agent.command(['outbox', 'verify', '--json']);
      return (JSON.parse(out) as { readonly entries: number }).entries;
    };
    await rewrite(configWith('1s', 'outbox: { commitAge: 10m }'));
    agent.start();
    await until('the first readings', async () => ((await pointsOf('uptimeSeconds')) >= 3 ? true : undefined));
    // The first of a run, and what an alarm has taken along.
    const before = await written();
    // A second post begins once the first was answered.
    for (const what of ['a reading in memory', 'one more']) {
      const arrived = await pointsOf('uptimeSeconds');
      await until(what, async () => ((await pointsOf('uptimeSeconds')) > arrived ? true : undefined));
    }
    await platform.goAway();
    await until('the rest on the disk', async () => ((await written()) > before ? true : undefined));
  });

  test('takes up a changed period on SIGHUP, and leaves the other sensor as it was', async ({ expect, gateway }) => {
    const { agent, configWith, until, pointsOf, rewrite } = gateway;
    agent.start();
    await until('the start', () => (agent.log.includes('the agent runs') ? true : undefined));
    await rewrite(configWith('200ms'));
    agent.hangUp();
    await until('the reload', () => (agent.log.includes('the configuration was read again') ? true : undefined));
    const before = await pointsOf('load1');
    // What is read arrives within a second, and would come four times at the former period.
    await delay(4_000);
    expect((await pointsOf('load1')) - before).toBeGreaterThan(10);
    expect(agent.log).toContain('"changed":["sensors"],"needRestart":[]');
  });

  test('logs as much as somebody set on this machine through reloads, until the file says otherwise', async ({
    expect,
    gateway,
  }) => {
    const { agent, configWith, until, rewrite } = gateway;
    agent.start();
    await until('the start', () => (agent.log.includes('the agent runs') ? true : undefined));
    const client = await ControlClient.connect({ folder: join(agent.folder, 'run') });
    await client.request('setLogLevel', { level: 'error' });
    for (let n = 0; n < 2; n += 1) await client.request('reload');
    expect(agent.log).not.toContain('the configuration was read again');
    await rewrite(configWith('1s', 'log: { level: debug }'));
    await client.request('reload');
    await until('the reload', () => (agent.log.includes('the configuration was read again') ? true : undefined));
    await client.close();
  });

  test('hears a SIGHUP that comes while it starts', async ({ gateway }) => {
    const { agent, configWith, until, rewrite } = gateway;
    agent.start();
    await until('the state folder', () =>
      access(join(agent.folder, 'state/agent.lock')).then(
        () => true,
        () => undefined,
      ),
    );
    await rewrite(configWith('200ms'));
    agent.hangUp();
    await until('the reload', () => (agent.log.includes('the configuration was read again') ? true : undefined));
  });

  test('says what only a restart takes up, and goes on with the old configuration when the new one is wrong', async ({
    expect,
    gateway,
  }) => {
    const { agent, configWith, until, status, rewrite } = gateway;
    agent.start();
    await until('the start', () => (agent.log.includes('the agent runs') ? true : undefined));
    await rewrite(configWith('1s', 'outbox: { maxBytes: 20MB }'));
    agent.hangUp();
    await until('the alert', () => (agent.log.includes('restart needed') ? true : undefined));
    await rewrite(configWith('1s', 'outbocks: {}'));
    agent.hangUp();
    await until('the refusal', () => (agent.log.includes('is not taken up') ? true : undefined));
    expect((await status()).alerts).toEqual(expect.arrayContaining([expect.stringContaining('outbocks')]));
    // The file is changed again, and then taken back: it is what runs.
    await rewrite(configWith('1s', 'outbox: { maxBytes: 20MB }\nlog: { level: debug }'));
    agent.hangUp();
    await until('the other change', () => (agent.log.includes('"changed":["log"]') ? true : undefined));
    expect((await status()).alerts).toEqual([expect.stringContaining('restart needed')]);
    await rewrite(configWith('1s'));
    agent.hangUp();
    await until('the end of the alert', async () => ((await status()).alerts as unknown[]).length === 0 || undefined);
  });

  test.for([60, 90, 120, 150, 180, 210, 240, 270, 300, 340, 380, 450])(
    'stops in good order when it is told to %i ms into its start',
    async (ms, { expect, gateway }) => {
      const { agent } = gateway;
      agent.start();
      await delay(ms);
      const code = await agent.stopCode();
      // Before Node can listen for it the signal itself ends the process.
      expect(agent.log).not.toMatch(/fault of the program|AbortError/);
      expect([0, 'SIGTERM']).toContain(code);
      expect(agent.log === '' || code === 0 || !agent.log.includes('the agent runs')).toBe(true);
    },
  );

  test('counts the bytes of the day on over a restart, whatever the link costs', async ({ expect, gateway }) => {
    const { agent, configWith, until, pointsOf, status, rewrite } = gateway;
    await rewrite(`${configWith('1s')}\nlink: { daily: 10MB }`);
    const sentToday = async (): Promise<number> => ((await status()).link as { todayBytes: number }).todayBytes;
    agent.start();
    const first = await until('the first upload', async () =>
      (await pointsOf('load1')) > 0 ? await sentToday() : undefined,
    );
    await agent.stop();
    agent.start();
    const second = await until('the second start', () => sentToday().catch(() => undefined));
    expect(first).toBeGreaterThan(200);
    expect(second).toBeGreaterThanOrEqual(first);
  });

  test('says of every way back that fails that it failed, not of every second one', async ({ expect, gateway }) => {
    const { agent, configWith, until, rewrite } = gateway;
    await rewrite(
      `${configWith('1s')}\nfirmware: { installFolder: "${agent.folder}/opt", guardFolder: "${agent.folder}/guard" }`,
    );
    agent.start();
    await until('the start', () => (agent.log.includes('the agent runs') ? true : undefined));
    const codes: unknown[] = [];
    for (let n = 0; n < 4; n += 1)
      codes.push((await agent.command(['firmware', 'rollback', '--to', '9.9.9'])).exitCode);
    // A release that is not there is a wrong value.
    expect(codes).toEqual([2, 2, 2, 2]);
  });

  test('refuses to start a second time on the same state folder, by the name of the first', async ({
    expect,
    gateway,
  }) => {
    const { agent, until } = gateway;
    agent.start();
    await until('the start', () => (agent.log.includes('the agent runs') ? true : undefined));
    const second = await agent.command(['run']);
    expect(second.exitCode).toBe(1);
    expect(second.err).toMatch(/^turnstone: another agent \(process \d+\) uses /);
  });

  test('ends with 78 and every fault when the configuration is wrong', async ({ expect, gateway }) => {
    const { agent, configWith, rewrite } = gateway;
    await rewrite(configWith('1s').replace('kind: host', 'kind: hots').replace('separator', 'seperator'));
    const { exitCode, err } = await agent.command(['run']);
    expect(exitCode).toBe(78);
    expect(err.split('\n').filter((line) => /turnstone\.yaml:\d+:\d+/.test(line))).toHaveLength(2);
    expect(err).not.toMatch(/\n {4}at /);
  });

  test('shows the access token nowhere, whatever the platform does to it', async ({ expect, gateway }) => {
    const { platform, agent, until } = gateway;
    platform.faults.plant({ kind: 'drop' });
    platform.faults.plant({ kind: 'answer', status: 500, body: `bad request to /api/v1/${TOKEN}/telemetry` });
    platform.faults.plant(
      { kind: 'answer', status: 302, headers: { location: `http://elsewhere/${TOKEN}` } },
      { times: 10 },
    );
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
