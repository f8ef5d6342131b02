/**
 * Judges a run by three independent accounts: what the board showed, what the agent said was durable, and what the platform answers.
 *
 *   board's record ──┐  each value shown between a life's first and last durable entry of its key must be at the platform
 *   append record  ──┼→ each durable entry must be at the platform, with its value and its time
 *   platform (REST) ─┘  nothing may be at the platform that neither record explains
 */
import { type JsonValue, jsonEqual } from '../../src/values/json.ts';

/** A value that the board showed to whoever read it. */
export interface ShownValue {
  readonly key: string;
  readonly value: JsonValue;
  /** CLOCK_MONOTONIC, ms: one clock for all processes of a machine. */
  readonly monotonicMs: number;
}

/** An entry whose `append` had resolved. */
export interface AppendedValue extends ShownValue {
  /** Which process appended it. */
  readonly life: string;
}

export interface StoredValue {
  readonly ts: number;
  readonly value: JsonValue;
}

export interface Verdict {
  readonly appended: number;
  readonly stored: number;
  readonly missing: number;
  readonly different: number;
  /** The first few faults, in words. */
  readonly faults: readonly string[];
}

/** A resolved timestamp is a rounded sum, and two values of one key in one ms are moved apart. */
const TIME_TOLERANCE_MS = 20;
/** Two accounts may be divided only in a pause so long that every tolerance of time fits on both sides. */
const PAUSE_MS = 4 * TIME_TOLERANCE_MS;
/** From the moment the board showed a value to the moment the agent stamped it: a bus transfer, or a line that had to arrive. */
const SHOWN_TOLERANCE_MS = 2_000;
/** An entry written just before a kill may be durable, and delivered later, though nobody was told that it was. */
const UNTOLD_BEFORE_DEATH_MS = 10_000;
const FAULTS_SHOWN = 10;

/** Wall time minus CLOCK_MONOTONIC, ms; up to 1 ms too small, as the wall clock is read in whole ms. */
export function wallOffset(): number {
  return Date.now() - Number(process.hrtime.bigint()) / 1e6;
}

/**
 * The latest time (CLOCK_MONOTONIC, ms) at which a run can be cut in two: in the middle of a pause between two durable entries. At an entry's
 * own time a rounded ms decides on which side it stands. @throws Error when there is no pause.
 */
export function lastPause(appended: readonly AppendedValue[]): number {
  const times = appended.map(({ monotonicMs }) => monotonicMs).sort((a, b) => b - a);
  const at = times.findIndex((ms, index) => index > 0 && (times[index - 1] ?? ms) - ms >= PAUSE_MS);
  const [after, before] = [times[at - 1], times[at]];
  if (after === undefined || before === undefined) throw new Error(`no two durable entries are ${PAUSE_MS} ms apart`);
  return (after + before) / 2;
}

