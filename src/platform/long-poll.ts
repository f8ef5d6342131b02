/**
 * One long poll after the other, for one kind of message (wire-facts.md, "Long polls"). A message is handled before the next poll.
 * "Nothing yet" polls again at once, but never in a tight loop: a server that answers without delay is slowed to a walk.
 */
import { hasCode, messageOf } from '../errors.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';

/** What the handler made of a message; `worthless` ones (repeats, nonsense) slow the loop down. */
export type MessageWorth = 'worthy' | 'worthless';

export interface LongPollDeps<Message> {
  /** For the log: `rpc`, `attributes`. */
  readonly kind: string;
  /** Undefined when nothing happened. */
  readonly poll: (timeoutMs: number, signal: AbortSignal) => Promise<Message | undefined>;
  readonly onMessage: (message: Message, signal: AbortSignal) => Promise<MessageWorth>;
  /** Something may have been missed: a poll failed or was cut short. Called then, and again as the next one begins. */
  readonly onGap?: () => void;
  readonly clock: Clock;
  readonly log: Log;
  /** The shortest poll; default 20 s. */
  readonly pollTimeoutMs?: number;
  /** Evenly distributed in [0, 1). */
  readonly random?: () => number;
}

/** The server cuts any request at 30 s; the spread keeps a thousand gateways from polling in step. */
const SHORTEST_POLL_MS = 20_000;
/** Share of the poll's time. */
const POLL_SPREAD = 0.25;
const LONGEST_POLL_MS = 25_000;
/** A connection that is silent for this long after the poll's own time is dead. */
const DEAD_AFTER_MS = 10_000;
/** A command that waits for the link to be noticed again waits this long at worst. */
const FAILURE_BACKOFF = { firstMs: 1_000, maxMs: 20_000 };
/** A poll that stood this long before it failed had a connection: its end says nothing about the next one. */
const STOOD_MS = 5_000;
/** A refused token does not become good by asking often. */
const UNAUTHORISED_AT_LEAST_MS = 60_000;
/** "Nothing yet" sooner than this was not a long poll. */
const CUT_SHORT_BELOW_MS = 1_000;
const IDLE_BACKOFF = { firstMs: 100, maxMs: 10_000 };
/** Messages handled per second in the long run, and at once. */
const MOST_PER_SECOND = 100;
const MOST_AT_ONCE = 200;

/** Polls until the signal aborts; never rejects. */
export async function runLongPoll<Message>(deps: LongPollDeps<Message>, signal: AbortSignal): Promise<void> {
  const { clock, log, random = Math.random } = deps;
  const failures = new Backoff({ ...FAILURE_BACKOFF, random });
  const idling = new Backoff({ ...IDLE_BACKOFF, random });
  const throttle = new Throttle(clock);
  while (!signal.aborted) {
    const startedMs = clock.monotonicMs();
    if (failures.attempts + idling.attempts > 0) deps.onGap?.();
    try {
      const shortestMs = deps.pollTimeoutMs ?? SHORTEST_POLL_MS;
      const timeoutMs = Math.min(LONGEST_POLL_MS, Math.floor(shortestMs * (1 + POLL_SPREAD * random())));
      const message = await pollOnce(deps, timeoutMs, signal);
      if (failures.attempts > 0) log.info({ kind: deps.kind }, 'the long poll works again');
      failures.reset();
      if (message === undefined) {
        if (clock.monotonicMs() - startedMs >= CUT_SHORT_BELOW_MS) idling.reset();
        else {
          deps.onGap?.();
          await clock.sleep(idling.nextMs(), signal);
        }
        continue;
      }
      if ((await deps.onMessage(message, signal)) === 'worthy') idling.reset();
      else await clock.sleep(idling.nextMs(), signal);
      const delayMs = throttle.delayMs();
      if (delayMs > 0) await clock.sleep(delayMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      deps.onGap?.();
      if (clock.monotonicMs() - startedMs >= STOOD_MS) failures.reset();
      if (failures.attempts === 0) log.warn({ kind: deps.kind, error: messageOf(error) }, 'the long poll failed');
      await clock.sleep(failures.nextMs(hasCode(error, 'platform/unauthorised') ? UNAUTHORISED_AT_LEAST_MS : 0), signal);
    }
  }
}

async function pollOnce<Message>(deps: LongPollDeps<Message>, timeoutMs: number, signal: AbortSignal): Promise<Message | undefined> {
  const dead = new AbortController();
  let cancel = (): void => {};
  const deadline = new Promise<never>((_resolve, reject) => {
    cancel = deps.clock.after(timeoutMs + DEAD_AFTER_MS, () => {
      reject(new Error('the connection is silent'));
      dead.abort();
    });
  });
  try {
    return await Promise.race([deps.poll(timeoutMs, AbortSignal.any([signal, dead.signal])), deadline]);
  } finally {
    cancel();
  }
}

/** A bucket that holds `MOST_AT_ONCE` messages and is refilled by `MOST_PER_SECOND`. */
class Throttle {
  readonly #clock: Clock;
  #left = MOST_AT_ONCE;
  #atMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#atMs = clock.monotonicMs();
  }

  /** Takes one, and says how long to wait before the next. */
  delayMs(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#left = Math.min(MOST_AT_ONCE, this.#left + ((nowMs - this.#atMs) * MOST_PER_SECOND) / 1000) - 1;
    this.#atMs = nowMs;
    return this.#left >= 0 ? 0 : (-this.#left * 1000) / MOST_PER_SECOND;
  }
}
