/**
 * The record of what happened, the newest events alone, over restarts as well. It is in memory, and behind on disk by seconds, but for what people
 * moved: a disk that is full or hangs costs what is on it, and nobody waits for it.
 */
import { messageOf } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { type Files, isLost } from '../host/files.ts';
import type { AgentLog } from '../host/log.ts';
import type { RecordLog } from '../store/record-log.ts';
import { boundedEvent, type TimelineEvent, type ToldEvent } from './event.ts';
import { readTimelineQuery, selectEvents, type TimelineAnswer, type TimelineQuery } from './query.ts';
import { startEvent, stopEvent } from './start-words.ts';
import { inOrder, lineBytes, MAX_EVENT_BYTES, MAX_EVENTS, timelineFile } from './timeline-file.ts';

export interface TimelineDeps {
  /** By which people read dates. */
  readonly clock: Clock;
  readonly isClockRight: () => boolean;
  readonly files: Files;
  readonly path: string;
  /** Version of the agent. */
  readonly version: string;
  readonly log: Pick<AgentLog, 'warn' | 'redact'>;
}

/** Takes events, for who tells them. */
export type TellTimeline = (event: ToldEvent) => void;

interface Kept {
  readonly event: TimelineEvent;
  readonly bytes: number;
}

/** With the time of a write, what is told is on disk within ten seconds. */
const WRITE_AFTER_MS = 8_000;
/** Commands that come together are one write. An append without a sync survives a kill, and wears no card. */
const WRITE_COMMAND_AFTER_MS = 100;
/** A disk that refused is asked again after this. */
const AGAIN_AFTER_MS = 60_000;
const CLOSE_WITHIN_MS = 2_000;

export class Timeline {
  readonly #deps: TimelineDeps;
  readonly #file: RecordLog<TimelineEvent>;
  #kept: Kept[] = [];
  #bytes = 0;
  #lastSeq = 0;
  /** Number of the last event that is on disk. */
  #writtenSeq = 0;
  #expectFolder: (() => Promise<void>) | undefined;
  #isRead = false;
  #cancel = (): void => {};
  #dueAtMs = Number.POSITIVE_INFINITY;
  #writing: Promise<void> | undefined;
  /** A command is not on disk yet. */
  #hasCommand = false;
  #isFaulty = false;
  #isClosed = false;
  #endWatching = (): void => {};

  constructor(deps: TimelineDeps) {
    this.#deps = deps;
    this.#file = timelineFile(deps.files, deps.path);
  }

  /** Number of the newest event; 0 without any. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Takes an event that happens now. */
  readonly tell: TellTimeline = (told) => {
    this.#add(this.#dated(told));
    if (told.kind === 'command') this.#hasCommand = true;
    this.#writeLater();
  };

  /**
   * Reads what earlier processes told, in the background. The event of this start is made of that, and stands before what came since.
   *
   * @param expectFolder resolves when the state folder is this agent's.
   */
  open(expectFolder: () => Promise<void>): void {
    this.#expectFolder = expectFolder;
    void this.#write();
  }

