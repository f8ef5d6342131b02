/**
 * Which requests are remembered, and what each of them makes of one that comes now. In memory; rpc-journal.ts keeps it on disk. Bounded by
 * age (same-command.ts), count and bytes: a movement that a repeat may still find within seconds is never evicted.
 */
import { isJsonObject, type JsonObject, stringifyJson } from '../values/json.ts';
import { contentOf } from './request-key.ts';
import { type EarlierRequest, type Effect, rememberedForMs, SAME_WITHIN_MS, verdictOn } from './same-command.ts';

export interface JournalEntry {
  readonly key: string;
  readonly id: number;
  readonly method: string;
  readonly effect: Effect;
  /** Notes of the method before it moved, for the case that the reply is lost. */
  readonly note?: JsonObject;
  readonly reply?: JsonObject;
  /** When it was handed out last, ms since the boot `bootId`; below 0: before that boot. */
  readonly seenAtMs: number;
  /** When the platform took the reply, likewise. */
  readonly answeredAtMs?: number;
  readonly bootId: string;
  /** State of the platform since the last hand-out, as far as it still matters; absent: nothing was seen. */
  readonly platform?: Exclude<EarlierRequest['platform'], 'steady'>;
}

/** When the platform asked: a time, and a place in the order of hand-outs, doubts and restarts. */
export interface HandOut {
  readonly atMs: number;
  readonly turn: number;
}

/** Verdict on a request, with the earlier one that it rests on. */
export type Recollection =
  | { readonly verdict: 'new' }
  | { readonly verdict: 'same' | 'undecidable'; readonly earlier: JournalEntry };

/** More than a platform can hand out within `SAME_WITHIN_MS` at the loop's own rate limit. */
const MAX_ENTRIES = 4096;
const MAX_BYTES = 3 * 1024 * 1024;
/** Bytes of an entry beside its texts: objects, numbers, its place in the map. */
const BYTES_BESIDE = 400;
const SWEEP_EVERY_MS = 1_000;
/** The turn of what was handed out in an earlier boot, or before this process knew of it. */
export const BEFORE_ALL = -1;

interface Remembered {
  readonly entry: JournalEntry;
  readonly content: string;
  readonly bytes: number;
  /** Turn of its hand-out. */
  readonly turn: number;
}

export class JournalEntries {
  /** Oldest hand-out first. */
  readonly #remembered = new Map<string, Remembered>();
  #bytes = 0;
  #turn = 0;
  #doubtTurn = 0;
  #restartTurn = -1;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  readonly #onMarked: (entry: JournalEntry) => void;

  /** @param onMarked called with each entry to which the platform has become another: a later run is to know it too. */
  constructor(onMarked: (entry: JournalEntry) => void = () => {}) {
    this.#onMarked = onMarked;
  }

