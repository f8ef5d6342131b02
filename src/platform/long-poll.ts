/**
 * One long poll after the other, for one kind of message (wire-facts.md, "Long polls"). A message is handled before the next poll.
 * "Nothing yet" polls again at once, but never in a tight loop: a server that answers without delay is slowed to a walk.
 */
import { hasCode, messageOf } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import { outcomeWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { CutPolls } from './cut-polls.ts';
import { askedDelayMs, PlatformError } from './platform-error.ts';
import type { PollBeat } from './poll-beat.ts';
import { createPollLength, cutOf, FIRST_POLL_MS, type PollLength } from './poll-length.ts';
import { createPollLooks } from './poll-looks.ts';
import type { PollPlace } from './poll-turns.ts';

/** Worth of a message to its handler; `worthless` ones (repeats, nonsense) slow the loop down. */
export type MessageWorth = 'worthy' | 'worthless';

export interface LongPollDeps<Message> {
  /** For the log: `rpc`, `attributes`. */
  readonly kind: string;
  /** Undefined when nothing happened. */
  readonly poll: (timeoutMs: number, signal: AbortSignal) => Promise<Message | undefined>;
  readonly onMessage: (message: Message, signal: AbortSignal) => Promise<MessageWorth>;
  /** Something may have been missed: a poll failed or was cut short. Called then, and again as the next one begins. */
  readonly onGap?: () => void;
  /** Where polls stand in turns: the place among them; default at any time. */
  readonly place?: PollPlace | undefined;
  /** By which it ends and begins together with the other kind of poll; default by itself. */
  readonly beat?: PollBeat | undefined;
  /** Called before a poll that had to wait for its turn. */
  readonly onWaited?: (waitedMs: number) => void;
  /** True while the outcome of a message is still asked for, which keeps the turn for a while. */
  readonly isUnderWay?: () => boolean;
  /** Time between two looks for messages, where none are waited for: each takes what is there, one poll after the other. Default: polls stand. */
  readonly wakes?: (() => number | undefined) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** The longest poll; default as long as the server holds one. */
  readonly pollTimeoutMs?: number | undefined;
  /** The longest that is tried to find that out; in turns none is, as others wait meanwhile. */
  readonly longestPollMs?: number | undefined;
}

/** The client itself ends a poll whose connection is silent 10 s after its time; this is for one that does not, after it has waited for its turn. */
const DEAD_AFTER_MS = 30_000;
/** A command that waits for the link to be noticed again waits this long at worst. */
const FAILURE_BACKOFF = { firstMs: 1_000, maxMs: 20_000 };
/** A poll that stood this long before it failed had a connection: its end says nothing about the next one. */
const STOOD_MS = 5_000;
/** Polls that fail one after the other before a look has found nothing. */
const TRIES_OF_A_LOOK = 2;
/** A refused token does not become good by asking often. */
const UNAUTHORISED_MIN_MS = 60_000;
/** "Nothing yet" sooner than this was not a long poll. */
const CUT_SHORT_BELOW_MS = 1_000;
const IDLE_BACKOFF = { firstMs: 100, maxMs: 10_000 };
/** A message that takes longer to be handled gives the turn to others. */
const TURN_WHILE_HANDLED_MS = 3_000;
/** Messages handled per second in the long run, and at once. */
const MAX_PER_SECOND = 100;
const MAX_AT_ONCE = 200;

/** Polls until the signal aborts; never rejects. */
export async function runLongPoll<Message>(deps: LongPollDeps<Message>, signal: AbortSignal): Promise<void> {
  try {
    await pollOn(deps, signal);
  } finally {
    deps.place?.leave();
  }
}

async function pollOn<Message>(deps: LongPollDeps<Message>, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  const failures = new Backoff(FAILURE_BACKOFF, clock);
  const idling = new Backoff(IDLE_BACKOFF, clock);
  const throttle = new Throttle(clock);
  const cutPolls = new CutPolls(deps);
  const length = createPollLength({
    clock,
    fixedMs: deps.pollTimeoutMs,
    longestMs: deps.place === undefined ? deps.longestPollMs : FIRST_POLL_MS,
  });
  let wasCut = false;
  const looks = createPollLooks(clock, deps.wakes);
  let failedAtMs = Number.NEGATIVE_INFINITY;
  /** An answer now and then, between faults, is no recovery. */
  const recovered = (): void => {
    if (failures.attempts > 0) log.info({ kind: deps.kind }, 'the long poll works again');
    failures.reset();
  };
  while (!signal.aborted) {
    for (let restMs = looks.restMs(); restMs > 0 && !signal.aborted; restMs = looks.restMs()) {
      deps.place?.leave();
      await clock.sleep(restMs, signal);
    }
    if (signal.aborted) return;
    const standsMs =
      deps.place === undefined
        ? length.nextMs(deps.beat?.untilOtherMs())
        : await turnMs(deps, { place: deps.place, length }, signal);
    if (standsMs === undefined) return;
    const timeoutMs = looks.timeoutMs() ?? standsMs;
    const restedMs = looks.begun();
    if (restedMs > 0) deps.onWaited?.(restedMs);
    const startedMs = clock.monotonicMs();
    if (wasCut || failures.attempts + idling.attempts > 0) deps.onGap?.();
    wasCut = false;
    try {
      const message = await pollOnce(deps, timeoutMs, signal);
      const tookMs = clock.monotonicMs() - startedMs;
      if (message === undefined) {
        length.ended(timeoutMs, tookMs);
        looks.empty();
        if (tookMs >= Math.min(STOOD_MS, timeoutMs / 2)) recovered();
        if (tookMs >= CUT_SHORT_BELOW_MS) {
          idling.reset();
          await deps.beat?.meet(signal);
        } else {
          deps.onGap?.();
          deps.place?.leave();
          await clock.sleep(idling.nextMs(), signal);
        }
        continue;
      }
      if ((await handled(deps, message, signal)) === 'worthy') {
        if (clock.monotonicMs() - failedAtMs >= FAILURE_BACKOFF.maxMs) recovered();
        idling.reset();
      } else {
        deps.place?.leave();
        await clock.sleep(idling.nextMs(), signal);
      }
      const delayMs = throttle.delayMs();
      if (delayMs > 0) await clock.sleep(delayMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      deps.place?.leave();
      deps.onGap?.();
      // A wait for a turn, because others have failed, is no connection that stood.
      const stoodMs = (error instanceof PlatformError ? error.stoodMs : undefined) ?? clock.monotonicMs() - startedMs;
      const by = cutOf(error);
      wasCut = by !== undefined && length.cut(timeoutMs, stoodMs, by);
      if (wasCut) continue;
      if (stoodMs >= STOOD_MS) {
        failures.reset();
        cutPolls.note(error, stoodMs);
      } else if (failures.attempts === 0)
        log.warn({ kind: deps.kind, error: messageOf(error) }, 'the long poll failed');
      const atLeastMs = hasCode(error, 'platform/unauthorised') ? UNAUTHORISED_MIN_MS : askedDelayMs(error);
      failedAtMs = clock.monotonicMs();
      if (failures.attempts >= TRIES_OF_A_LOOK - 1) looks.empty();
      await clock.sleep(failures.nextMs(atLeastMs), signal);
    }
  }
}

/** Handles a message; while that takes long, others have their turn. */
async function handled<Message>(
  deps: LongPollDeps<Message>,
  message: Message,
  signal: AbortSignal,
): Promise<MessageWorth> {
  const { clock, place } = deps;
  if (place === undefined) return await deps.onMessage(message, signal);
  const cancel = clock.after(TURN_WHILE_HANDLED_MS, () => place.leave());
  return await deps.onMessage(message, signal).finally(cancel);
}

/** Waits for its turn, and gives the poll's time; undefined when the signal aborts. */
async function turnMs<Message>(
  deps: LongPollDeps<Message>,
  { place, length }: { readonly place: PollPlace; readonly length: PollLength },
  signal: AbortSignal,
): Promise<number | undefined> {
  const turn = await place.enter({ timeoutMs: length.nextMs(), isUnderWay: deps.isUnderWay?.() ?? false }, signal);
  if (turn !== undefined && turn.waitedMs > 0) deps.onWaited?.(turn.waitedMs);
  return turn?.timeoutMs;
}

function pollOnce<Message>(
  deps: LongPollDeps<Message>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Message | undefined> {
  const poll = (dead: AbortSignal): Promise<Message | undefined> =>
    deps.poll(timeoutMs, AbortSignal.any([signal, dead]));
  deps.beat?.began(timeoutMs);
  const outcome = outcomeWithin(deps.clock, timeoutMs + DEAD_AFTER_MS, poll, () => {
    throw new Error('the connection is silent');
  });
  return outcome.finally(() => deps.beat?.ended());
}

/** A bucket that holds `MAX_AT_ONCE` messages and is refilled by `MAX_PER_SECOND`. */
class Throttle {
  readonly #clock: Clock;
  #left = MAX_AT_ONCE;
  #atMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#atMs = clock.monotonicMs();
  }

  /** Takes one, and says how long to wait before the next. */
  delayMs(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#left = Math.min(MAX_AT_ONCE, this.#left + ((nowMs - this.#atMs) * MAX_PER_SECOND) / 1000) - 1;
    this.#atMs = nowMs;
    return this.#left >= 0 ? 0 : (-this.#left * 1000) / MAX_PER_SECOND;
  }
}