export function judgeDelivery(accounts: {
  readonly shown: readonly ShownValue[];
  readonly appended: readonly AppendedValue[];
  readonly stored: ReadonlyMap<string, readonly StoredValue[]>;
  /** Wall time minus monotonic time, ms. */
  readonly wallOffsetMs: number;
  /** By how much it moved during the run: a clock that is being synchronised is slewed. */
  readonly offsetMovedMs?: number;
}): Verdict {
  const { shown, appended, stored, wallOffsetMs, offsetMovedMs = 0 } = accounts;
  const toleranceMs = TIME_TOLERANCE_MS + Math.abs(offsetMovedMs);
  const faults: string[] = [];
  const unclaimed = new Map([...stored].map(([key, values]) => [key, new Set(values)]));
  let missing = 0;
  let different = 0;

  for (const entry of appended) {
    const candidates = near(unclaimed.get(entry.key), entry.monotonicMs + wallOffsetMs, toleranceMs);
    const match = candidates.find(({ value }) => jsonEqual(value, entry.value)) ?? candidates[0];
    if (match === undefined) {
      missing += 1;
      faults.push(`missing: ${describe(entry)} was durable and is not at the platform`);
      continue;
    }
    unclaimed.get(entry.key)?.delete(match);
    if (!jsonEqual(match.value, entry.value)) {
      different += 1;
      faults.push(`different: ${describe(entry)} is ${String(match.value)} at the platform`);
    }
  }

  for (const value of withinLives(shown, appended)) {
    const isAppended = appended.some((entry) => entry.key === value.key && isSame(entry, value));
    // Appended entries have been judged above.
    if (
      isAppended ||
      (stored.get(value.key) ?? []).some(({ ts, value: one }) =>
        isSame({ value: one, monotonicMs: ts - wallOffsetMs }, value),
      )
    )
      continue;
    missing += 1;
    faults.push(`missing: the board showed ${describe(value)}, and the agent lost it`);
  }

  const boardKeys = new Set(shown.map(({ key }) => key));
  const deaths = lastOfEachLife(appended);
  for (const [key, values] of unclaimed) {
    for (const value of values) {
      const atMs = value.ts - wallOffsetMs;
      const explained = boardKeys.has(key)
        ? shown.some(
            (one) =>
              one.key === key &&
              jsonEqual(one.value, value.value) &&
              Math.abs(one.monotonicMs - atMs) <= SHOWN_TOLERANCE_MS,
          )
        : deaths.some((deathMs) => atMs >= deathMs - toleranceMs && atMs <= deathMs + UNTOLD_BEFORE_DEATH_MS);
      if (explained) continue;
      different += 1;
      faults.push(`different: the platform has ${key} = ${String(value.value)}, which nobody appended`);
    }
  }

  const storedCount = [...stored.values()].reduce((sum, values) => sum + values.length, 0);
  return { appended: appended.length, stored: storedCount, missing, different, faults: faults.slice(0, FAULTS_SHOWN) };
}

/** True when two accounts speak of one reading, given the time it takes from the board to the agent. */
function isSame(a: Pick<ShownValue, 'value' | 'monotonicMs'>, b: Pick<ShownValue, 'value' | 'monotonicMs'>): boolean {
  return Math.abs(a.monotonicMs - b.monotonicMs) <= SHOWN_TOLERANCE_MS && jsonEqual(a.value, b.value);
}

function near(values: ReadonlySet<StoredValue> | undefined, ts: number, toleranceMs: number): StoredValue[] {
  return [...(values ?? [])]
    .filter((value) => Math.abs(value.ts - ts) <= toleranceMs)
    .sort((a, b) => Math.abs(a.ts - ts) - Math.abs(b.ts - ts));
}

/** The shown values that lie between the first and the last durable entry of their key in one life of the agent: none of these may be lost. */
function withinLives(shown: readonly ShownValue[], appended: readonly AppendedValue[]): ShownValue[] {
  const spans = new Map<string, { key: string; fromMs: number; toMs: number }>();
  for (const { life, key, monotonicMs } of appended) {
    const id = `${life} ${key}`;
    const span = spans.get(id);
    if (span === undefined) spans.set(id, { key, fromMs: monotonicMs, toMs: monotonicMs });
    else {
      span.fromMs = Math.min(span.fromMs, monotonicMs);
      span.toMs = Math.max(span.toMs, monotonicMs);
    }
  }
  const all = [...spans.values()];
  return shown.filter((one) =>
    all.some(({ key, fromMs, toMs }) => key === one.key && one.monotonicMs > fromMs && one.monotonicMs < toMs),
  );
}

function lastOfEachLife(appended: readonly AppendedValue[]): number[] {
  const last = new Map<string, number>();
  for (const { life, monotonicMs } of appended) last.set(life, Math.max(last.get(life) ?? 0, monotonicMs));
  return [...last.values()];
}

function describe({ key, value, monotonicMs }: ShownValue): string {
  return `${key} = ${typeof value === 'object' ? '(JSON)' : String(value)} of ${(monotonicMs / 1000).toFixed(3)} s after boot`;
}
