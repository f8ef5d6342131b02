/**
 * The meaning of an upload's answer for its entries, as one table of phase and answer. A post of several entries is made smaller; an entry that
 * fails by itself makes way for others; whatever says nothing about the entries is retried with backoff.
 */
import type { EntryColumns } from '../../outbox/outbox.ts';
import type { UploadAnswer } from '../../platform/device-api.ts';
import { asksForLess, isTimedOut } from '../../platform/status-meaning.ts';

export const UPLOAD_ACTIONS = {
  /** Several entries in one post. */
  batch: {
    accepted: 'accept',
    refused: 'bisect',
    'too-large': 'shrink',
    'timed-out': 'shrink',
    unhealed: 'shrink',
    limited: 'try-less',
    busy: 'retry',
    held: 'retry',
  },
  /** One entry, with its mark if it has one. */
  single: {
    accepted: 'accept',
    refused: 'quarantine',
    'too-large': 'quarantine',
    'timed-out': 'quarantine',
    unhealed: 'quarantine',
    limited: 'retry',
    busy: 'retry',
    held: 'retry',
  },
  /** One entry that failed by itself before, when others were accepted since. */
  quarantined: {
    accepted: 'accept',
    refused: 'dead-letter',
    'too-large': 'dead-letter',
    'timed-out': 'dead-letter',
    unhealed: 'dead-letter',
    limited: 'retry',
    busy: 'retry',
    held: 'retry',
  },
  /** One entry of the dead-letter queue, at its time. */
  'dead-letter': {
    accepted: 'accept',
    refused: 'postpone',
    'too-large': 'postpone',
    'timed-out': 'postpone',
    unhealed: 'postpone',
    limited: 'retry',
    busy: 'retry',
    held: 'retry',
  },
} as const satisfies Record<string, Readonly<Record<AnswerName, string>>>;

/**
 * `timed-out`: the body did not pass in time. `limited`: it looks like a rate limit. `unhealed`: it looked like one, and time did not help.
 * `busy`: the server, or nobody. `held`: only a person helps.
 */
export type AnswerName = 'accepted' | 'refused' | 'too-large' | 'timed-out' | 'limited' | 'unhealed' | 'busy' | 'held';
export type UploadPhase = keyof typeof UPLOAD_ACTIONS;

/** These are about what was sent: the next post is less, or another, and need not fail. */
const ABOUT_WHAT_WAS_SENT: ReadonlySet<AnswerName> = new Set<AnswerName>(['refused', 'too-large', 'timed-out']);

/** Names an answer by itself; only what came before tells whether `limited` is `unhealed`. */
export function nameOf(answer: UploadAnswer): Exclude<AnswerName, 'unhealed'> {
  switch (answer.kind) {
    case 'portal':
    case 'unauthorised':
      return 'held';
    case 'busy':
      if (answer.cut === true || (answer.status !== undefined && isTimedOut(answer.status))) return 'timed-out';
      return isSilent(answer) || (answer.status !== undefined && asksForLess(answer.status)) ? 'limited' : 'busy';
    default:
      return answer.kind;
  }
}

/** True for an empty 500, which may be a limit, and may be about an entry. */
export function isSilent(answer: UploadAnswer): boolean {
  return answer.kind === 'busy' && answer.status === 500 && answer.text === '';
}

/** Nobody was asked; the next batch is without what the disk did not keep. */
export const NOT_KEPT: UploadAnswer = { kind: 'busy', status: 0, text: 'the disk does not take what cannot be sent' };

/** True when the next post is smaller, or another: so it need not fail as this did. */
export function isAboutWhatWasSent(answer: UploadAnswer): boolean {
  return answer === NOT_KEPT || ABOUT_WHAT_WAS_SENT.has(nameOf(answer));
}

/** Words that are kept with an entry that failed by itself. */
export function answerText(answer: UploadAnswer): string {
  if (answer.kind === 'refused') return `${answer.status} ${answer.text}`;
  if (answer.kind === 'too-large') return `${answer.status} too large`;
  return nameOf(answer) === 'limited' ? '500 without a reason' : 'no answer in time';
}

/** True for a batch of one entry, with its mark if it has one. */
export function isAlone({ sequences }: EntryColumns): boolean {
  return sequences.length > 0 && sequences[0] === sequences.at(-1);
}
