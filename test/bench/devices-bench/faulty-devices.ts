/**
 * A gateway with a hundred attached devices before a local platform, of which four get into trouble: one is refused, one meets a server that fails,
 * one is slow and one is deleted. What became durable is held against what arrived, and delays are counted from reading to arrival.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';
import { getOrInsert } from '../../../src/values/get-or-insert.ts';
import { inFolder } from '../outbox-bench/bench-outbox.ts';
import {
  deviceName,
  GATEWAY_TOKEN,
  type RunningAgent,
  type Setting,
  STARTS_WITHIN_MS,
  startAgent,
  startBoard,
  tokenOf,
  writeConfig,
} from './agent-run.ts';

export const [REFUSED, FAILING, SLOW, DELETED] = [7, 23, 42, 68].map(deviceName) as [string, string, string, string];
const IN_TROUBLE: ReadonlySet<string> = new Set([REFUSED, FAILING, SLOW, DELETED]);
const SLOW_BYTES_PER_SECOND = 1_000;
const LOOK_EVERY_MS = 50;
const DEVICES = 100;
/** Until polls stand, and client attributes are told. */
const SETTLE_SECONDS = 20;
const KEY_OF_METER = /^m(\d+)_/;

/** Values of a key, in the order of their times. */
export type Values = ReadonlyMap<string, readonly unknown[]>;

export class FaultyDevices {
  readonly platform: LocalPlatform;
  readonly agent: RunningAgent;
  readonly #setting: Setting & { readonly appendRecord: string };
  readonly #stopBoard: () => Promise<void>;
  readonly #delays: Map<string, number[]>;

  private constructor(parts: {
    readonly platform: LocalPlatform;
    readonly agent: RunningAgent;
    readonly setting: Setting & { readonly appendRecord: string };
    readonly stopBoard: () => Promise<void>;
    readonly delays: Map<string, number[]>;
  }) {
    this.platform = parts.platform;
    this.agent = parts.agent;
    this.#setting = parts.setting;
    this.#stopBoard = parts.stopBoard;
    this.#delays = parts.delays;
  }

  /** Starts all of it; resolves when each device has sent something. */
  static async start(asked: Omit<Setting, 'url' | 'appendRecord'>): Promise<FaultyDevices> {
    const delays = new Map<string, number[]>();
    const platform = await LocalPlatform.start({
      onStored: ({ name }, { ts }) => getOrInsert(delays, name, () => []).push(Date.now() - ts),
    });
    const { registry } = platform.state;
    const all = [{ name: 'gateway', accessToken: GATEWAY_TOKEN }];
    for (let at = 0; at < asked.devices; at += 1)
      all.push({ name: deviceName(at), accessToken: tokenOf(deviceName(at)) });
    for (const device of all) registry.devices.put(registry.draft(device, Date.now()));
    const setting = { ...asked, url: platform.url, appendRecord: join(asked.folder, 'appends') };
    const config = await writeConfig(setting);
    const stopBoard = await startBoard(setting, config);
    const run = new FaultyDevices({ platform, agent: startAgent(setting, config), setting, stopBoard, delays });
    try {
      await run.until(
        STARTS_WITHIN_MS,
        () => [...delays.keys()].filter((name) => name !== 'gateway').length >= asked.devices,
      );
    } catch (error) {
      await run.close();
      throw error;
    }
    return run;
  }

  plantFaults(): void {
    const { faults, state } = this.platform;
    faults.plant({ kind: 'answer', status: 401 }, { device: REFUSED, times: Number.POSITIVE_INFINITY });
    faults.plant({ kind: 'answer', status: 500 }, { device: FAILING, times: Number.POSITIVE_INFINITY });
    faults.plant(
      { kind: 'slow', bytesPerSecond: SLOW_BYTES_PER_SECOND },
      { device: SLOW, times: Number.POSITIVE_INFINITY },
    );
    state.deleteDevice(state.registry.byName(DELETED)?.id ?? '');
  }

