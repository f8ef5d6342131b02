/**
 * The update, as one table. A state is on disk before it is reported and before its step begins; after a kill or a power cut the step of
 * the state on disk is begun again, so every step can be taken twice. `report` is the `fw_state` that the platform shows.
 *
 *   idle ─offered─► downloading ─► downloaded ─► verified ─┬─ours──► requesting ─► swapping ─► trial ─healthy─► confirming ─► updated
 *                        │              │                  └─theirs─► applying ──────────────────────────────────────────────►    │
 *                        ▼              ▼                                 ▼            ▼          └unfit─► giving-up ─► failed     ▼
 *                      failed ◄──────────────────────────────────────────────────────────────────────────────────────────────   idle
 */

/** The states told to the platform; wire spellings. */
export type ReportedState = 'DOWNLOADING' | 'DOWNLOADED' | 'VERIFIED' | 'UPDATING' | 'UPDATED' | 'FAILED';

export const UPDATE_STATES = {
  /** Waits for an offer, or for a person. */
  idle: {
    step: 'await-offer',
    on: {
      offered: 'downloading',
      'file-given': 'downloaded',
      'back-asked': 'requesting',
      'runs-already': 'updated',
      refused: 'failed',
    },
  },
  downloading: {
    report: 'DOWNLOADING',
    step: 'download',
    on: { done: 'downloaded', withdrawn: 'idle', failed: 'failed' },
  },
  /** Size, checksum, signature, and that the image is for this machine. */
  downloaded: { report: 'DOWNLOADED', step: 'verify', on: { done: 'verified', failed: 'failed' } },
  verified: { report: 'VERIFIED', step: 'choose', on: { ours: 'requesting', theirs: 'applying', withdrawn: 'idle' } },
  /** Writes the request that the root helper is started by. */
  requesting: { report: 'UPDATING', step: 'request-swap', on: { done: 'swapping', failed: 'failed' } },
  /** Still the old release, or already the new one; the helper's result tells. */
  swapping: {
    report: 'UPDATING',
    step: 'await-swap',
    on: {
      started: 'trial',
      refused: 'failed',
      'rolled-back': 'failed',
      confirmed: 'updated',
      unanswered: 'requesting',
      failed: 'failed',
    },
  },
  /** An attached device: its fixed command, with the verified file. A configuration: its trial; until that is asked for the offer may go. */
  applying: {
    report: 'UPDATING',
    step: 'run-handler',
    on: { done: 'updated', withdrawn: 'idle', failed: 'failed' },
  },
  /** The new release runs and has to prove itself. */
  trial: {
    report: 'UPDATING',
    step: 'prove',
    on: { healthy: 'confirming', unfit: 'giving-up', 'rolled-back': 'failed', confirmed: 'updated' },
  },
  /** Tells the boot guard that the release stays. */
  confirming: { step: 'confirm', on: { done: 'updated' } },
  /** Asks the root helper for the release before. */
  'giving-up': { report: 'UPDATING', step: 'request-return', on: { 'rolled-back': 'failed', unanswered: 'giving-up' } },
  updated: { report: 'UPDATED', step: 'record', on: { done: 'idle' } },
  failed: { report: 'FAILED', step: 'record', on: { done: 'idle' } },
} as const satisfies Record<
  string,
  { readonly report?: ReportedState; readonly step: string; readonly on: Readonly<Record<string, string>> }
>;

export type UpdateState = keyof typeof UPDATE_STATES;
export type UpdateStep = (typeof UPDATE_STATES)[UpdateState]['step'];
/** The events that a state's step may end with. */
export type UpdateEvent<S extends UpdateState = UpdateState> = S extends UpdateState
  ? Extract<keyof (typeof UPDATE_STATES)[S]['on'], string>
  : never;

export function isUpdateState(text: unknown): text is UpdateState {
  return typeof text === 'string' && Object.hasOwn(UPDATE_STATES, text);
}

/** Where an event leads; an event that a state does not know is a fault of the program, and the update has failed. */
export function nextState(state: UpdateState, event: UpdateEvent): UpdateState {
  const on: Readonly<Record<string, string>> = UPDATE_STATES[state].on;
  const next = on[event];
  return isUpdateState(next) ? next : 'failed';
}

/** Returns the state to tell the platform; undefined for states that are nobody's concern. */
export function reportedState(state: UpdateState): ReportedState | undefined {
  const row = UPDATE_STATES[state];
  return 'report' in row ? row.report : undefined;
}

/**
 * True for states that wait until the platform was told: before a start and after an end. Between them a release whose outbox takes nothing
 * has to be judged, and given up, all the same.
 */
export function mustBeTold(state: UpdateState): boolean {
  return state === 'idle' || UPDATE_STATES[state].step === 'record';
}
