/** Questions to the timeline, as a page's address or a request of the command line has them. */

import { badRequest } from '../values/bad-request.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import type { TimelineEvent } from './event.ts';
import { isKind, TIMELINE_KINDS, type TimelineKind } from './kinds.ts';

export interface TimelineQuery {
  /** UTC epoch ms, `[fromMs, toMs)`. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** All without them. */
  readonly kinds?: readonly TimelineKind[];
  /** Events with a lower number. */
  readonly before?: number;
  readonly limit: number;
}

/** The newest first; `more` when others are older and fit as well. */
export interface TimelineAnswer {
  readonly events: readonly TimelineEvent[];
  readonly more: boolean;
}

const MAX_LIMIT = 500;
const USUAL_LIMIT = 100;
const MAX_TEXT = 200;

/** `from`, `to` (UTC epoch ms), `kind` (repeated, or with commas), `limit`, `before`; or what is wrong with them, in words. */
export function readTimelineQuery(query: URLSearchParams): TimelineQuery | string {
  const kinds = query.getAll('kind').join(',').slice(0, MAX_TEXT);
  const number = (name: string): number | undefined =>
    query.has(name) ? Number(query.get(name) || Number.NaN) : undefined;
  return checked({
    fromMs: number('from'),
    toMs: number('to'),
    before: number('before'),
    limit: number('limit'),
    kinds: kinds.split(','),
  });
}

/** The same of a request's parameters. @throws AgentError `agent/bad-request` (drop). */
export function timelineQueryOf({ from, to, before, limit, kinds }: JsonObject): TimelineQuery {
  const number = (value: JsonValue | undefined): number | undefined =>
    value === undefined ? undefined : Number(value);
  const list = Array.isArray(kinds) ? kinds.map(String) : [];
  const query = checked({
    fromMs: number(from),
    toMs: number(to),
    before: number(before),
    limit: number(limit),
    kinds: list,
  });
  if (typeof query === 'string') throw badRequest(query);
  return query;
}

interface Asked {
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly before: number | undefined;
  readonly limit: number | undefined;
  readonly kinds: readonly string[];
}

function checked({ kinds, limit = USUAL_LIMIT, ...numbers }: Asked): TimelineQuery | string {
  if (Object.values(numbers).some((one) => one !== undefined && !Number.isFinite(one)))
    return 'from, to and before are numbers';
  if (!(limit >= 1)) return `limit is a number from 1 to ${MAX_LIMIT}`;
  const named = kinds.map((one) => one.trim()).filter((one) => one !== '');
  const known = named.filter(isKind);
  if (known.length < named.length) return `kind is one of ${TIMELINE_KINDS.join(', ')}`;
  return {
    ...numbers,
    limit: Math.min(Math.floor(limit), MAX_LIMIT),
    kinds: known.length === 0 ? undefined : known,
  };
}

/** Answers from events in the order of their numbers. */
export function selectEvents(events: readonly TimelineEvent[], query: TimelineQuery): TimelineAnswer {
  const {
    fromMs = Number.NEGATIVE_INFINITY,
    toMs = Number.POSITIVE_INFINITY,
    before = Number.POSITIVE_INFINITY,
    kinds,
    limit,
  } = query;
  const found: TimelineEvent[] = [];
  for (let at = events.length - 1; at >= 0 && found.length <= limit; at -= 1) {
    const event = events[at] as TimelineEvent;
    if (event.seq >= before || event.ts < fromMs || event.ts >= toMs) continue;
    if (kinds === undefined || kinds.includes(event.kind)) found.push(event);
  }
  return { events: found.slice(0, limit), more: found.length > limit };
}
