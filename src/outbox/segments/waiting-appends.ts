/** Appends whose block is still open. While the disk takes nothing they are a ring: what is over the bound gives way, the oldest regular ones first. */
import { AgentError } from '../../errors/agent-error.ts';
import type { TelemetryEntry, TelemetryValue } from '../format/telemetry-entry.ts';

export interface WaitingAppend {
  readonly entries: readonly TelemetryEntry[];
  /** Roughly what they take in memory. */
  readonly bytes: number;
  readonly alarm: boolean;
  readonly resolve: () => void;
  readonly reject: (error: AgentError) => void;
}

/** Bytes that may wait while the disk takes nothing, however few entries they are. */
export const MEMORY_RING_BYTES = 4 * 1024 * 1024;
/** An entry in memory without its key and value: the object, its numbers, its place in arrays. */
const ENTRY_BYTES = 64;

export class WaitingAppends {
  #appends: WaitingAppend[] = [];
  entries = 0;
  bytes = 0;

  /** Adds one; tells whether it holds an alarm. */
  add(entries: readonly TelemetryEntry[], resolve: () => void, reject: (error: AgentError) => void): boolean {
    const alarm = entries.some((entry) => entry.class === 'alarm');
    this.#push({ entries, bytes: bytesOf(entries), alarm, resolve, reject });
    return alarm;
  }

  takeAll(): WaitingAppend[] {
    const appends = this.#appends;
    this.#appends = [];
    this.entries = 0;
    this.bytes = 0;
    return appends;
  }

  /** The alarms alone; what was appended with one waits on like any other. */
  takeAlarms(): WaitingAppend[] {
    return this.#appends.some(({ alarm }) => alarm) ? this.takeWhile(({ alarm }) => alarm) : [];
  }

  /** Takes the oldest of some until the answer for one of them is `full`; the others wait on. Alarms and what came with them are asked about apart. */
  takeWhile(isWanted: (part: WaitingAppend) => boolean | 'full'): WaitingAppend[] {
    const taken: WaitingAppend[] = [];
    let isFull = false;
    for (const part of this.takeAll().flatMap(apart)) {
      const answer: boolean | 'full' = isFull ? false : isWanted(part);
      isFull ||= answer === 'full';
      if (answer === true) taken.push(part);
      else this.#push(part);
    }
    return taken;
  }

  /** While it is too much, refuses the oldest regular appends, then the oldest alarms, but never the last; returns how many entries went. */
  dropWhile(isTooMuch: () => boolean): number {
    const before = this.entries;
    while (this.#appends.length > 1 && isTooMuch()) {
      const regular = this.#appends.findIndex((append) => !append.alarm);
      const [append] = this.#appends.splice(Math.max(regular, 0), 1) as [WaitingAppend];
      this.bytes -= append.bytes;
      this.entries -= append.entries.length;
      append.reject(
        new AgentError('outbox/dropped', 'the disk does not take entries, and memory is full of them', {
          recovery: 'drop',
        }),
      );
    }
    return before - this.entries;
  }

  #push(append: WaitingAppend): void {
    this.#appends.push(append);
    this.entries += append.entries.length;
    this.bytes += append.bytes;
  }
}

/** Alarms and what is regular, each by itself: one append all the same, which is done when both are. */
function apart(append: WaitingAppend): readonly WaitingAppend[] {
  const alarms = append.entries.filter((entry) => entry.class === 'alarm');
  const regular = append.entries.filter((entry) => entry.class !== 'alarm');
  if (alarms.length === 0 || regular.length === 0) return [append];
  let isHalfDone = false;
  const resolve = (): void => {
    if (isHalfDone) append.resolve();
    isHalfDone = true;
  };
  return [alarms, regular].map((entries) => ({
    entries,
    bytes: bytesOf(entries),
    alarm: entries === alarms,
    resolve,
    reject: append.reject,
  }));
}

function bytesOf(entries: readonly TelemetryEntry[]): number {
  return entries.reduce((bytes, { key, value }) => bytes + ENTRY_BYTES + key.length + sizeOf(value), 0);
}

export function closedError(): AgentError {
  return new AgentError('outbox/closed', 'the outbox is closed', { recovery: 'stop' });
}

/** Ends an append whose entries were accepted; when the outbox is full and drops the newest, only its alarms were. */
export function settle({ entries, resolve, reject }: WaitingAppend, { isFull }: { readonly isFull: boolean }): void {
  if (!isFull || entries.every((entry) => entry.class === 'alarm')) resolve();
  else reject(new AgentError('outbox/full', 'the outbox is full, and set to drop the newest', { recovery: 'drop' }));
}

function sizeOf(value: TelemetryValue): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 32;
  for (const part of Object.values(value)) bytes += 24 + sizeOf(part as TelemetryValue);
  return bytes;
}
