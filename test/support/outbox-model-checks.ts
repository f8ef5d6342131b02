/** Checks against the model while nothing has gone wrong: the lanes, the status, the entries that can be read, and the ledger. */

import type { BatchLimits, Lane, OutboxBatch } from '../../src/outbox/delivery/outbox-batch.ts';
import type { ResolvedEntry } from '../../src/outbox/format/entry-columns.ts';
import type { TelemetryEntry } from '../../src/outbox/format/telemetry-entry.ts';
import type { Outbox } from '../../src/outbox/outbox.ts';
import type { JsonValue } from '../../src/values/json.ts';
import { stringifyJson } from '../../src/values/json.ts';

export interface KnownEntry {
  /** As `nameOf` calls it. */
  readonly name: string;
  readonly entry: TelemetryEntry;
  /** Its append resolved: from now on it must not be lost. `life` counts processes. */
  committed?: { readonly atMs: number; readonly life: number };
  /** It gave way in memory or to a bound, and its append said so. */
  refused: boolean;
  ts?: number;
  given: boolean;
  acknowledged: boolean;
  /** Acknowledged, but never delivered. */
  rejected?: boolean;
  /** It waits again, in whichever lane. */
  resent?: boolean;
  /** Its sequence, while it is in quarantine. */
  aside?: OutboxBatch;
}

export interface KnownOutbox {
  readonly outbox: Outbox;
  readonly entries: readonly KnownEntry[];
  readonly life: number;
  readonly nowMs: number;
  readonly order: 'newest-first' | 'oldest-first';
  readonly givenUp: number;
}

/** Age up to which a commit counts as the present; commits within the stretch grow old together. */
const LIVE_MS = 30_000;
const STRETCH_MS = 500;
const HOUR_MS = 3_600_000;

/** Entries of the outbox's own: the time before it is a guess, or what was lost. */
export function isMark(key: string): boolean {
  return key.endsWith('_timeUncertain') || key.startsWith('outbox');
}

export function checkStatus(known: KnownOutbox): void {
  const { outbox, entries, life, givenUp } = known;
  const status = outbox.status();
  const inMemory = entries.filter((one) => one.committed === undefined && !one.refused).length;
  const waiting = waitingOf(known);
  const own = status.heldEntries - waiting.length - inMemory;
  // Reports of the outbox about its losses are appended by itself.
  if (own < 0 || own > givenUp)
    throw new Error(`status: ${status.heldEntries} are held, not ${waiting.length + inMemory}`);
  between('in memory', status.inMemoryEntries, [inMemory, inMemory + own]);
  same(
    'rejected, dropped and dead letters',
    status.rejected + status.dropped + (status.deadLetters ?? 0),
    entries.filter((one) => one.rejected === true).length,
  );
  same('undecided', status.undecidedEntries, 0);
  const { alarm, live, backlog } = status.lanes;
  same('lanes', alarm + live + backlog, status.heldEntries - status.inMemoryEntries);
  same('bytes of nothing', status.heldBytes === 0, status.heldEntries === status.inMemoryEntries);
  if (status.heldBytes > status.bytes) throw new Error(`status: ${status.heldBytes} of ${status.bytes} bytes are held`);
  same('oldest of nothing', status.oldestMs === undefined, status.heldEntries === status.inMemoryEntries);
  const alarms = waiting.filter(({ entry }) => entry.class === 'alarm');
  const found = alarms.filter(({ committed, resent }) => committed?.life === life && resent !== true).length;
  between('alarms', alarm, [found, alarms.length + givenUp]);
  const surelyLive = waiting.filter((one) => isLive(one, known)).length;
  const perhapsLive = waiting.filter((one) => mayBeLive(one, known)).length;
  between('live', live, [surelyLive, perhapsLive]);
}

/** Checks the first batch of a lane: it must belong to it, stay within the limits, and leave nothing out that comes before. */
export function checkSelection(
  known: KnownOutbox,
  lane: Lane,
  limits: BatchLimits,
  batch: OutboxBatch | undefined,
): void {
  const { life, order, entries } = known;
  const waiting = waitingOf(known).filter(({ aside }) => aside === undefined);
  const older = waiting.filter((one) => one.entry.class === 'regular' && !mayBeLive(one, known));
  if (batch === undefined) {
    const left = {
      alarm: waiting.filter(({ entry, resent }) => entry.class === 'alarm' && resent !== true),
      live: waiting.filter((one) => isLive(one, known)),
      backlog: older,
    }[lane];
    if (
      left.length > 0 &&
      (lane !== 'live' || order === 'newest-first' || waiting.every((one) => mayBeLive(one, known)))
    )
      throw new Error(`${lane} gives nothing, and ${left.length} entries wait`);
    return;
  }
  const byName = new Map(entries.map((one) => [one.name, one]));
  const given = [...batch.entries].flatMap((entry) => byName.get(nameOf(entry)) ?? []);
  const size = batch.entries.length;
  if (batch.ranges.length > 1 && entries.every(({ aside }) => aside === undefined)) {
    if (size > limits.maxEntries) throw new Error(`a batch of ${size} entries where ${limits.maxEntries} were allowed`);
    if (batch.bytes > limits.maxBytes)
      throw new Error(`a batch of ${batch.bytes} bytes where ${limits.maxBytes} were allowed`);
  }
  for (const one of given) {
    if (one.aside !== undefined) throw new Error(`${one.entry.key} is in quarantine and is given out`);
    if (lane === 'alarm' && one.entry.class !== 'alarm') throw new Error(`${one.entry.key} is no alarm`);
    if (lane === 'live' && !mayBeLive(one, known)) throw new Error(`${one.entry.key} is not of the present`);
    if (lane === 'backlog' && isLive(one, known)) throw new Error(`${one.entry.key} is of the present`);
  }
  if (lane === 'live' && order === 'oldest-first' && older.length > 0)
    throw new Error('the present overtakes the backlog');
  if (lane !== 'backlog' || given.length === 0) return;
  const rest = older.filter((one) => !given.includes(one) && one.committed?.life === life);
  const times = given.map(committedMs);
  const overtaken = rest.filter((one) =>
    order === 'newest-first' ? committedMs(one) > Math.min(...times) : committedMs(one) < Math.max(...times),
  );
  if (given.every(({ committed }) => committed?.life === life) && overtaken.length > 0)
    throw new Error(`${lane} passes over ${overtaken.length} entries that come before`);
}

