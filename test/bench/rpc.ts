/**
 * How long a button on a dashboard takes to move a relay: REST call → platform → agent → board's pin → reply, over loopback.
 *
 *   npm run bench:rpc [-- --json] [-- --requests 1000] [-- --seconds 60]
 *
 * Platform, board, agent and a bare echo device are processes of their own; this one is the person. Agent and echo are asked in
 * turn, so that a busy machine slows both. Then 50 requests a second are held, half of them absolute sets and half pulses, on schedule whether or not the
 * last one has been answered; the board's record tells which were lost or done twice.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RecordEntry } from '../../src/stand-ins/simulated-board/board-record.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { RestPerson } from '../support/rest-person.ts';

const MAIN = resolve(import.meta.dirname, '../../src/main.ts');
const PER_SECOND = 50;
const WARM_UP = 100;
const START_WITHIN_MS = 30_000;
const SET_LINE = 17;
const PULSE_LINE = 18;
const PULSE_MS = 1;

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    requests: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
  },
});
const folder = await mkdtemp(join(tmpdir(), 'turnstone-bench-rpc-'));
const children: ChildProcess[] = [];
try {
  const platformUrl = await startPlatform();
  const rest = await RestPerson.logIn(platformUrl);
  await startBoardAndAgent(platformUrl);
  const agent = await rest.deviceId('gateway');
  const echo = await rest.deviceId('echo');
  start([join(import.meta.dirname, 'rpc-echo.ts'), platformUrl, 'echo-token']);
  await untilAnswering(rest, agent);
  await untilAnswering(rest, echo);

  const times = await askInTurn(rest, { agent, echo });
  const held = await hold(rest, agent);
  report({
    p50Ms: at(times.agent, 0.5),
    p99Ms: at(times.agent, 0.99),
    echoP99Ms: at(times.echo, 0.99),
    ...held,
  });
} finally {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function startPlatform(): Promise<string> {
  const words = [
    'platform',
    '--port',
    '0',
    '--json',
    '--device',
    'gateway=gateway-token',
    '--device',
    'echo=echo-token',
  ];
  return (JSON.parse(await start([MAIN, ...words])) as { url: string }).url;
}

async function startBoardAndAgent(platformUrl: string): Promise<void> {
  const boardConfig = join(folder, 'board.yaml');
  await writeFile(
    boardConfig,
    JSON.stringify({ version: 1, gpio: [{ chip: 'gpiochip0', label: 'simulated', lines: 32, names: {}, inputs: [] }] }),
  );
  const boardSocket = join(folder, 'board.sock');
  await start([
    MAIN,
    'board',
    '--socket',
    boardSocket,
    '--record',
    join(folder, 'record.jsonl'),
    '--config',
    boardConfig,
  ]);
  const relay = (name: string, line: number): JsonObject => ({
    name,
    kind: 'gpio-output',
    line: `GPIO${line}`,
    safe: { start: false },
  });
  const config = join(folder, 'turnstone.yaml');
  await writeFile(
    config,
    JSON.stringify({
      version: 1,
      platform: { url: platformUrl, accessToken: 'gateway-token' },
      stateFolder: join(folder, 'state'),
      runFolder: join(folder, 'run'),
      log: { level: 'warn' },
      status: { page: 'off' },
      hardware: { board: 'simulated', boardSocket },
      sensors: [{ name: 'host', kind: 'host', period: '10s' }],
      actuators: [relay('set', SET_LINE), relay('pulsed', PULSE_LINE)],
    }),
  );
  start([MAIN, 'run', '--config', config]).catch(() => {});
}

/** Starts a program of this project; resolves with its first line. */
function start(words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return Promise.race([
    once(child.stdout, 'data').then(([bytes]) => {
      child.stdout.resume();
      return String(bytes);
    }),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${words[1] ?? words[0]} ended with ${code}`))),
  ]);
}

async function untilAnswering(rest: RestPerson, deviceId: string): Promise<void> {
  const untilMs = performance.now() + START_WITHIN_MS;
  while ((await rest.rpc(deviceId, 'getActuator', { name: 'set' }, 5_000)).status !== 200)
    if (performance.now() > untilMs) throw new Error('the device does not answer');
}

async function askInTurn(
  rest: RestPerson,
  devices: { readonly agent: string; readonly echo: string },
): Promise<{ agent: number[]; echo: number[] }> {
  const times: { agent: number[]; echo: number[] } = { agent: [], echo: [] };
  for (let request = 0; request < WARM_UP + Number(flags.requests); request += 1) {
    for (const device of ['agent', 'echo'] as const) {
      const startedMs = performance.now();
      const { status, text } = await rest.rpc(devices[device], 'setActuator', {
        name: 'set',
        value: request % 2 === 0,
      });
      const tookMs = performance.now() - startedMs;
      if (status !== 200 || text.includes('"error"')) throw new Error(`${device} answered ${status} ${text}`);
      if (request >= WARM_UP) times[device].push(tookMs);
    }
  }
  for (const device of [times.agent, times.echo]) device.sort((a, b) => a - b);
  return times;
}

/** Requests on schedule, and what the board saw of them. */
async function hold(rest: RestPerson, deviceId: string): Promise<{ heldPerS: number; lost: number; doubled: number }> {
  const before = await boardCounts();
  const total = PER_SECOND * Number(flags.seconds);
  const startedMs = performance.now();
  const answers: Promise<boolean>[] = [];
  for (let request = 0; request < total; request += 1) {
    await delay(Math.max(0, startedMs + (request * 1_000) / PER_SECOND - performance.now()));
    const [method, params] =
      request % 2 === 0
        ? ['setActuator', { name: 'set', value: request % 4 === 0 }]
        : ['pulse', { name: 'pulsed', durationMs: PULSE_MS }];
    answers.push(
      rest
        .rpc(deviceId, method as string, params as JsonObject)
        .then(({ status, text }) => status === 200 && !text.includes('"error"')),
    );
  }
  const answered = (await Promise.all(answers)).filter(Boolean).length;
  const tookS = (performance.now() - startedMs) / 1_000;
  const after = await boardCounts();
  const sets = after.sets - before.sets;
  const pulses = after.pulses - before.pulses;
  const wanted = total / 2;
  return {
    heldPerS: round(answered / tookS),
    lost: Math.max(0, wanted - sets) + Math.max(0, wanted - pulses),
    doubled: Math.max(0, sets - wanted) + Math.max(0, pulses - wanted),
  };
}

/** Every setting of the one line, moved or not, and every rising of the other. */
async function boardCounts(): Promise<{ readonly sets: number; readonly pulses: number }> {
  const lines = (await readFile(join(folder, 'record.jsonl'), 'utf8')).split('\n').filter((line) => line !== '');
  const entries = lines.map((line) => JSON.parse(line) as RecordEntry);
  const isSet = ({ kind, source }: RecordEntry): boolean =>
    (kind === 'moved' || kind === 'written') && source === `gpiochip0:${SET_LINE}`;
  const isRising = ({ kind, source, value }: RecordEntry): boolean =>
    kind === 'moved' && source === `gpiochip0:${PULSE_LINE}` && Number(value) === 1;
  return { sets: entries.filter(isSet).length, pulses: entries.filter(isRising).length };
}

function at(sorted: readonly number[], part: number): number {
  return round(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function report(figures: Readonly<Record<string, number>>): void {
  if (flags.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
  else for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name.padEnd(10)} ${value}\n`);
}
