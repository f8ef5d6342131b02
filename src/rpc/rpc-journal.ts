/**
 * Remembers every request for as long as a repeat of it can come, so that nothing moves twice (SAME-COMMAND.md).
 *
 *   move:  intend (synced) → movement → complete (written) → answered (written)
 *   set:   movement → complete (written after, awaited by nobody) → answered
 *   read:  kept in memory only; reading again after a crash harms nothing and spares the card
 *
 * Survives kills and power cuts: a torn tail is cut off, damage in between is skipped, a damaged file is quarantined.
 */
import { AgentError, messageOf } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { RpcRequest } from '../platform/device-api.ts';
import { type JsonObject, stringifyJson } from '../values/json.ts';
import { BEFORE_ALL, type HandOut, JournalEntries, type JournalEntry, type Recollection } from './journal-entries.ts';
import { bootRecord, type JournalRecord } from './journal-file.ts';
import { type JournalDeps, readEntries } from './journal-reading.ts';
import { JournalWriter } from './journal-writer.ts';
import { requestKey } from './request-key.ts';
import { isOutcomeUnknown } from './rpc-reply.ts';
import type { Effect } from './same-command.ts';

/** A movement is refused when its intent is not on disk after this long. */
const STALLED_AFTER_MS = 1_000;
/** Larger replies of reads are not kept: a repeat reads again. */
const MAX_KEPT_READ_CHARACTERS = 4096;
/** Characters kept of a method's name: it is for a person who reads the file. */
const KEPT_NAME_CHARACTERS = 100;
/** A file that could not be read is tried again no sooner than this. */
const READ_AGAIN_AFTER_MS = 5_000;
/** A start does without a past that a disk does not give in this time. */
const READ_WITHIN_MS = 10_000;

export class RpcJournal {
  readonly #deps: JournalDeps;
  readonly #entries = new JournalEntries((entry) => this.#writeLater({ kind: 'entry', entry }));
  readonly #writer: JournalWriter;
  /** The last hand-out of what is not answered yet: from then on its time runs, however long it takes. */
  readonly #underWay = new Map<string, HandOut>();
  /** Why the past is not known; then nothing is moved that must not move twice. */
  #blindBecause: string | undefined;
  #readAtMs = 0;
  #reading: Promise<void> | undefined;
  #isOpen = false;
  #closed = false;