  /** Returns how a request relates to those before it. */
  recall(id: number, key: string, nowMs: number): Recollection {
    if (this.#hasOtherContent(id, key)) {
      this.#restartTurn = this.#nextTurn();
      this.#mark(nowMs);
    }
    let found: Recollection = { verdict: 'new' };
    for (const one of this.#ofContent(key)) {
      const verdict = verdictOn(this.#earlier(one, id, nowMs));
      if (verdict === 'new') continue;
      // A refusal under this very id hides no movement under another.
      if (verdict === 'same' || one.entry.effect === 'move') return { verdict, earlier: one.entry };
      if (found.verdict === 'new') found = { verdict, earlier: one.entry };
    }
    return found;
  }

  get(key: string): JournalEntry | undefined {
    return this.#remembered.get(key)?.entry;
  }

  handOut(nowMs: number): HandOut {
    return { atMs: nowMs, turn: this.#nextTurn() };
  }

  /** True when the platform's request now is the one that has been under way since `handOut`. */
  isSame({ atMs, turn }: HandOut, nowMs: number): boolean {
    return (
      verdictOn({ id: 'same', reply: 'not taken', platform: this.#platformSince(turn), quietMs: nowMs - atMs }) ===
      'same'
    );
  }

  /** Takes an entry, by default as the newest. False when there is no room for it; then what was known of it stays. */
  put(entry: JournalEntry, nowMs: number, since?: number): boolean {
    this.#sweep(nowMs);
    const bytes = bytesOf(entry);
    const before = this.#remembered.get(entry.key);
    this.#delete(entry.key);
    const fits = this.#makeRoom(bytes, nowMs);
    const turn = entry.seenAtMs < 0 ? BEFORE_ALL : (since ?? this.#nextTurn());
    const now = { entry: this.#asMarked(entry, turn), content: contentOf(entry.key), bytes, turn };
    const kept = fits ? now : before;
    if (kept !== undefined) {
      this.#remembered.set(entry.key, kept);
      this.#bytes += kept.bytes;
    }
    return fits;
  }

  /** The platform may be another from now on. */
  doubt(nowMs: number): void {
    this.#doubtTurn = this.#nextTurn();
    this.#mark(nowMs);
  }

  /** All of the same content whose reply was not accepted. */
  untakenLike(key: string): readonly JournalEntry[] {
    return this.#ofContent(key).flatMap(({ entry }) => (entry.answeredAtMs === undefined ? [entry] : []));
  }

  /** All that are not past, oldest hand-out first. */
  live(nowMs: number): readonly JournalEntry[] {
    this.#sweptAtMs = Number.NEGATIVE_INFINITY;
    this.#sweep(nowMs);
    return [...this.#remembered.values()].map(({ entry }) => entry);
  }

  #earlier({ entry, turn }: Remembered, id: number, nowMs: number): EarlierRequest {
    return {
      id: id === entry.id ? 'same' : id > entry.id ? 'higher' : 'lower',
      reply: entry.answeredAtMs === undefined ? 'not taken' : 'taken',
      platform: this.#asMarked(entry, turn).platform ?? 'steady',
      quietMs: quietMs(entry, nowMs),
    };
  }

  /** Marks entries whose reply was not accepted; a doubt only while the request could still be the same. */
  #mark(nowMs: number): void {
    for (const [key, one] of this.#remembered) {
      const { entry, turn } = one;
      if (entry.effect === 'read' || entry.answeredAtMs !== undefined) continue;
      const marked = this.#asMarked(entry, turn);
      if (
        marked.platform === entry.platform ||
        (marked.platform === 'doubtful' && quietMs(entry, nowMs) >= SAME_WITHIN_MS)
      )
        continue;
      this.#remembered.set(key, { ...one, entry: marked });
      this.#onMarked(marked);
    }
  }

  #asMarked(entry: JournalEntry, turn: number): JournalEntry {
    const platform = this.#platformSince(turn);
    if (platform === 'steady' || entry.platform === 'restarted' || entry.platform === platform) return entry;
    return { ...entry, platform };
  }

  #platformSince(turn: number): EarlierRequest['platform'] {
    if (turn < this.#restartTurn) return 'restarted';
    return turn < this.#doubtTurn ? 'doubtful' : 'steady';
  }

  /** Its own earlier hand-out first, as that says more than any other request. */
  #ofContent(key: string): readonly Remembered[] {
    const content = contentOf(key);
    const all = [...this.#remembered.values()].filter((one) => one.content === content);
    return all.sort((a, b) => Number(b.entry.key === key) - Number(a.entry.key === key));
  }

  /** Within one life of the platform an id has one content. */
  #hasOtherContent(id: number, key: string): boolean {
    for (const { entry, turn } of this.#remembered.values())
      if (entry.id === id && entry.key !== key && turn >= this.#restartTurn) return true;
    return false;
  }

  #makeRoom(bytes: number, nowMs: number): boolean {
    const isRoom = (): boolean => this.#remembered.size < MAX_ENTRIES && this.#bytes + bytes <= MAX_BYTES;
    const isQuiet = (entry: JournalEntry): boolean => quietMs(entry, nowMs) >= SAME_WITHIN_MS;
    const inTurn: readonly ((entry: JournalEntry) => boolean)[] = [
      ({ effect }) => effect === 'read',
      ({ effect }) => effect === 'set',
      (entry) => isQuiet(entry) && entry.answeredAtMs !== undefined,
      isQuiet,
    ];
    for (const mayGo of inTurn)
      for (const { entry } of this.#remembered.values()) {
        if (isRoom()) return true;
        if (mayGo(entry)) this.#delete(entry.key);
      }
    return isRoom();
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptAtMs < SWEEP_EVERY_MS) return;
    this.#sweptAtMs = nowMs;
    for (const { entry } of this.#remembered.values()) {
      const lastsMs = rememberedForMs(entry.effect, entry.answeredAtMs === undefined ? 'not taken' : 'taken');
      if (quietMs(entry, nowMs) >= lastsMs) this.#delete(entry.key);
    }
  }

  #nextTurn(): number {
    this.#turn += 1;
    return this.#turn;
  }

  #delete(key: string): void {
    const remembered = this.#remembered.get(key);
    if (remembered === undefined) return;
    this.#remembered.delete(key);
    this.#bytes -= remembered.bytes;
  }
}

/** An entry as members of a record. */
export function entryToJson(entry: JournalEntry): JsonObject {
  return { ...entry } as JsonObject;
}

/** Undefined when the members are not those of an entry. */
export function entryFromJson(json: JsonObject): JournalEntry | undefined {
  const { key, id, method, effect, note, reply, seenAtMs, answeredAtMs, bootId, platform } = json;
  if (typeof key !== 'string' || typeof id !== 'number' || typeof method !== 'string' || typeof bootId !== 'string')
    return undefined;
  if (typeof seenAtMs !== 'number' || (effect !== 'read' && effect !== 'set' && effect !== 'move')) return undefined;
  return {
    key,
    id,
    method,
    effect,
    bootId,
    ...(isJsonObject(note) ? { note } : {}),
    ...(isJsonObject(reply) ? { reply } : {}),
    ...(platform === 'doubtful' || platform === 'restarted' ? { platform } : {}),
    seenAtMs,
    ...(typeof answeredAtMs === 'number' ? { answeredAtMs } : {}),
  };
}

function quietMs({ seenAtMs, answeredAtMs = seenAtMs }: JournalEntry, nowMs: number): number {
  return nowMs - Math.max(seenAtMs, answeredAtMs);
}

function bytesOf(entry: JournalEntry): number {
  return BYTES_BESIDE + Buffer.byteLength(stringifyJson(entryToJson(entry)));
}
