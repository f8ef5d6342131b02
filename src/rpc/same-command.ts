/**
 * When a request is the same command as an earlier one, and what is done with it: the tables of SAME-COMMAND.md, which says why. They know no
 * clock, no file and no platform, so that whoever judges the agent from outside can judge by the same ones.
 */

/** `read` changes nothing; `set` may be done twice with the same outcome; `move` must not. */
export type Effect = 'read' | 'set' | 'move';

/** `undecidable`: it may be the earlier command once more, or a new one with the same words. */
export type Verdict = 'new' | 'same' | 'undecidable';

/** `reply`: the earlier one's, once more; nothing is done. `outcome-unknown`: that is the answer; nothing is done. */
export type Deed = 'act' | 'reply' | 'outcome-unknown';

/** An earlier request with the same method and params, as it stands to the request that comes now. */
export interface EarlierRequest {
  /** Id of the present request compared with the earlier one's. */
  readonly id: 'same' | 'higher' | 'lower';
  readonly reply: 'taken' | 'not taken';
  /**
   * The platform since then. `doubtful`: a poll or reply failed, or the machine was off, so it may have restarted unseen. `restarted`: it
   * gave an id to other content.
   */
  readonly platform: 'steady' | 'doubtful' | 'restarted';
  /** Since it was handed out last, or its reply accepted. */
  readonly quietMs: number;
}

type Allowed<Value> = 'any' | readonly Value[];

export interface SameCommandRow {
  readonly id: Allowed<EarlierRequest['id']>;
  readonly reply: Allowed<EarlierRequest['reply']>;
  readonly platform: Allowed<EarlierRequest['platform']>;
  /** The row holds for what was quiet for less. */
  readonly withinMs: number;
  readonly verdict: Verdict;
}

/** No platform is known to restart in this time unseen; one that waits for a reply hands out the request again within it. */
export const SAME_WITHIN_MS = 30_000;
/** A platform that has accepted the reply has no reason to ask again; but the first command of a day may be that of the day before, with its id. */
const TAKEN_WITHIN_MS = 10 * 60_000;
/** Persistent requests live for hours; older ones are rarer than ids that begin again. */
const NOT_TAKEN_WITHIN_MS = 24 * 3_600_000;

/** The first row that fits counts; what fits none is new. */
export const SAME_COMMAND: readonly SameCommandRow[] = [
  { id: ['same'], reply: ['not taken'], platform: ['steady'], withinMs: SAME_WITHIN_MS, verdict: 'same' },
  { id: ['same'], reply: ['taken'], platform: 'any', withinMs: TAKEN_WITHIN_MS, verdict: 'undecidable' },
  { id: ['same'], reply: ['not taken'], platform: 'any', withinMs: NOT_TAKEN_WITHIN_MS, verdict: 'undecidable' },
  { id: ['lower'], reply: ['not taken'], platform: 'any', withinMs: NOT_TAKEN_WITHIN_MS, verdict: 'undecidable' },
  {
    id: ['higher'],
    reply: ['not taken'],
    platform: ['restarted'],
    withinMs: NOT_TAKEN_WITHIN_MS,
    verdict: 'undecidable',
  },
];

export const DEEDS: Readonly<Record<Verdict, Readonly<Record<Effect, Deed>>>> = {
  new: { read: 'act', set: 'act', move: 'act' },
  same: { read: 'reply', set: 'reply', move: 'reply' },
  undecidable: { read: 'act', set: 'act', move: 'outcome-unknown' },
};

export function verdictOn(earlier: EarlierRequest): Verdict {
  return SAME_COMMAND.find((row) => fits(row, earlier))?.verdict ?? 'new';
}

/** For how long a request can matter to a later one. */
export function rememberedForMs(effect: Effect, reply: EarlierRequest['reply']): number {
  if (effect !== 'move') return SAME_WITHIN_MS;
  return Math.max(...SAME_COMMAND.filter((row) => allows(row.reply, reply)).map(({ withinMs }) => withinMs));
}

function fits(row: SameCommandRow, { id, reply, platform, quietMs }: EarlierRequest): boolean {
  return allows(row.id, id) && allows(row.reply, reply) && allows(row.platform, platform) && quietMs < row.withinMs;
}

function allows<Value>(allowed: Allowed<Value>, value: Value): boolean {
  return allowed === 'any' || allowed.includes(value);
}
