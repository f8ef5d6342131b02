/** Entries that can be told from each other and from damage: the number is in the value, and the value proves itself. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../src/host/clock.ts';
import type { ResolvedEntry } from '../../src/outbox/format/entry-columns.ts';
import type { TelemetryEntry } from '../../src/outbox/format/telemetry-entry.ts';

const FIRST_TS = Date.UTC(2026, 0, 1);
const KEYS = ['temperature', 'pressure', 'door', 'flow', 'level'];
/** One alarm among so many, which is committed at once and closes a block. */
const ALARM_EVERY = 17;

export function numberedEntry(number: number, clock: Clock): TelemetryEntry {
  return {
    device: 'self',
    key: keyOf(number),
    value: textOf(number),
    bootId: clock.bootId,
    monotonicMs: clock.monotonicMs(),
    takenAtMs: FIRST_TS + number * 1000,
    class: number % ALARM_EVERY === 0 ? 'alarm' : 'regular',
  };
}

/** @throws when anything about the entry is not as it was appended. */
export function numberOf(entry: ResolvedEntry): number {
  const number = Number(String(entry.value).split(' ')[0]);
  const isWhole =
    entry.value === textOf(number) && entry.key === keyOf(number) && entry.ts === FIRST_TS + number * 1000;
  if (!isWhole) throw new Error(`an entry came back changed: ${entry.key} ${String(entry.value)} at ${entry.ts}`);
  return number;
}

function keyOf(number: number): string {
  return KEYS[number % KEYS.length] ?? '';
}

function textOf(number: number): string {
  return `${number} ${createHash('sha256')
    .update(String(number))
    .digest('hex')
    .repeat(1 + (number % 3))}`;
}

/** Those of `wanted` that `found` has not. */
export function missingFrom(found: ReadonlySet<number>, wanted: Iterable<number>): readonly number[] {
  return [...wanted].filter((number) => !found.has(number));
}
