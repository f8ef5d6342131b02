/**
 * Looks at entries before they are written down, whoever made them: what the platform would take and then lose without a word, with all of
 * its instant, gets a name or a time that it keeps. What can only be seen later, or was written down before, is seen to where a batch is made
 * (platform/http-device-api.ts). Counts what it changed, and tells of each key once.
 */
import type { Log } from '../host/log.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import { isSentAsText, SendableKeys, timeFault } from '../platform/wire-values.ts';

/** Entries since start. */
export interface AdaptedEntries {
  /** Under another key than their source's. */
  readonly renamed: number;
  /** With the agent's own time, as their source gave one that cannot be. */
  readonly retimed: number;
  /** Numbers that the platform can only store as text. */
  readonly asText: number;
}

/** Whoever makes keys up as they go must not fill the log. */
const MAX_TOLD = 100;

export class EntryCheck {
  readonly #log: Log;
  readonly #keys = new SendableKeys();
  readonly #told = new Set<string>();
  #counts: AdaptedEntries = { renamed: 0, retimed: 0, asText: 0 };

  constructor(log: Log) {
    this.#log = log;
  }

  get counts(): AdaptedEntries {
    return this.#counts;
  }

  /** The name under which the platform keeps this key; counts the reading that has another. */
  keyOf(key: string): string {
    const name = this.#keys.of(key);
    if (name !== key)
      this.#note(
        'renamed',
        name,
        { was: key.slice(0, MAX_TOLD) },
        'the platform would lose this key: it is sent under another name',
      );
    return name;
  }

  /** The same entries, each as the platform keeps it. */
  check(entries: readonly TelemetryEntry[]): readonly TelemetryEntry[] {
    return entries.map((entry) => this.#withKey(this.#withTime(this.#seen(entry))));
  }

  #withKey(entry: TelemetryEntry): TelemetryEntry {
    const key = this.keyOf(entry.key);
    return key === entry.key ? entry : { ...entry, key };
  }

  #withTime(entry: TelemetryEntry): TelemetryEntry {
    const { takenAtMs, ...own } = entry;
    if (takenAtMs === undefined) return entry;
    const ms = Math.round(takenAtMs);
    const fault = timeFault(ms);
    if (fault === undefined) return ms === takenAtMs ? entry : { ...entry, takenAtMs: ms };
    this.#note(
      'retimed',
      entry.key,
      { fault },
      'a source gives a time that cannot be: its readings have the time at which they came',
    );
    return own;
  }

  #seen(entry: TelemetryEntry): TelemetryEntry {
    if (isSentAsText(entry.value))
      this.#note(
        'asText',
        entry.key,
        { value: String(entry.value) },
        'the platform has no room for this number: it is sent as text',
      );
    return entry;
  }

  #note(what: keyof AdaptedEntries, key: string, details: Readonly<Record<string, string>>, message: string): void {
    this.#counts = { ...this.#counts, [what]: this.#counts[what] + 1 };
    const name = `${what} ${key.slice(0, MAX_TOLD)}`;
    if (this.#told.has(name) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(name);
    this.#log.warn({ key: key.slice(0, MAX_TOLD), ...details }, message);
  }
}