/** All that was committed can be read, once, with its time; and a query takes from that what it asks for. */
export async function checkReading(known: KnownOutbox): Promise<void> {
  const { outbox, entries } = known;
  const all = await readAll(outbox, {});
  const byName = new Map(all.map((entry) => [nameOf(entry), entry]));
  same('entries read twice', all.length - byName.size, 0);
  for (const { name, entry, ts, committed, refused } of entries) {
    const read = byName.get(name);
    if (committed !== undefined && read === undefined) throw new Error(`${entry.key} cannot be read`);
    if (read !== undefined && (refused || read.class !== entry.class || (ts !== undefined && read.ts !== ts)))
      throw new Error(`${entry.key} is read as ${stringifyJson(read as unknown as JsonValue)}`);
  }
  const held = await readAll(outbox, { heldOnly: true });
  // Some that are on their way to the disk are read, too.
  const onTheirWay = entries.filter((one) => one.committed === undefined && !one.refused).length;
  const waiting = waitingOf(known).length;
  between('held entries that can be read', held.length, [waiting, waiting + onTheirWay]);
  const times = all.map(({ ts }) => ts).sort((a, b) => a - b);
  const [fromMs, toMs] = [times[Math.floor(times.length / 4)] ?? 0, times[Math.floor(times.length / 2)] ?? 0];
  const within = all.filter(({ ts }) => ts >= fromMs && ts < toMs);
  same('entries read within times', (await readAll(outbox, { fromMs, toMs })).length, within.length);
  const query = { keys: ['key1', 'alarm1'], device: 'self', fromMs };
  const chosen = all.filter(({ key, ts }) => query.keys.includes(key) && ts >= fromMs);
  same('entries read of keys', (await readAll(outbox, query)).length, chosen.length);
}

/** Checks that the ledger holds the delivered entries, hour by hour, and nothing else. */
export async function checkLedger({ outbox, entries }: KnownOutbox): Promise<void> {
  const expected = new Map<string, { count: number; sum: number }>();
  for (const { entry, ts, acknowledged, rejected } of entries) {
    if (!acknowledged || rejected === true || ts === undefined) continue;
    const cell = { count: 0, sum: 0, ...expected.get(`${Math.floor(ts / HOUR_MS) * HOUR_MS} ${entry.key}`) };
    cell.count += 1;
    if (typeof entry.value === 'number') cell.sum += entry.value;
    expected.set(`${Math.floor(ts / HOUR_MS) * HOUR_MS} ${entry.key}`, cell);
  }
  const cells = (await outbox.readLedger({})).filter(({ key, count }) => !isMark(key) && count !== 0);
  same('cells of the ledger', cells.length, expected.size);
  for (const { key, hourMs, count, sum } of cells) {
    const cell = expected.get(`${hourMs} ${key}`);
    same(`count of ${key} at ${hourMs}`, count, cell?.count ?? 0);
    if (Math.abs(sum - (cell?.sum ?? 0)) > 1e-6) throw new Error(`the ledger has ${sum} for ${key}, not ${cell?.sum}`);
  }
}

async function readAll(outbox: Outbox, query: Parameters<Outbox['read']>[0]): Promise<ResolvedEntry[]> {
  const entries: ResolvedEntry[] = [];
  for await (const entry of outbox.read(query, new AbortController().signal))
    if (!isMark(entry.key)) entries.push(entry);
  return entries;
}

function waitingOf({ entries }: KnownOutbox): KnownEntry[] {
  return entries.filter(({ committed, acknowledged }) => committed !== undefined && !acknowledged);
}

function ageOf({ committed }: KnownEntry, { nowMs }: KnownOutbox): number {
  return nowMs - (committed?.atMs ?? 0);
}

/** In the lane for the present for certain; and whether it can be there at all. */
function isLive(one: KnownEntry, known: KnownOutbox): boolean {
  return mayBeLive(one, known) && one.resent !== true && ageOf(one, known) < LIVE_MS - STRETCH_MS;
}

/** Of the present is also what no disk has yet. */
function mayBeLive(one: KnownEntry, known: KnownOutbox): boolean {
  if (one.entry.class !== 'regular') return false;
  return one.committed === undefined || (one.committed.life === known.life && ageOf(one, known) <= LIVE_MS);
}

function committedMs({ committed }: KnownEntry): number {
  return committed?.atMs ?? 0;
}

/** Made for every entry at every check: what needs no JSON gets none. */
export function nameOf({ key, value }: { readonly key: string; readonly value: JsonValue }): string {
  return `${key} ${typeof value} ${typeof value === 'object' ? stringifyJson(value) : String(value)}`;
}

function same(what: string, found: number | boolean, expected: number | boolean): void {
  if (found !== expected) throw new Error(`${what}: ${found}, not ${expected}`);
}

function between(what: string, found: number, [least, most]: readonly [number, number]): void {
  if (found < least || found > most) throw new Error(`${what}: ${found}, not ${least} to ${most}`);
}
