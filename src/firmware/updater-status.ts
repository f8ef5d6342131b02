/** What an updater says of itself to those who ask: the command line, the status page, `turnstone status`. */
import type { FirmwareOffer, RefusedOffer } from './firmware-offer.ts';
import type { HistoryEntry, Update, UpdateJournal } from './update-journal.ts';
import { reportedState, type UpdateState } from './update-states.ts';

export interface UpdaterStatus {
  readonly running: string;
  readonly confirmed?: string;
  readonly state: UpdateState;
  /** Idle still, with something taken that has not begun yet. */
  readonly beginning?: boolean;
  /** Why no update is possible now. */
  readonly fault?: string;
  /** Why the update does not go on. */
  readonly waits?: string;
  readonly reported?: string;
  readonly update?: Pick<Update, 'title' | 'version' | 'from' | 'reason' | 'startedAtMs'>;
  readonly receivedBytes?: number;
  readonly sizeBytes?: number;
  /** What is assigned now, tried or not. */
  readonly offered?: { readonly title: string; readonly version: string; readonly settled: boolean };
  readonly history: readonly HistoryEntry[];
}

/** An update that has failed, until another begins or succeeds. */
export interface FailedUpdate {
  readonly title: string;
  readonly version: string;
  readonly reason?: string;
  /** UTC epoch ms; missing until its end is told. */
  readonly endedAtMs?: number;
}

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

export function statusOf({ running, journal, offer, isWaited, receivedBytes, fault, waits }: UpdaterView): UpdaterStatus {
  const { state, update, confirmedVersion, history, settledOffer } = journal;
  const reported = reportedState(state);
  const sizeBytes = update?.offer?.sizeBytes;
  const isSettled = offer?.fingerprint === settledOffer;
  return {
    running,
    ...(confirmedVersion === undefined ? {} : { confirmed: confirmedVersion }),
    state,
    ...(state === 'idle' && isWaited ? { beginning: true } : {}),
    ...(fault === undefined ? {} : { fault }),
    ...(waits === undefined ? {} : { waits }),
    ...(reported === undefined ? {} : { reported }),
    ...(update === undefined ? {} : { update: sayable(update) }),
    ...(state === 'downloading' ? { receivedBytes } : {}),
    ...(sizeBytes === undefined ? {} : { sizeBytes }),
    ...(offer === undefined ? {} : { offered: { title: offer.title, version: offer.version, settled: isSettled } }),
    history,
  };
}

/** The last update, where it has failed and nothing has begun since. */
export function lastFailure({ state, update, history }: UpdaterStatus): FailedUpdate | undefined {
  if (state === 'failed') return update === undefined ? undefined : failureOf(update);
  const last = state === 'idle' ? history[0] : undefined;
  return last?.outcome === 'FAILED' ? { ...failureOf(last), endedAtMs: last.endedAtMs } : undefined;
}

function failureOf({ title, version, reason }: FailedUpdate): FailedUpdate {
  return { title, version, ...(reason === undefined ? {} : { reason }) };
}

/** Everybody on the machine may ask: the offer's address may be a key by itself, and the rest is nobody's concern. */
function sayable({ title, version, from, reason, startedAtMs }: Update): NonNullable<UpdaterStatus['update']> {
  return { title, version, from, ...(reason === undefined ? {} : { reason }), startedAtMs };
}