  /** The newest first, secrets replaced that became known since. */
  select(query: TimelineQuery): TimelineAnswer {
    const { events, more } = selectEvents(
      this.#kept.map(({ event }) => event),
      query,
    );
    return { events: events.map((event) => boundedEvent(event, (text) => this.#deps.log.redact(text))), more };
  }

  /** As `select`, for the words of an address; or what is wrong with them. */
  answer(params: URLSearchParams): TimelineAnswer | string {
    const query = readTimelineQuery(params);
    return typeof query === 'string' ? query : this.select(query);
  }

  /** Takes what ends those who watch for it: called when it closes. */
  watch(end: () => void): void {
    this.#endWatching = end;
  }

  /** The agent begins to stop. */
  tellStop(isRestart: boolean): void {
    this.tell(stopEvent(this.#thisStart, isRestart));
  }

  /** Resolves when all of it is on disk, or could not be written in time. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endWatching();
    this.#cancel();
    const write = async (): Promise<void> => {
      await this.#writing;
      await this.#write();
    };
    await endedWithin(this.#deps.clock, CLOSE_WITHIN_MS, write());
  }

  get #thisStart(): { readonly version: string; readonly bootId: string } {
    return { version: this.#deps.version, bootId: this.#deps.clock.bootId };
  }

  #dated(told: ToldEvent): Omit<TimelineEvent, 'seq'> {
    const { clock, isClockRight, log } = this.#deps;
    const event = boundedEvent(told, (text) => log.redact(text));
    return { ts: clock.wallMs(), ...(!isClockRight() && { unsure: true as const }), ...event };
  }

  #add(event: Omit<TimelineEvent, 'seq'>): void {
    this.#lastSeq += 1;
    const numbered = { ...event, seq: this.#lastSeq };
    const bytes = lineBytes(numbered);
    this.#kept.push({ event: numbered, bytes });
    this.#bytes += bytes;
    let over = 0;
    while (this.#kept.length - over > MAX_EVENTS || this.#bytes > MAX_EVENT_BYTES) {
      this.#bytes -= this.#kept[over]?.bytes ?? 0;
      over += 1;
    }
    if (over > 0) this.#kept = this.#kept.slice(over);
  }

  #writeIn(ms: number): void {
    const dueAtMs = this.#deps.clock.monotonicMs() + ms;
    if (this.#isClosed || this.#expectFolder === undefined || dueAtMs >= this.#dueAtMs) return;
    this.#cancel();
    this.#dueAtMs = dueAtMs;
    this.#cancel = this.#deps.clock.after(ms, () => void this.#write());
  }

  #writeLater(): void {
    if (this.#isFaulty) this.#writeIn(AGAIN_AFTER_MS);
    else this.#writeIn(this.#hasCommand ? WRITE_COMMAND_AFTER_MS : WRITE_AFTER_MS);
  }

  /** One write at a time; never rejects. */
  #write(): Promise<void> {
    this.#cancel();
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    this.#writing ??= this.#writeNow().finally(() => {
      this.#writing = undefined;
      if (this.#isFaulty || this.#writtenSeq < this.#lastSeq) this.#writeLater();
    });
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    try {
      await this.#expectFolder?.();
      if (this.#expectFolder === undefined) return;
      if (!this.#isRead) await this.#read();
      const all = this.#kept.map(({ event }) => event);
      const added = all.filter(({ seq }) => seq > this.#writtenSeq);
      const seq = this.#lastSeq;
      this.#hasCommand = false;
      if (added.length > 0) await this.#file.append(added, { isDurable: false, inForce: () => all });
      this.#writtenSeq = seq;
      this.#isFaulty = false;
    } catch (error) {
      if (!this.#isFaulty)
        this.#deps.log.warn({ error: messageOf(error) }, 'the timeline is not on disk; it is tried again');
      this.#isFaulty = true;
    }
  }

  async #read(): Promise<void> {
    const found = await this.#file.read().catch(async (error: unknown) => {
      if (!hasLost(error)) throw error;
      // A file that will never be read is written anew.
      await this.#file.replace([]);
      return { values: [] };
    });
    const before = inOrder(found.values);
    const since = this.#kept.map(({ event }) => event);
    this.#isRead = true;
    [this.#kept, this.#bytes, this.#lastSeq] = [[], 0, 0];
    for (const { seq, ...event } of before) {
      this.#lastSeq = Math.max(this.#lastSeq, seq - 1);
      this.#add(event);
    }
    this.#writtenSeq = this.#lastSeq;
    this.#add(this.#dated(startEvent(this.#thisStart, before)));
    for (const { seq: _seq, ...event } of since) this.#add(event);
  }
}

function hasLost(error: unknown): boolean {
  const { cause, recovery } = error as { readonly cause?: unknown; readonly recovery?: unknown };
  return recovery === 'drop' || isLost(cause);
}