  /** Delays of the records that healthy devices sent while the seconds passed, ms, ascending. */
  async delaysFor(seconds: number): Promise<readonly number[]> {
    this.#delays.clear();
    await Promise.race([delay(seconds * 1_000), this.agent.ended]);
    return [...this.#delays]
      .flatMap(([name, own]) => (name === 'gateway' || IN_TROUBLE.has(name) ? [] : own))
      .sort((a, b) => a - b);
  }

  /** Names of the devices whose entries lie in a place of their own. */
  async held(): Promise<readonly string[]> {
    const folder = join(this.#setting.folder, 'state/devices/held');
    const places = await readdir(folder);
    const names = await Promise.all(
      places.map(
        async (place) => JSON.parse(await readFile(join(folder, place, 'device.json'), 'utf8')).device as string,
      ),
    );
    return names.sort();
  }

  /** What became durable of the meters' readings, for each device that is there at the end. */
  async read(): Promise<Values> {
    const lines = (await readFile(this.#setting.appendRecord, 'utf8')).split('\n').filter((line) => line !== '');
    const entries = lines.map(
      (line) => JSON.parse(line) as { readonly key: string; readonly value: unknown; readonly monotonicMs: number },
    );
    const values = new Map<string, unknown[]>();
    for (const { key, value } of entries.sort((a, b) => a.monotonicMs - b.monotonicMs)) {
      if (KEY_OF_METER.test(key)) getOrInsert(values, key, () => []).push(value);
    }
    return values;
  }

  /** What arrived under each device. */
  arrived(): ReadonlyMap<string, Values> {
    const { devices } = this.#setting;
    return new Map(
      Array.from({ length: devices }, (_, at) => {
        const points = [...(this.platform.deviceView(deviceName(at))?.points ?? [])].filter(([key]) =>
          KEY_OF_METER.test(key),
        );
        return [
          deviceName(at),
          new Map(points.map(([key, own]) => [key, own.toSorted((a, b) => a.ts - b.ts).map(({ value }) => value)])),
        ];
      }),
    );
  }

  /** @throws Error when it is not so in time. */
  async until(withinMs: number, isSo: () => boolean): Promise<void> {
    const endMs = performance.now() + withinMs;
    while (!isSo()) {
      if (performance.now() > endMs) throw new Error(`not within ${withinMs} ms`);
      await Promise.race([delay(LOOK_EVERY_MS), this.agent.ended]);
    }
  }

  async close(): Promise<void> {
    await this.agent.stop();
    await this.#stopBoard();
    await this.platform.close();
  }
}

export interface FaultsFigures {
  readonly p99Ms: number;
  readonly p99WithFaultsMs: number;
  /** Of the devices that are in no trouble. */
  readonly p99RatioWithFaults: number;
}

/** Delays of the others before and with the faults, in one run. */
export function measureFaults(seconds: number): Promise<FaultsFigures> {
  return inFolder(async (folder) => {
    const run = await FaultyDevices.start({
      folder,
      devices: DEVICES,
      meters: DEVICES,
      period: '10s',
      uploadInterval: '0s',
    });
    try {
      await run.delaysFor(SETTLE_SECONDS);
      const before = percentile(await run.delaysFor(seconds));
      run.plantFaults();
      const after = percentile(await run.delaysFor(seconds));
      return { p99Ms: before, p99WithFaultsMs: after, p99RatioWithFaults: Math.round((100 * after) / before) / 100 };
    } finally {
      await run.close();
    }
  });
}

function percentile(ascending: readonly number[]): number {
  return ascending[Math.floor(ascending.length * 0.99)] ?? Number.NaN;
}

/** Device that a meter's key belongs to, when there are as many devices as meters. */
export function deviceOfKey(key: string): string {
  return deviceName(Number(KEY_OF_METER.exec(key)?.[1]));
}

export function isInTrouble(device: string): boolean {
  return IN_TROUBLE.has(device);
}
