/**
 * Where an update stands, in one small file that is replaced whole: the state, what it is about, how it ended, and what went before. A file
 * that is no journal is set aside: then no update is under way, and the guard goes back from a release that is on trial.
 */

import { AgentError } from '../errors/agent-error.ts';
import type { EpochMs } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { fieldsOf, sealJson } from '../store/sealed-json.ts';
import { isJsonObject, type JsonObject } from '../values/json.ts';
import type { FirmwareOffer } from './firmware-offer.ts';
import type { UpdateFiles } from './update-files.ts';
import { isUpdateState, type UpdateState } from './update-states.ts';

/** One update, from its offer to its end. */
export interface Update {
  /** Names it to root helper and guard. */
  readonly id: string;
  readonly title: string;
  readonly version: string;
  /** Where the image comes from: the platform, a file that a person gave, or a release that is kept. */
  readonly source: 'platform' | 'file' | 'kept';
  readonly offer?: FirmwareOffer;
  /** Fingerprint of the offer, also of one that was refused unread. */
  readonly fingerprint?: string;
  /** The version that ran when it began: of a handler's package the one that was installed last, `unknown` before the first. */
  readonly from: string;
  /** It was installed before, and is assigned again: nothing was done. */
  readonly isThere?: true;
  readonly startedAtMs: EpochMs;
  /** The boot in which the root helper was asked; a helper of an earlier boot works no more. */
  readonly askedInBoot?: string;
  /** Requests that the root helper did not answer. */
  readonly unanswered: number;
  /** Times that a handler's command was begun. */
  readonly attempts: number;
  /** Why it failed. */
  readonly reason?: string;
}

export interface HistoryEntry
  extends Pick<Update, 'title' | 'version' | 'from' | 'reason' | 'startedAtMs' | 'isThere'> {
  readonly outcome: 'UPDATED' | 'FAILED';
  readonly endedAtMs: EpochMs;
}

export interface UpdateJournal {
  readonly state: UpdateState;
  readonly update?: Update;
  /** The newest version that has proved itself. */
  readonly confirmedVersion?: string;
  /** The offer that ended last; it is not tried again while it stays assigned. */
  readonly settledOffer?: string;
  /** The offer that ended last where it was installed: assigned anew, it is told as installed and not installed again. */
  readonly installedOffer?: string;
  /** The latest first. */
  readonly history: readonly HistoryEntry[];
}

/** Version of what a handler has not installed yet. */
export const UNKNOWN_VERSION = 'unknown';
const FORMAT = { format: 'turnstone-firmware-journal', version: 1 };
const MAX_HISTORY = 50;
const MAX_BYTES = 256 * 1024;
const EMPTY: UpdateJournal = { state: 'idle', history: [] };

/**
 * Reads the journal, or begins one.
 * @throws AgentError `host/read-failed` (retry), and the system's own faults when what is no journal cannot be set aside.
 */
export async function readJournal(files: UpdateFiles, path: string, log: Log): Promise<UpdateJournal> {
  try {
    const bytes = await files.read(path, MAX_BYTES);
    return bytes === undefined ? EMPTY : parseJournal(fieldsOf(bytes.toString('utf8'), FORMAT));
  } catch (error) {
    // A disk that does not answer now may have a good journal.
    if (error instanceof AgentError && error.recovery === 'retry') throw error;
    log.error({ file: path }, 'the firmware journal cannot be read and is set aside');
    await files.remove(`${path}.corrupt`);
    await files.rename(path, `${path}.corrupt`);
    return EMPTY;
  }
}

export async function writeJournal(files: UpdateFiles, path: string, journal: UpdateJournal): Promise<void> {
  const history = journal.history.slice(0, MAX_HISTORY);
  await files.write(path, sealJson({ ...FORMAT, ...journal, history }), 0o600);
}

/** How an update left its last state for idle. */
export interface UpdateEnd {
  readonly state: UpdateState;
  readonly update: Update;
  readonly endedAtMs: EpochMs;
  /** The update was about this agent. */
  readonly isOurs: boolean;
}

/** A withdrawn offer leaves no trace; every other end is remembered, and its offer is settled. */
export function endedJournal(
  { update: _, installedOffer, ...journal }: UpdateJournal,
  { state, update, endedAtMs, isOurs }: UpdateEnd,
): UpdateJournal {
  if (state !== 'updated' && state !== 'failed')
    return {
      ...journal,
      installedOffer,
      state: 'idle',
    };
  const outcome = state === 'updated' ? 'UPDATED' : 'FAILED';
  const { title, version, from, startedAtMs, reason, isThere, fingerprint } = update;
  const entry = { title, version, from, outcome, startedAtMs, endedAtMs, reason, isThere } as const;
  return {
    ...journal,
    state: 'idle',
    history: [entry, ...journal.history],
    settledOffer: fingerprint ?? journal.settledOffer,
    installedOffer: state === 'updated' ? fingerprint : undefined,
    confirmedVersion: state === 'updated' && isOurs ? version : journal.confirmedVersion,
  };
}

/** Fields that are not known are left out; what is written in this format is only ever extended. */
function parseJournal({
  state,
  update,
  confirmedVersion,
  settledOffer,
  installedOffer,
  history,
}: JsonObject): UpdateJournal {
  if (!isUpdateState(state) || !Array.isArray(history)) throw new Error('no state');
  if (update === undefined && state !== 'idle') throw new Error('an update without its particulars');
  const known: unknown = update;
  if (known !== undefined) expectUpdate(known);
  return {
    state,
    update: known,
    ...(typeof confirmedVersion === 'string' ? { confirmedVersion } : {}),
    ...(typeof settledOffer === 'string' ? { settledOffer } : {}),
    ...(typeof installedOffer === 'string' ? { installedOffer } : {}),
    history: history.filter(isJsonObject).map((entry) => entry as JsonObject & HistoryEntry),
  };
}

function expectUpdate(json: unknown): asserts json is Update {
  if (!isJsonObject(json)) throw new Error('no update');
  for (const field of ['id', 'title', 'version', 'source', 'from'])
    if (typeof json[field] !== 'string') throw new Error(`no ${field}`);
  for (const field of ['startedAtMs', 'unanswered', 'attempts'])
    if (typeof json[field] !== 'number') throw new Error(`no ${field}`);
}
