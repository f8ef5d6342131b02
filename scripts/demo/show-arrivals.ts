/** Prints what arrives at the platform, as it arrives: one line per instant, newest values of each key once a second at most. */
import { setTimeout as delay } from 'node:timers/promises';
import { stringifyJson } from '../../src/values/json.ts';
import type { PlatformRest } from './platform-rest.ts';

const LOOK_EVERY_MS = 1_000;
const MAX_LINE_LENGTH = 150;

/** A device of the demo at the platform. */
export interface MadeDevice {
  readonly name: string;
  readonly id: string;
}

export async function showArrivals(
  {
    rest,
    devices,
    isQuiet,
  }: { readonly rest: PlatformRest; readonly devices: readonly MadeDevice[]; readonly isQuiet: boolean },
  signal: AbortSignal,
): Promise<void> {
  const seen = new Map(devices.map(({ id }) => [id, Date.now() - 60_000]));
  while (!signal.aborted) {
    await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    for (const device of isQuiet ? [] : devices) await showNew(device);
  }

  async function showNew({ id, name }: MadeDevice): Promise<void> {
    let seenTs = seen.get(id) ?? 0;
    // An outage is part of the demo: what arrived meanwhile is shown when the platform is back.
    const arrived = await newest(rest, id, seenTs + 1).catch(() => []);
    const byInstant = Map.groupBy(arrived, ({ ts }) => ts);
    for (const [ts, values] of [...byInstant].sort(([a], [b]) => a - b)) {
      const whose = devices.length > 1 ? `${name}  ` : '';
      const line = `${new Date(ts).toISOString().slice(11, 23)}  ${whose}${values.map(({ key, text }) => `${key}=${text}`).join('  ')}`;
      process.stdout.write(`${line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line}\n`);
      seenTs = Math.max(seenTs, ts);
    }
    seen.set(id, seenTs);
  }
}

async function newest(
  rest: PlatformRest,
  deviceId: string,
  fromTs: number,
): Promise<{ readonly ts: number; readonly key: string; readonly text: string }[]> {
  const keys = await rest.keys(deviceId);
  if (keys.length === 0) return [];
  const series = await rest.series(deviceId, keys, fromTs);
  return [...series].flatMap(([key, values]) =>
    values.map(({ ts, value }) => ({ ts, key, text: stringifyJson(value) })),
  );
}
