/**
 * Which requests are known, and for how long a repeat of each is recognised. In memory; rpc-journal.ts keeps it on disk.
 * Bounded: reads go first, then what is past its window; a movement within its window is never forgotten.
 */
import { isJsonObject, type JsonObject, stringifyJson } from '../host/json.ts';

/** `read` changes nothing; `set` may be done twice with the same outcome; `move` must not. */
export type Effect = 'read' | 'set' | 'move';

export interface JournalEntry {
  readonly key: string;
  readonly id: number;
  readonly method: string;
  readonly effect: Effect;
  /** What the method noted before it moved, for the case that the reply is lost. */
  readonly note?: JsonObject;
  readonly reply?: JsonObject;
  /** When the platform took the reply, ms since the boot `bootId`. */
  readonly answeredAtMs?: number;
  readonly bootId: string;
}

/** A repeat is recognised until its reply was taken, and this much longer. */
export const WINDOW_AFTER_ANSWER_MS = 30_000;
/** More than a platform can hand out within one window at the loop's own rate limit. */
const MOST_ENTRIES = 4096;
const MOST_REPLY_BYTES = 2 * 1024 * 1024;

export class JournalEntries {
  readonly #bootId: string;
  readonly #entries = new Map<string, JournalEntry>();
  #replyBytes = 0;

  constructor(bootId: string) {
    this.#bootId = bootId;
  }

  /** The entry that a request repeats, if it repeats one. */
  find(key: string, nowMs: number): JournalEntry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || !this.#isPast(entry, nowMs)) return entry;
    this.#delete(key);
    return undefined;
  }

  /** Whether this id is known with other content: the sign of a server that counts from 0 again. */
  hasOtherContent(id: number, key: string): boolean {
    for (const entry of this.#entries.values()) if (entry.id === id && entry.key !== key) return true;
    return false;
  }

  put(entry: JournalEntry): void {
    this.#delete(entry.key);
    this.#entries.set(entry.key, entry);
    this.#replyBytes += bytesOf(entry);
  }

  /** Makes room for one more. False when every entry is a movement within its window. */
  makeRoom(nowMs: number): boolean {
    if (!this.#isFull()) return true;
    this.live(nowMs);
    for (const effect of ['read', 'set'] as const) {
      for (const entry of [...this.#entries.values()]) {
        if (!this.#isFull()) return true;
        if (entry.effect === effect && entry.reply !== undefined) this.#delete(entry.key);
      }
    }
    return !this.#isFull();
  }

  /** Forgets what is past, and gives the rest, oldest first. */
  live(nowMs: number): JournalEntry[] {
    for (const entry of [...this.#entries.values()]) if (this.#isPast(entry, nowMs)) this.#delete(entry.key);
    return [...this.#entries.values()];
  }

  #isFull(): boolean {
    return this.#entries.size >= MOST_ENTRIES || this.#replyBytes >= MOST_REPLY_BYTES;
  }

  /** Answers of an earlier boot count from the start of this one: their age is not known, and forgetting late moves nothing. */
  #isPast(entry: JournalEntry, nowMs: number): boolean {
    if (entry.answeredAtMs === undefined) return false;
    return nowMs - (entry.bootId === this.#bootId ? entry.answeredAtMs : 0) >= WINDOW_AFTER_ANSWER_MS;
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#replyBytes -= bytesOf(entry);
  }
}

/** An entry as a frame's payload. */
export function entryToJson(entry: JournalEntry): JsonObject {
  return { ...entry } as JsonObject;
}

/** Undefined when the payload is not an entry. */
export function entryFromJson(json: JsonObject): JournalEntry | undefined {
  const { key, id, method, effect, note, reply, answeredAtMs, bootId } = json;
  if (typeof key !== 'string' || typeof id !== 'number' || typeof method !== 'string' || typeof bootId !== 'string') return undefined;
  if (effect !== 'read' && effect !== 'set' && effect !== 'move') return undefined;
  return {
    ...{ key, id, method, effect, bootId },
    ...(isJsonObject(note) ? { note } : {}),
    ...(isJsonObject(reply) ? { reply } : {}),
    ...(typeof answeredAtMs === 'number' ? { answeredAtMs } : {}),
  };
}

function bytesOf(entry: JournalEntry): number {
  return entry.reply === undefined ? 0 : Buffer.byteLength(stringifyJson(entry.reply));
}
