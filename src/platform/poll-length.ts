/**
 * How long the next poll is asked to stand. The longest that the server and all between hold is found by trying:
 *
 *   25 s ── held ──► 60 s ── held ──► 300 s ── held ──► stays
 *     └──────── cut at t ─┴──────────────┴──► 90 % of t, for a day; then the next step is tried again
 *
 * A cut sooner than what was held before says nothing, as a server that restarts does the same; two alike, one after the other, are a limit, below
 * 10 s four. A length of the configuration is tried in place of the steps, and a limit is found below it as well.
 */
import type { Clock } from '../host/clock.ts';
import { PlatformError } from './platform-error.ts';
import { meaningOf } from './status-meaning.ts';

/** End of a poll that brought nothing before its time: by an answer, by a connection that was closed, by one that says nothing more. */
export type PollCut = 'answer' | 'closed' | 'silence';

export interface PollLengthDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'jitter'>;
  /** The one step that is tried. */
  readonly fixedMs?: number | undefined;
  /** Longest one that is tried; default 300 s. */
  readonly longestMs?: number | undefined;
}

export interface PollLength {
  /** @param otherEndsInMs time until another poll ends; this one ends with it, if it can. */
  nextMs(otherEndsInMs?: number): number;
  /** Notes a poll without a message that ended after so long. */
  ended(askedMs: number, stoodMs: number): void;
  /** Notes the end of one that was cut. Returns true when that was looked for: the limit is known now, and nothing is wrong. */
  cut(askedMs: number, stoodMs: number, by: PollCut): boolean;
}

/** Below the stock server's cut at 30 s. */
export const FIRST_POLL_MS = 25_000;
/** Over a forward proxy nothing but the poll's own end tells that the way beyond it is dead. */
const MAX_OVER_PROXY_MS = 60_000;
const STEPS_MS = [FIRST_POLL_MS, 60_000, 300_000];
/** Share of its length by which a poll is shorter at most: a thousand gateways do not poll in step. */
const SPREAD = 0.2;
/** A poll is made shorter down to this share to end with another. */
const TOGETHER_SHARE = 0.4;
/** An end without a message after this share was the poll's own. */
const HELD_SHARE = 0.95;
const BELOW_LIMIT = 0.9;
const ALIKE_SHARE = 0.9;
/** Shorter ones are polls of a few seconds: too dear to be set by chance. */
const MIN_USUAL_LIMIT_MS = 10_000;
/** Shortest poll: a balancer that cuts even this one leaves no poll standing. */
const MIN_LIMIT_MS = 2_000;
const ALIKE_CUTS = { usual: 2, short: 4 };
const TRY_AGAIN_AFTER_MS = 86_400_000;
const SILENT: ReadonlySet<string> = new Set(['ETIMEDOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

export function createPollLength({ clock, fixedMs, longestMs = Number.POSITIVE_INFINITY }: PollLengthDeps): PollLength {
  const steps = fixedMs === undefined ? STEPS_MS : [fixedMs];
  let lengthMs = fixedMs ?? FIRST_POLL_MS;
  let isHeld = false;
  let limitedAtMs = Number.NEGATIVE_INFINITY;
  /** Cuts of the last polls of the length in use, one after the other and alike: the shortest, and their count. */
  let alike: { readonly ms: number; readonly count: number } | undefined;

  const limit = (ms: number): void => {
    lengthMs = Math.max(MIN_LIMIT_MS, Math.floor(ms));
    limitedAtMs = clock.monotonicMs();
    alike = undefined;
  };
  const triedMs = (): number | undefined => {
    if (!isHeld || clock.monotonicMs() - limitedAtMs < TRY_AGAIN_AFTER_MS) return undefined;
    return steps.find((ms) => ms > lengthMs && ms <= longestMs);
  };
  const noteCut = (askedMs: number, stoodMs: number, by: PollCut): boolean => {
    isHeld = false;
    if (askedMs > lengthMs) {
      if (stoodMs < lengthMs * BELOW_LIMIT) return false;
      limit(by === 'silence' ? lengthMs : Math.max(lengthMs, stoodMs * BELOW_LIMIT));
      return by !== 'silence';
    }
    // A poll of a few seconds tells nothing about the balancer's limit.
    if (stoodMs < MIN_LIMIT_MS || askedMs < lengthMs * TOGETHER_SHARE) return false;
    const cutMs = by === 'silence' ? Math.min(stoodMs, FIRST_POLL_MS / BELOW_LIMIT) : stoodMs;
    const [least, most] = [Math.min(cutMs, alike?.ms ?? 0), Math.max(cutMs, alike?.ms ?? 0)];
    alike = least >= most * ALIKE_SHARE ? { ms: least, count: (alike?.count ?? 0) + 1 } : { ms: cutMs, count: 1 };
    if (alike.count >= ALIKE_CUTS[alike.ms < MIN_USUAL_LIMIT_MS ? 'short' : 'usual'])
      limit(Math.min(lengthMs, alike.ms * BELOW_LIMIT));
    return false;
  };
  return {
    nextMs: (otherEndsInMs = 0) => {
      const withOther = otherEndsInMs >= lengthMs * TOGETHER_SHARE && otherEndsInMs <= lengthMs;
      return triedMs() ?? Math.floor(withOther ? otherEndsInMs : lengthMs * (1 - SPREAD + SPREAD * clock.jitter()));
    },
    ended: (askedMs, stoodMs) => {
      if (stoodMs < askedMs * HELD_SHARE) return void noteCut(askedMs, stoodMs, 'answer');
      // A look of a few seconds holds nothing.
      isHeld ||= askedMs >= lengthMs * (1 - SPREAD);
      alike = undefined;
      lengthMs = Math.max(lengthMs, askedMs);
    },
    cut: noteCut,
  };
}

/** Returns how long polls may be by the configuration. */
export function pollLimits({
  pollTimeoutMs,
  proxy,
}: {
  readonly pollTimeoutMs?: number | undefined;
  readonly proxy?: unknown;
}): {
  readonly pollTimeoutMs: number | undefined;
  readonly longestPollMs: number | undefined;
} {
  return { pollTimeoutMs, longestPollMs: proxy === undefined ? undefined : MAX_OVER_PROXY_MS };
}

/** Returns how a failed poll ended; undefined when the failure says nothing of how long polls may be. */
export function cutOf(error: unknown): PollCut | undefined {
  if (!(error instanceof PlatformError)) return 'silence';
  if (error.networkCode !== undefined && SILENT.has(error.networkCode)) return 'silence';
  // Only a balancer answers that the server was too slow: the server itself answers every poll.
  return error.cut || (error.status !== undefined && meaningOf(error.status) === 'gateway-timed-out')
    ? 'closed'
    : undefined;
}
