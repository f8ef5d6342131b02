/**
 * The demo: a local platform, a simulated board and the agent, each a process of its own, and this one that shows what arrives and,
 * at the end, judges it.
 *
 *   board ── pins, I2C, a pty ──► agent ──(lying proxy, with --sabotage)──► platform ── REST ──► this terminal
 *     └─► board record               └─► append record                                 ┘ compared at the end
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ControlClient } from '../src/control-socket/control-client.ts';
import { isJsonObject, type JsonValue } from '../src/values/json.ts';
import { readAppended, readShown } from './demo/accounts.ts';
import { DEMO_DEVICES, judgedKey } from './demo/attached-devices.ts';
import { judgeDelivery, type StoredValue, type Verdict, wallOffset } from './demo/delivery-verdict.ts';
import { type DemoOptions, HELP, readOptions } from './demo/options.ts';
import { PlatformRest } from './demo/platform-rest.ts';
import { DemoProcess } from './demo/processes.ts';
import { ACCESS_TOKEN, DEVICE_NAME, type SettingPaths, writeAgent, writeBoard } from './demo/setting.ts';
import { type MadeDevice, showArrivals } from './demo/show-arrivals.ts';
import { startSwallowingProxy } from './demo/swallowing-proxy.ts';

const USER = { username: 'tenant@thingsboard.org', password: 'tenant' };
const OUTAGE_BEGINS_AFTER_MS = 10_000;
const STARTS_WITHIN_MS = 20_000;
/** After the agent has stopped for good, what it could not send any more is sent by one more life of it. */
const LAST_LIFE_MS = 15_000;

