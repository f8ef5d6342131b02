/**
 * Remembers every request until no repeat of it can come, so that nothing moves twice (architecture.md, "RPC journal").
 *
 *   move:  intend (synced) → movement → complete (written) → answered (written)
 *   set:   movement → complete (written after, awaited by nobody) → answered
 *   read:  kept in memory only; reading again after a crash harms nothing and spares the card
 *
 * Survives kills and power cuts: a torn tail is cut off, damage in between is skipped, a file that cannot be read is set aside.
 */
import { AgentError, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { type JsonObject, stringifyJson } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { RpcRequest } from '../platform/device-api.ts';
import { type Effect, entryFromJson, entryToJson, JournalEntries, type JournalEntry } from './journal-entries.ts';
import { decodeFrames, encodeFrame, type Frame, JOURNAL_HEAD } from './journal-frames.ts';
import type { JournalStorage } from './journal-storage.ts';
import { JournalWriter } from './journal-writer.ts';
import { requestKey } from './request-key.ts';

/** A movement is refused when its intent is not on disk after this long. */
const STALLED_AFTER_MS = 1_000;
/** The file is written anew, with what is not past, after this much was added. */
const COMPACT_ABOVE_BYTES = 512 * 1024;
/** Larger replies of reads are not kept: a repeat reads again. */
const LARGEST_KEPT_READ_CHARACTERS = 4096;

export interface RpcJournalDeps {
  readonly storage: JournalStorage;
  readonly clock: Clock;
  readonly log: Log;
}

export class RpcJournal {
  readonly #deps: RpcJournalDeps;
  readonly #entries: JournalEntries;
  readonly #writer: JournalWriter;

  /** Why the past is not known; then nothing is moved that must not move twice. */
  readonly #blindBecause: string | undefined;

  private constructor(deps: RpcJournalDeps, entries: JournalEntries, blindBecause: string | undefined) {
    this.#deps = deps;
    this.#entries = entries;
    this.#blindBecause = blindBecause;
    // The first write begins a clean file with what is known.
    this.#writer = new JournalWriter({ ...deps, content: () => this.#content(), compactAboveBytes: COMPACT_ABOVE_BYTES, beginAnew: true });
  }

  /**
   * Reads what an earlier run left. Never rejects: without a readable file everything works but movements that must not happen twice, and a
   * full disk is noticed by the first of those.
   */
  static async open(deps: RpcJournalDeps): Promise<RpcJournal> {
    const entries = new JournalEntries(deps.clock.bootId);
    let blindBecause: string | undefined;
    try {
      await readEntries(deps, entries);
    } catch (error) {
      blindBecause = messageOf(error);
      deps.log.error({ error: blindBecause }, 'the RPC journal cannot be read: what must not happen twice is refused');
    }
    const journal = new RpcJournal(deps, entries, blindBecause);
    // What could not be read stays as it is, for a better start or a person. The rest is written anew; nobody waits for it.
    journal.flush().catch((error: unknown) => deps.log.error({ error: messageOf(error) }, 'the RPC journal cannot be written'));
    return journal;
  }

  /** The entry that this request repeats; undefined when it is new. */
  find(request: RpcRequest): JournalEntry | undefined {
    return this.#entries.find(requestKey(request), this.#deps.clock.monotonicMs());
  }

  /** Whether its id was used for something else lately: the server has restarted. */
  isRestart(request: RpcRequest): boolean {
    return this.#entries.hasOtherContent(request.id, requestKey(request));
  }

  /**
   * Puts the intent of a movement on disk. The caller moves only when this resolves, and never after it rejected.
   * @throws AgentError `rpc/disk-stalled`, `rpc/disk-failed`, `rpc/journal-full` or `rpc/journal-unusable` (drop).
   */
  async intend(request: RpcRequest, note?: JsonObject): Promise<void> {
    const { clock } = this.#deps;
    if (this.#blindBecause !== undefined)
      throw new AgentError('rpc/journal-unusable', `what was done before is not known: ${this.#blindBecause}`, { recovery: 'drop' });
    if (!this.#entries.makeRoom(clock.monotonicMs()))
      throw new AgentError('rpc/journal-full', 'too many movements wait for their replies to be taken', { recovery: 'drop' });
    if (this.#writer.busyForMs() >= STALLED_AFTER_MS) throw stalled();
    const entry = this.#newEntry(request, 'move', note === undefined ? {} : { note });
    this.#entries.put(entry);
    let cancel = (): void => {};
    const timeout = new Promise<'stalled'>((resolve) => {
      cancel = clock.after(STALLED_AFTER_MS, () => resolve('stalled'));
    });
    try {
      const written = this.#writer.write({ kind: 'intent', payload: entryToJson(entry) }, { sync: true });
      if ((await Promise.race([written, timeout])) === 'stalled') throw stalled();
    } catch (cause) {
      if (cause instanceof AgentError) throw cause;
      throw new AgentError('rpc/disk-failed', `the intent cannot be written: ${messageOf(cause)}`, { recovery: 'drop', cause });
    } finally {
      cancel();
    }
  }

  /** Keeps the reply for repeats; on disk soon, awaited by nobody. */
  complete(request: RpcRequest, effect: Effect, reply: JsonObject): void {
    const entry = this.#newEntry(request, effect, { reply });
    if (effect === 'read' && stringifyJson(reply).length > LARGEST_KEPT_READ_CHARACTERS) return;
    this.#entries.makeRoom(this.#deps.clock.monotonicMs());
    this.#entries.put(entry);
    if (effect !== 'read') this.#writeLater({ kind: 'reply', payload: entryToJson(entry) });
  }

  /** The platform took the reply: from now on the window runs. */
  answered(request: RpcRequest): void {
    const { clock } = this.#deps;
    const entry = this.#entries.find(requestKey(request), clock.monotonicMs());
    if (entry === undefined || entry.answeredAtMs !== undefined) return;
    const answered = { ...entry, answeredAtMs: clock.monotonicMs(), bootId: clock.bootId };
    this.#entries.put(answered);
    if (entry.effect !== 'read')
      this.#writeLater({ kind: 'answered', payload: { key: entry.key, answeredAtMs: answered.answeredAtMs, bootId: clock.bootId } });
  }

  /** Everything known so far is on disk when this resolves. */
  async flush(): Promise<void> {
    if (this.#blindBecause === undefined) await this.#writer.flush();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await this.flush().catch((error: unknown) => this.#deps.log.warn({ error: messageOf(error) }, 'the RPC journal was not synced'));
    await this.#deps.storage.close();
  }

  #newEntry(request: RpcRequest, effect: Effect, parts: Pick<JournalEntry, 'note' | 'reply'>): JournalEntry {
    return { key: requestKey(request), id: request.id, method: request.method, effect, bootId: this.#deps.clock.bootId, ...parts };
  }

  #writeLater(frame: Frame): void {
    if (this.#blindBecause !== undefined) return;
    this.#writer.write(frame, { sync: false }).catch((error: unknown) => {
      this.#deps.log.warn({ error: messageOf(error) }, 'the RPC journal misses a record');
    });
  }

  #content(): Buffer {
    const kept = this.#entries.live(this.#deps.clock.monotonicMs()).filter((entry) => entry.effect !== 'read');
    return Buffer.concat([JOURNAL_HEAD, ...kept.map((entry): Frame => ({ kind: 'entry', payload: entryToJson(entry) }))].map(encodeFrame));
  }
}

async function readEntries(deps: RpcJournalDeps, entries: JournalEntries): Promise<void> {
  const bytes = await deps.storage.read();
  if (bytes === undefined || bytes.length === 0) return;
  const { frames, wholeBytes, damagedBytes, unknownFrames } = decodeFrames(bytes);
  const tornBytes = bytes.length - wholeBytes;
  if (tornBytes + damagedBytes + unknownFrames > 0)
    deps.log.warn({ tornBytes, damagedBytes, unknownFrames }, 'the RPC journal was damaged');
  if (damagedBytes > 0 || unknownFrames > 0) await deps.storage.setAside();
  const nowMs = deps.clock.monotonicMs();
  for (const { kind, payload } of frames) {
    if (kind === 'head') continue;
    const known = kind === 'answered' ? answeredEntry(entries, payload, nowMs) : entryFromJson(payload);
    if (known !== undefined && (known.effect === 'move' || entries.makeRoom(nowMs))) entries.put(known);
  }
}

function answeredEntry(entries: JournalEntries, payload: JsonObject, nowMs: number): JournalEntry | undefined {
  const { key, answeredAtMs, bootId } = payload;
  if (typeof key !== 'string' || typeof answeredAtMs !== 'number' || typeof bootId !== 'string') return undefined;
  const entry = entries.find(key, nowMs);
  return entry === undefined ? undefined : { ...entry, answeredAtMs, bootId };
}

function stalled(): AgentError {
  return new AgentError('rpc/disk-stalled', `the disk did not take the intent within ${STALLED_AFTER_MS} ms; nothing was moved`, {
    recovery: 'drop',
  });
}
