/** The agent as a release runs it, before a sink: the bundle as a process of its own, with as many attached devices as are asked for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { ControlClient } from '../../../src/control-socket/control-client.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../../build/bundle/turnstone');
/** Compiled code of the agent, warm after its first start. */
const CACHE = resolve(import.meta.dirname, '../../../build/bench-cache');
export const STARTS_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 20;
/** V8 gives the pages of a start's garbage back over several collections: after one, 5 MB of them are still there. */
const COLLECTIONS = 4;
const COLLECT_EVERY_MS = 4_000;
const KEYS = 10;
/** Modbus hosts that share the meters. */
const HOSTS = 4;
/** Ticks of /proc/<pid>/stat in a second. */
const TICKS = 100;
export const GATEWAY_TOKEN = 'token-of-the-gateway';
/** Fields of it behind the program's name and before its time as user and as system. */
const FIELDS_BEFORE_TIME = 11;

export interface Setting {
  readonly folder: string;
  readonly url: string;
  /** 0: all belongs to the gateway. */
  readonly devices: number;
  /** Meters; they are dealt out to the devices. */
  readonly meters: number;
  /** Of each meter; default 10. */
  readonly keys?: number;
  readonly period: string;
  readonly uploadInterval: string;
  /** Program and its first arguments; default: the bundle's launcher. */
  readonly program?: readonly [string, ...string[]];
  /** File to which the agent writes what became durable. */
  readonly appendRecord?: string;
}

export interface Arrived {
  readonly values: number;
  /** On CLOCK_MONOTONIC. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface Delays {
  readonly values: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export class Sink {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: string) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async open(): Promise<Sink> {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'sink.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    return new Sink(child, port);
  }

  /** Uploads of the devices that a setting has, or of the gateway when it has none. */
  async arrived({ devices }: Pick<Setting, 'devices'>): Promise<readonly Arrived[]> {
    const all = (await (await fetch(`${this.url}/arrived`)).json()) as Record<string, Arrived>;
    return Object.entries(all).flatMap(([token, one]) => ((token === GATEWAY_TOKEN) === (devices === 0) ? [one] : []));
  }

  /** Looks until it is good. @throws Error when it is not in time. */
  async until(
    setting: Setting,
    withinMs: number,
    isGood: (arrived: readonly Arrived[]) => boolean,
  ): Promise<readonly Arrived[]> {
    const endMs = monotonicMs() + withinMs;
    for (;;) {
      const arrived = await this.arrived(setting);
      if (isGood(arrived)) return arrived;
      if (monotonicMs() > endMs)
        throw new Error(`${arrived.length} devices sent something within ${withinMs} ms: too few, or too little`);
      await delay(LOOK_EVERY_MS);
    }
  }

  /** Values that came since the last reset, with the delay from their time to their arrival. */
  async delays(): Promise<Delays> {
    return (await (await fetch(`${this.url}/delays`)).json()) as Delays;
  }

  async reset(): Promise<void> {
    await fetch(`${this.url}/reset`);
  }

  close(): void {
    this.#child.kill();
  }
}

/** Writes the agent's configuration; returns its path. */
export async function writeConfig(setting: Setting): Promise<string> {
  const { folder, url, devices, meters, keys = KEYS, period, uploadInterval } = setting;
  const ofDevice = (at: number): object => (devices === 0 ? {} : { device: deviceName(at % devices) });
  const registers = Object.fromEntries(
    Array.from({ length: keys }, (_, key) => [`k${key}`, { table: 'input', address: key, type: 'uint16' }]),
  );
  const metersOf = Array.from({ length: meters }, (_, at) => ({
    name: `meter${at}`,
    kind: 'modbus',
    period,
    prefix: `m${at}_`,
    connection: { transport: 'tcp', host: `meters${at % HOSTS}.local` },
    unitId: 1 + Math.floor(at / HOSTS),
    registers,
    ...ofDevice(at),
  }));
  const idle = { name: 'idle', kind: 'host', period: '1h' };
  const config = {
    version: 1,
    platform: { url, accessToken: GATEWAY_TOKEN },
    stateFolder: join(folder, 'state'),
    runFolder: join(folder, 'run'),
    log: { level: 'warn' },
    time: { trust: 'always' },
    status: { page: 'off' },
    hardware: { board: 'simulated', boardSocket: boardSocket(folder) },
    outbox: { backlogRate: '1000000/s', minFree: '1MB' },
    upload: { interval: uploadInterval },
    ...(devices === 0 ? {} : { devices: Array.from({ length: devices }, (_, at) => deviceConfig(at)) }),
    sensors: meters === 0 ? [idle] : metersOf,
  };
  const path = join(folder, 'turnstone.yaml');
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

function deviceConfig(at: number): object {
  return { name: deviceName(at), deviceName: deviceName(at), accessToken: tokenOf(deviceName(at)) };
}

/** Name of the slot and on the platform: the device of its entries. */
export function deviceName(at: number): string {
  return `device${at}`;
}

export function tokenOf(device: string): string {
  return `token-of-${device}`;
}

function boardSocket(folder: string): string {
  return join(folder, 'board.sock');
}

/** The board that fits a configuration, until the returned function is called. */
export async function startBoard(
  { folder, program = [LAUNCHER] }: Setting,
  config: string,
): Promise<() => Promise<void>> {
  const [command, ...words] = program;
  const child = spawn(command, [...words, 'board', '--socket', boardSocket(folder), '--fit', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await Promise.race([once(child.stdout, 'data'), diesFirst(child, 'the board')]);
  return () => end(child);
}

export interface RunningAgent {
  readonly startedMs: number;
  privateMb(): Promise<number>;
  /** Of the processor, since it started. */
  cpuSeconds(): Promise<number>;
  /** Rejects when it ends before it was told to. */
  readonly ended: Promise<never>;
  stop(): Promise<void>;
}

export function startAgent({ folder, program = [LAUNCHER], appendRecord }: Setting, config: string): RunningAgent {
  const startedMs = monotonicMs();
  const [command, ...words] = program;
  const record = appendRecord === undefined ? [] : ['--record-appends', appendRecord];
  const child = spawn(command, [...words, 'run', '--config', config, ...record], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '--expose-gc', XDG_CACHE_HOME: CACHE },
  });
  const ended = diesFirst(child, 'the agent');
  ended.catch(() => {});
  return {
    startedMs,
    ended,
    privateMb: async () => {
      const client = await ControlClient.connect({ folder: join(folder, 'run') });
      for (let collection = 0; collection < COLLECTIONS; collection += 1) {
        await client.request('memory', { collect: true });
        await delay(COLLECT_EVERY_MS);
      }
      await client.close();
      const rollup = await readFile(`/proc/${child.pid}/smaps_rollup`, 'utf8');
      return (
        [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce((sum, [, kb]) => sum + Number(kb), 0) /
        1024
      );
    },
    cpuSeconds: async () => {
      const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8');
      const times = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(FIELDS_BEFORE_TIME, FIELDS_BEFORE_TIME + 2);
      return times.reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
    },
    stop: () => end(child),
  };
}

async function diesFirst(child: ChildProcess, who: string): Promise<never> {
  await once(child, 'exit');
  throw new Error(`${who} ended by itself (${child.exitCode ?? child.signalCode}): does it know \`devices:\`?`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
