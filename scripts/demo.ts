/**
 * The demo: a local platform, a simulated board and the agent, each a process of its own, and this one that shows what arrives and,
 * at the end, judges it.
 *
 *   board ── pins, I2C, a pty ──► agent ──(lying proxy, with --sabotage)──► platform ── REST ──► this terminal
 *     └─► board record               └─► append record                                 ┘ compared at the end
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readAppended, readShown } from './demo/accounts.ts';
import { judgeDelivery, type Verdict } from './demo/delivery-verdict.ts';
import { type DemoOptions, HELP, readOptions } from './demo/options.ts';
import { PlatformRest } from './demo/platform-rest.ts';
import { DemoProcess } from './demo/processes.ts';
import { ACCESS_TOKEN, DEVICE_NAME, type SettingPaths, writeSetting } from './demo/setting.ts';
import { showArrivals } from './demo/show-arrivals.ts';
import { startSwallowingProxy } from './demo/swallowing-proxy.ts';

const USER = { username: 'tenant@thingsboard.org', password: 'tenant' };
/** The agent's own default; any other when it is taken. */
const STATUS_PORT = 8_088;
const OUTAGE_BEGINS_AFTER_MS = 10_000;
const STARTS_WITHIN_MS = 20_000;
/** After the agent has stopped for good, what it could not send any more is sent by one more life of it. */
const LAST_LIFE_MS = 15_000;

const options = parse();
const folder = await mkdtemp(join(tmpdir(), 'turnstone-demo-'));
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
process.exitCode = await run(options).finally(() => rm(folder, { recursive: true, force: true }));

function parse(): DemoOptions {
  try {
    const read = readOptions(process.argv.slice(2));
    if (read !== 'help') return read;
    process.stdout.write(HELP);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}

async function run({ forMs, json, sabotage, killEveryMs, outageMs, port: wishedPort }: DemoOptions): Promise<number> {
  const startedMs = Date.now();
  const port = await freePort(wishedPort);
  const url = `http://127.0.0.1:${port}`;
  const proxy = sabotage ? await startSwallowingProxy(url) : undefined;
  const pagePort = await freePort(STATUS_PORT);
  const paths = await writeSetting(folder, { platformUrl: proxy?.url ?? url, pagePort });
  const start = (name: string, args: readonly string[]): DemoProcess => DemoProcess.start(name, args, { folder, onUnexpectedExit: fail });
  const startPlatform = (): DemoProcess => start('platform', ['platform', '--port', `${port}`, '--data', paths.platformData]);
  const startAgent = (): DemoProcess => start('agent', ['run', '--config', paths.agentConfig, '--record-appends', paths.appendRecord]);

  let platform = startPlatform();
  const board = start('board', ['board', '--socket', paths.boardSocket, '--config', paths.boardConfig, '--record', paths.boardRecord]);
  const rest = await logIn(url);
  const deviceId = await rest.makeDevice(DEVICE_NAME, ACCESS_TOKEN);
  let agent = startAgent();
  await untilAnswers(`http://127.0.0.1:${pagePort}/healthz`);
  announce(url, pagePort, paths);

  const ending = forMs === undefined ? stop.signal : AbortSignal.any([stop.signal, AbortSignal.timeout(forMs)]);
  const showing = showArrivals({ rest, deviceId, isQuiet: json }, ending);
  const killing = repeat(killEveryMs, ending, async () => {
    await agent.kill();
    agent = startAgent();
  });
  const outage = once(outageMs === undefined ? undefined : OUTAGE_BEGINS_AFTER_MS, ending, async () => {
    await platform.kill();
    if (!json) process.stdout.write('— the platform is gone\n');
    await delay(outageMs);
    platform = startPlatform();
    await logIn(url);
    if (!json) process.stdout.write('— the platform is back\n');
  });
  await Promise.all([showing, killing, outage]);

  await agent.stop();
  // Killed at the last moment, or cut off by an outage: whatever is durable is delivered by the next life.
  if (killEveryMs !== undefined || outageMs !== undefined) {
    agent = startAgent();
    await delay(LAST_LIFE_MS);
    await agent.stop();
  }
  const verdict = await judge(await logIn(url), deviceId, { paths, startedMs });
  await board.stop();
  await platform.stop();
  proxy?.server.close();
  return report(verdict, { json, startedMs });
}

async function judge(
  rest: PlatformRest,
  deviceId: string,
  { paths, startedMs }: { readonly paths: SettingPaths; readonly startedMs: number },
): Promise<Verdict> {
  const wallOffsetMs = Date.now() - Number(process.hrtime.bigint()) / 1e6;
  return judgeDelivery({
    shown: await readShown(paths.boardRecord),
    appended: await readAppended(paths.appendRecord),
    stored: await rest.series(deviceId, await rest.keys(deviceId), startedMs - 60_000),
    wallOffsetMs,
  });
}

function report({ faults, ...counts }: Verdict, { json, startedMs }: { readonly json: boolean; readonly startedMs: number }): number {
  const durationS = Math.round((Date.now() - startedMs) / 1000);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  const { appended, stored, missing, different } = counts;
  if (json) process.stdout.write(`${JSON.stringify({ appended, stored, missing, different, durationS })}\n`);
  else
    process.stdout.write(
      `\n${appended} readings were durable, ${stored} are at the platform: ${missing} missing, ${different} different (${durationS} s)\n`,
    );
  return missing === 0 && different === 0 ? 0 : 1;
}

function announce(url: string, pagePort: number, paths: SettingPaths): void {
  process.stdout.write(`platform   ${url}   (log in as ${USER.username} / ${USER.password}, and switch the relay)\n`);
  process.stdout.write(`device     http://127.0.0.1:${pagePort}   (its status page)\n`);
  process.stdout.write(`agent      turnstone status --run-folder ${paths.runFolder}\n\n`);
}

/** A person opens the address as soon as it is printed. */
async function untilAnswers(url: string): Promise<void> {
  const untilMs = Date.now() + STARTS_WITHIN_MS;
  while (Date.now() < untilMs && !stop.signal.aborted) {
    if (
      await fetch(url).then(
        ({ body }) => body !== null,
        () => false,
      )
    )
      return;
    await delay(100);
  }
}

async function logIn(url: string): Promise<PlatformRest> {
  const untilMs = Date.now() + STARTS_WITHIN_MS;
  for (;;) {
    try {
      return await PlatformRest.logIn(url, USER);
    } catch (error) {
      if (Date.now() > untilMs) throw error;
      await delay(100);
    }
  }
}

function fail(what: string): void {
  process.stderr.write(`demo: ${what}\n`);
  process.exit(1);
}

async function repeat(everyMs: number | undefined, signal: AbortSignal, action: () => Promise<void>): Promise<void> {
  while (everyMs !== undefined && (await passed(everyMs, signal))) await action();
}

async function once(afterMs: number | undefined, signal: AbortSignal, action: () => Promise<void>): Promise<void> {
  if (afterMs !== undefined && (await passed(afterMs, signal))) await action();
}

/** False when the signal came first. */
async function passed(ms: number, signal: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal }).catch(() => false);
}

/** The port that is wished for, or any other when it is taken. */
async function freePort(wished: number): Promise<number> {
  const attempt = (port: number): Promise<number | undefined> =>
    new Promise((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(undefined));
      server.listen(port, '127.0.0.1', () => {
        const address = server.address();
        server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
      });
    });
  return (await attempt(wished)) ?? (await attempt(0)) ?? wished;
}
