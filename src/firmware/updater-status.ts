/** The status of an updater for the command line, the status page and `turnstone status`. */
import type { FirmwareOffer, RefusedOffer } from './firmware-offer.ts';
import type { HistoryEntry, Update, UpdateJournal } from './update-journal.ts';
import { reportedState, type UpdateState } from './update-states.ts';

export interface UpdaterStatus {
  readonly running: string;
  readonly confirmed?: string;
  readonly state: UpdateState;
  /** Still idle, but something is about to begin. */
  readonly beginning?: boolean;
  /** Why no update is possible now. */
  readonly fault?: string;
  /** Why the update does not go on. */
  readonly waits?: string;
  readonly reported?: string;
  readonly update?: Pick<Update, 'title' | 'version' | 'from' | 'reason' | 'startedAtMs' | 'isThere'>;
  readonly receivedBytes?: number;
  readonly sizeBytes?: number;
  /** The package that the platform assigns now, whether it was tried or not. */
  readonly offered?: { readonly title: string; readonly version: string; readonly settled: boolean };
  readonly history: readonly HistoryEntry[];
}

/** An update that has failed, until another begins or succeeds; its end is missing until that is told. */
type FailedUpdate = Pick<HistoryEntry, 'title' | 'version' | 'reason'> & Partial<Pick<HistoryEntry, 'endedAtMs'>>;

export interface UpdaterView {
  readonly running: string;
  readonly journal: UpdateJournal;
  readonly offer: FirmwareOffer | RefusedOffer | undefined;
  /** Something is taken, or offered and not settled. */
  readonly isWaited: boolean;
  readonly receivedBytes: number;
  readonly fault: string | undefined;
  readonly waits: string | undefined;
}

export function statusOf({
  running,
  journal,
  offer,
  isWaited,
  receivedBytes,
  fault,
  waits,
}: UpdaterView): UpdaterStatus {
  const { state, update, confirmedVersion, history, settledOffer } = journal;
  const settled = offer?.fingerprint === settledOffer;
  return {
    running,
    confirmed: confirmedVersion,
    state,
    beginning: (state === 'idle' && isWaited) || undefined,
    fault,
    waits,
    reported: reportedState(state),
    update: update === undefined ? undefined : sayable(update),
    receivedBytes: state === 'downloading' ? receivedBytes : undefined,
    sizeBytes: update?.offer?.sizeBytes,
    offered: offer === undefined ? undefined : { title: offer.title, version: offer.version, settled },
    history,
  };
}

/** The last update, where it has failed and nothing has begun since. */
export function lastFailure({ state, update, history }: UpdaterStatus): FailedUpdate | undefined {
  const last = state === 'idle' ? history[0] : undefined;
  const failed = state === 'failed' ? update : last?.outcome === 'FAILED' ? last : undefined;
  return failed && { title: failed.title, version: failed.version, reason: failed.reason, endedAtMs: last?.endedAtMs };
}

/** Without the offer: everybody on the machine may ask, and its address may hold a key. */
function sayable({ title, version, from, reason, startedAtMs, isThere }: Update): NonNullable<UpdaterStatus['update']> {
  return { title, version, from, reason, startedAtMs, isThere };
}