const options = parse();
const folder = await mkdtemp(join(tmpdir(), 'turnstone-demo-'));
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
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
  const startedOffsetMs = wallOffset();
  const start = (name: string, args: readonly string[], mayEndFirst = false): DemoProcess =>
    DemoProcess.start(name, args, { folder, onUnexpectedExit: fail, mayEndFirst });
  const paths = await writeBoard(folder);
  const board = start('board', [
    'board',
    '--socket',
    paths.boardSocket,
    '--config',
    paths.boardConfig,
    '--record',
    paths.boardRecord,
  ]);
  const opened = await openPlatform(wishedPort, start);
  const { url } = opened;
  let { platform } = opened;
  const proxy = sabotage ? await startSwallowingProxy(url) : undefined;
  const platformUrl = proxy?.url ?? url;
  // The kernel chooses the page's port: what is free now is another demo's a moment later.
  await writeAgent(folder, { platformUrl, pagePort: 0 }, paths);
  const startAgent = (): DemoProcess =>
    start('agent', ['run', '--config', paths.agentConfig, '--record-appends', paths.appendRecord]);
  const rest = await logIn(url);
  const devices = await makeDevices(rest);
  let agent = startAgent();
  const pageUrl = await pageOf(paths);
  // Its next lives keep to it.
  if (pageUrl !== undefined) await writeAgent(folder, { platformUrl, pagePort: Number(new URL(pageUrl).port) }, paths);
  announce({ url, pageUrl }, paths);

  const ending = forMs === undefined ? stop.signal : AbortSignal.any([stop.signal, AbortSignal.timeout(forMs)]);
  const showing = showArrivals({ rest, devices, isQuiet: json }, ending);
  const killing = repeat(killEveryMs, ending, async () => {
    await agent.kill();
    agent = startAgent();
  });
  const outage = once(outageMs === undefined ? undefined : OUTAGE_BEGINS_AFTER_MS, ending, async () => {
    await platform.kill();
    if (!json) process.stdout.write('— the platform is gone\n');
    await delay(outageMs);
    platform = start('platform', platformArgs(Number(new URL(url).port)));
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
  const verdict = await judge(await logIn(url), devices, { paths, startedMs, startedOffsetMs });
  await board.stop();
  await platform.stop();
  proxy?.server.close();
  return report(verdict, { json, startedMs });
}

async function judge(
  rest: PlatformRest,
  devices: readonly MadeDevice[],
  {
    paths,
    startedMs,
    startedOffsetMs,
  }: { readonly paths: SettingPaths; readonly startedMs: number; readonly startedOffsetMs: number },
): Promise<Verdict> {
  const wallOffsetMs = wallOffset();
  return judgeDelivery({
    shown: await readShown(paths.boardRecord),
    appended: await readAppended(paths.appendRecord),
    stored: await storedAt(rest, devices, startedMs - 60_000),
    wallOffsetMs,
    offsetMovedMs: wallOffsetMs - startedOffsetMs,
  });
}

/** The gateway, and the devices behind it. */
async function makeDevices(rest: PlatformRest): Promise<readonly MadeDevice[]> {
  const made: MadeDevice[] = [];
  for (const { deviceName, accessToken } of [{ deviceName: DEVICE_NAME, accessToken: ACCESS_TOKEN }, ...DEMO_DEVICES])
    made.push({ name: deviceName, id: await rest.makeDevice(deviceName, accessToken) });
  return made;
}

async function storedAt(
  rest: PlatformRest,
  devices: readonly MadeDevice[],
  fromMs: number,
): Promise<Map<string, readonly StoredValue[]>> {
  const stored = new Map<string, readonly StoredValue[]>();
  for (const { id, name } of devices) {
    const keys = await rest.keys(id);
    const series = keys.length === 0 ? [] : await rest.series(id, keys, fromMs);
    for (const [key, values] of series) stored.set(judgedKey(name, key, DEMO_DEVICES, DEVICE_NAME), values);
  }
  return stored;
}

function report(
  { faults, ...counts }: Verdict,
  { json, startedMs }: { readonly json: boolean; readonly startedMs: number },
): number {
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

function announce(
  { url, pageUrl }: { readonly url: string; readonly pageUrl: string | undefined },
  paths: SettingPaths,
): void {
  process.stdout.write(`platform   ${url}   (log in as ${USER.username} / ${USER.password}, and switch the relay)\n`);
  if (pageUrl !== undefined) process.stdout.write(`device     ${pageUrl}   (its status page)\n`);
  // As it stands, from any folder: in a checkout no turnstone is on the path, and Node is the project's own.
  process.stdout.write(`agent      ${statusCommand(paths)}\n\n`);
}

function platformArgs(port: number): readonly string[] {
  return ['platform', '--port', `${port}`, '--data', join(folder, 'platform'), '--json'];
}

/** On the port that is wished for, or, when another program has it, on any other. */
async function openPlatform(
  wishedPort: number,
  start: (name: string, args: readonly string[], mayEndFirst: boolean) => DemoProcess,
): Promise<{ readonly platform: DemoProcess; readonly url: string }> {
  for (const port of [wishedPort, 0]) {
    const platform = start('platform', platformArgs(port), port !== 0);
    const said = await platform.firstLine;
    if (said !== undefined) return { platform, url: (JSON.parse(said) as { readonly url: string }).url };
  }
  throw new Error('the platform did not start');
}

/** Where the agent's page is: a person opens the address as soon as it is printed. Undefined when there is none in time. */
async function pageOf({ runFolder }: SettingPaths): Promise<string | undefined> {
  const untilMs = Date.now() + STARTS_WITHIN_MS;
  while (Date.now() < untilMs && !stop.signal.aborted) {
    const answer = await askAgent(runFolder, 'statusPage').catch(() => undefined);
    if (isJsonObject(answer) && typeof answer.url === 'string') return answer.url;
    await delay(100);
  }
  return undefined;
}

async function askAgent(runFolder: string, method: string): Promise<JsonValue> {
  const agent = await ControlClient.connect({ folder: runFolder, interrupted: stop.signal });
  try {
    return await agent.request(method);
  } finally {
    await agent.close();
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

function statusCommand({ runFolder }: SettingPaths): string {
  const words = [
    join(import.meta.dirname, 'dev.sh'),
    'node',
    join(import.meta.dirname, '../src/main.ts'),
    'status',
    '--run-folder',
    runFolder,
  ];
  return words.map((word) => (/^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}