  private constructor(deps: JournalDeps) {
    this.#deps = deps;
    // The first write begins a clean file with what is known.
    this.#writer = new JournalWriter({
      ...deps,
      inForce: () => this.#inForce(),
      beginAnew: true,
    });
  }

  /**
   * Reads what an earlier run left. Never rejects: until the file can be read everything works but movements that must not happen twice, and
   * a full disk is noticed by the first of those.
   */
  static async open(deps: JournalDeps): Promise<RpcJournal> {
    const journal = new RpcJournal(deps);
    journal.#blindBecause = 'the disk does not answer';
    await endedWithin(deps.clock, READ_WITHIN_MS, journal.#read());
    journal.#isOpen = true;
    const error = journal.#blindBecause;
    if (error !== undefined)
      deps.log.error({ error }, 'the RPC journal cannot be read: what must not happen twice is refused');
    return journal;
  }

  /** Returns how a request relates to those before it. The time of the one that it may repeat begins again. */
  recall(request: RpcRequest): Recollection {
    const key = requestKey(request);
    const nowMs = this.#deps.clock.monotonicMs();
    const recollection = this.#entries.recall(request.id, key, nowMs);
    if (recollection.verdict === 'same') this.#entries.put({ ...recollection.earlier, seenAtMs: nowMs }, nowMs);
    if (recollection.verdict !== 'same' || recollection.earlier.reply === undefined)
      this.#underWay.set(key, this.#entries.handOut(nowMs));
    return recollection;
  }

  /** True when the platform asks once more for a request under way, whose time then begins again. Where that cannot be told it keeps its time. */
  comesAgain(request: RpcRequest): boolean {
    const key = requestKey(request);
    const nowMs = this.#deps.clock.monotonicMs();
    const handOut = this.#underWay.get(key);
    if (handOut === undefined || !this.#entries.isSame(handOut, nowMs)) return false;
    this.#underWay.set(key, this.#entries.handOut(nowMs));
    return true;
  }

  /** A call to the platform failed: what comes next may be from another life of it. */
  doubtPlatform(): void {
    this.#entries.doubt(this.#deps.clock.monotonicMs());
  }

  /**
   * Puts the intent of a movement on disk. The caller moves only when this resolves, and never after it rejected.
   * @throws AgentError `rpc/disk-stalled`, `rpc/disk-failed`, `rpc/journal-full` or `rpc/journal-unusable` (drop).
   */
  async intend(request: RpcRequest, note?: JsonObject): Promise<void> {
    const { clock } = this.#deps;
    if (this.#blindBecause !== undefined) await this.#see(request);
    if (this.#writer.busyForMs() >= STALLED_AFTER_MS) throw stalled();
    const entry = this.#newEntry(request, 'move', { note });
    if (!this.#entries.put(entry, clock.monotonicMs(), this.#underWay.get(entry.key)?.turn))
      throw new AgentError('rpc/journal-full', 'too many movements within half a minute', { recovery: 'drop' });
    const written = this.#writer.write({ kind: 'entry', entry }, { sync: true });
    const durable = written.catch((cause: unknown) => {
      throw new AgentError('rpc/disk-failed', `the intent cannot be written: ${messageOf(cause)}`, {
        recovery: 'drop',
        cause,
      });
    });
    if (!(await endedWithin(clock, STALLED_AFTER_MS, durable))) throw stalled();
    await durable;
  }

  /** Keeps the reply for repeats; on disk soon, awaited by nobody. */
  complete(request: RpcRequest, effect: Effect, reply: JsonObject): void {
    const entry = this.#newEntry(request, effect, { reply });
    const handOut = this.#underWay.get(entry.key);
    this.#underWay.delete(entry.key);
    if (effect === 'read' && stringifyJson(reply).length > MAX_KEPT_READ_CHARACTERS) return;
    if (this.#entries.put(entry, this.#deps.clock.monotonicMs(), handOut?.turn) && effect !== 'read')
      this.#writeLater({ kind: 'entry', entry: this.#entries.get(entry.key) ?? entry });
  }

  /** The platform took the reply: from now on its time runs. Who was told that an outcome is unknown was told it of all of that content. */
  answered(request: RpcRequest): void {
    const key = requestKey(request);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    for (const one of isOutcomeUnknown(entry.reply) ? this.#entries.untakenLike(key) : [entry]) this.#takenNow(one);
  }

  /** Everything known so far is on disk when this resolves. */
  async flush(): Promise<void> {
    if (this.#blindBecause === undefined) await this.#writer.flush();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    const { clock, log } = this.#deps;
    if (this.#closed) return;
    this.#closed = true;
    if (this.#entries.live(clock.monotonicMs()).some(({ effect }) => effect === 'move'))
      this.#writeLater(bootRecord(clock));
    await this.flush().catch((error: unknown) =>
      log.warn({ error: messageOf(error) }, 'the RPC journal was not synced'),
    );
  }

  /** Tries to read the past once more. @throws AgentError `rpc/journal-unusable` (drop) when it cannot be, or may hold this very command. */
  async #see(request: RpcRequest): Promise<void> {
    const { clock } = this.#deps;
    if (clock.monotonicMs() - this.#readAtMs >= READ_AGAIN_AFTER_MS) void this.#read();
    if (this.#reading !== undefined) await endedWithin(clock, STALLED_AFTER_MS, this.#reading);
    const because = this.#blindBecause ?? (this.recall(request).verdict === 'new' ? undefined : 'it may be a repeat');
    if (because !== undefined)
      throw new AgentError('rpc/journal-unusable', `what was done before is not known: ${because}`, {
        recovery: 'drop',
      });
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const { clock, log } = this.#deps;
    this.#readAtMs = clock.monotonicMs();
    try {
      const left = await readEntries(this.#deps);
      // Entries that are read late get the oldest turn: the platform may have restarted since then.
      const turn = this.#isOpen ? BEFORE_ALL : undefined;
      for (const entry of left)
        if (this.#entries.get(entry.key) === undefined) this.#entries.put(entry, clock.monotonicMs(), turn);
      this.#blindBecause = undefined;
    } catch (error) {
      this.#blindBecause = messageOf(error);
    }
    // An unreadable file stays as it is, for a later read. The rest is rewritten; nobody waits for it.
    this.flush().catch((error: unknown) => log.error({ error: messageOf(error) }, 'the RPC journal cannot be written'));
  }

  #takenNow(entry: JournalEntry): void {
    const answeredAtMs = this.#deps.clock.monotonicMs();
    this.#entries.put({ ...entry, answeredAtMs }, answeredAtMs);
    const { key, bootId, effect } = entry;
    if (effect !== 'read') this.#writeLater({ kind: 'answered', key, answeredAtMs, bootId });
  }

  /** A copy with texts of its own: a part of a text would keep the whole request in memory. */
  #newEntry(
    { id, method, ...request }: RpcRequest,
    effect: Effect,
    parts: Pick<JournalEntry, 'note' | 'reply'>,
  ): JournalEntry {
    const { clock } = this.#deps;
    const key = requestKey({ id, method, ...request });
    const kept = { key, id, method: method.slice(0, KEPT_NAME_CHARACTERS), effect, ...parts };
    const seenAtMs = this.#underWay.get(key)?.atMs ?? clock.monotonicMs();
    return structuredClone({ ...kept, seenAtMs, bootId: clock.bootId });
  }

  #writeLater(record: JournalRecord): void {
    if (this.#blindBecause !== undefined) return;
    this.#writer.write(record, { sync: false }).catch((error: unknown) => {
      this.#deps.log.warn({ error: messageOf(error) }, 'the RPC journal misses a record');
    });
  }

  #inForce(): readonly JournalRecord[] {
    const { clock, file } = this.#deps;
    const kept = this.#entries.live(clock.monotonicMs()).filter(({ effect }) => effect !== 'read');
    return [bootRecord(clock), ...file.former, ...kept.map((entry) => ({ kind: 'entry', entry }) as const)];
  }
}

function stalled(): AgentError {
  return new AgentError(
    'rpc/disk-stalled',
    `the disk did not take the intent within ${STALLED_AFTER_MS} ms; nothing was moved`,
    {
      recovery: 'drop',
    },
  );
}
