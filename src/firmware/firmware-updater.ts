/**
 * Walks one kind of package through update-states.ts: each state is on disk before it is reported, each report is in the outbox before the
 * step begins. Offers and people's wishes come in at any time and are taken up when the state allows it.
 */
import { join } from 'node:path';
import { AgentError, messageOf } from '../errors.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { type Beginning, chooseOffer, chooseWish, isOurs, type UpdateWish } from './choose-update.ts';
import { type FirmwareOffer, offerKeys, prefixOf, type RefusedOffer, readOffer } from './firmware-offer.ts';
import { lostTrial } from './release-trial.ts';
import { type HistoryEntry, readJournal, type Update, type UpdateJournal, writeJournal } from './update-journal.ts';
import { nextState, reportedState, type UpdateEvent, type UpdateState } from './update-states.ts';
import { UpdateSteps } from './update-steps.ts';
import type { StepOutcome, UpdaterDeps } from './updater-deps.ts';

export interface UpdaterStatus {
  readonly running: string;
  readonly confirmed?: string;
  readonly state: UpdateState;
  readonly reported?: string;
  readonly update?: Pick<Update, 'title' | 'version' | 'from' | 'reason' | 'startedAtMs'>;
  readonly receivedBytes?: number;
  readonly sizeBytes?: number;
  /** What is assigned now, tried or not. */
  readonly offered?: { readonly title: string; readonly version: string; readonly settled: boolean };
  readonly history: readonly HistoryEntry[];
}

/** A step that fails in a way nobody foresaw is not begun again at once. */
const PAUSE_AFTER_FAULT_MS = 10_000;

export class FirmwareUpdater {
  readonly #deps: UpdaterDeps;
  readonly #steps: UpdateSteps;
  readonly #journalPath: string;
  #journal: UpdateJournal = { state: 'idle', history: [] };
  #offer: FirmwareOffer | RefusedOffer | undefined;
  /** What a person asked for, ready to begin. */
  #wished: Beginning | undefined;
  /** A person's file is being copied to where a download would go. */
  #isTaken = false;
  #news = Promise.withResolvers<void>();
  #receivedBytes = 0;

  private constructor(deps: UpdaterDeps) {
    this.#deps = deps;
    this.#journalPath = join(deps.paths.firmware, `${deps.kind}-update.json`);
    this.#steps = new UpdateSteps(deps, {
      offered: () => this.#offer?.fingerprint,
      readOffer: (signal) => this.readOffer(signal),
      received: (bytes) => {
        this.#receivedBytes = bytes;
      },
    });
  }

  /** Reads where the last run left off; nothing moves before `run`. */
  static async open(deps: UpdaterDeps): Promise<FirmwareUpdater> {
    const updater = new FirmwareUpdater(deps);
    await deps.files.makeFolder(deps.paths.firmware, 0o750);
    updater.#journal = await readJournal(deps.files, updater.#journalPath, deps.log);
    const lost = updater.#journal.state === 'idle' ? await lostTrial(deps) : undefined;
    if (lost !== undefined) updater.#journal = { ...updater.#journal, state: 'trial', update: lost };
    return updater;
  }

  get status(): UpdaterStatus {
    const { state, update, confirmedVersion, history, settledOffer } = this.#journal;
    const reported = reportedState(state);
    const offered = this.#offer;
    return {
      running: this.#deps.runningVersion,
      ...(confirmedVersion === undefined ? {} : { confirmed: confirmedVersion }),
      state,
      ...(reported === undefined ? {} : { reported }),
      ...(update === undefined ? {} : { update }),
      ...(state === 'downloading' ? { receivedBytes: this.#receivedBytes } : {}),
      ...(update?.offer?.sizeBytes === undefined ? {} : { sizeBytes: update.offer.sizeBytes }),
      ...(offered === undefined
        ? {}
        : { offered: { title: offered.title, version: offered.version, settled: offered.fingerprint === settledOffer } }),
      history,
    };
  }

  /** Takes note of the shared attributes as they were read, never of a notification's body. An empty answer says nothing. */
  considerOffer(shared: JsonObject): void {
    const offer = readOffer(this.#deps.kind, shared);
    if (offer?.fingerprint === this.#offer?.fingerprint) return;
    this.#offer = offer;
    if (this.#journal.update?.fingerprint !== offer?.fingerprint) this.#steps.withdraw();
    this.#wake();
  }

  /** Reads the offer from the platform. */
  async readOffer(signal: AbortSignal): Promise<void> {
    const answer = await this.#deps.deviceApi.getAttributes({ sharedKeys: offerKeys(this.#deps.kind) }, signal);
    if (!answer.empty) this.considerOffer(answer.shared);
  }

  /** Asks the platform again and tries an offer even if it failed before. */
  async check(signal: AbortSignal): Promise<void> {
    await this.readOffer(signal);
    if (this.#journal.state !== 'idle' || this.#offer === undefined) return;
    const { settledOffer: _, ...rest } = this.#journal;
    this.#journal = rest;
    await writeJournal(this.#deps.files, this.#journalPath, this.#journal);
    this.#wake();
  }

  /**
   * Begins what a person wishes; the rest goes its way like an offer's.
   * @throws AgentError `firmware/busy` (retry) while another update is under way, and what is wrong with their file.
   */
  async begin(wish: UpdateWish, signal: AbortSignal): Promise<void> {
    if (this.#journal.state !== 'idle' || this.#isTaken)
      throw new AgentError('firmware/busy', 'another update is under way', { recovery: 'retry' });
    this.#isTaken = true;
    try {
      this.#wished = await chooseWish(this.#deps, wish, this.#steps.image, signal);
    } finally {
      this.#isTaken = false;
      this.#wake();
    }
  }

  /** Walks until the signal aborts. Reports the versions first, as after every boot. */
  async run(signal: AbortSignal): Promise<void> {
    let isReported = false;
    while (!signal.aborted) {
      try {
        if (!isReported) await this.#reportStart();
        isReported = true;
        await this.#step(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.log.error({ state: this.#journal.state, error: messageOf(error) }, 'a step of the update was cut short');
        await this.#deps.clock.sleep(PAUSE_AFTER_FAULT_MS, signal);
      }
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { state, update } = this.#journal;
    if (state === 'idle' || update === undefined) {
      const beginning = await this.#awaitWork(signal);
      if (beginning !== undefined) await this.#enter('idle', beginning.update, beginning.outcome);
      return;
    }
    if (state === 'applying') await this.#save({ ...this.#journal, update: { ...update, attempts: update.attempts + 1 } });
    if (state === 'requesting') await this.#save({ ...this.#journal, update: { ...update, askedInBoot: this.#deps.clock.bootId } });
    const outcome = await this.#steps.take(state, this.#journal.update ?? update, signal);
    if (outcome !== undefined) await this.#enter(state, this.#journal.update ?? update, outcome);
  }

  /** Waits for something to do; undefined when the signal aborted. */
  async #awaitWork(signal: AbortSignal): Promise<Beginning | undefined> {
    const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      const news = this.#news.promise;
      if (!this.#isTaken) {
        const beginning = this.#wished ?? chooseOffer(this.#deps, this.#journal, this.#offer);
        this.#wished = undefined;
        if (beginning !== undefined) return beginning;
      }
      await Promise.race([news, ended]);
    }
    return undefined;
  }

  /** The next state, on disk and then reported. */
  async #enter(state: UpdateState, update: Update, { event, reason }: StepOutcome<UpdateEvent>): Promise<void> {
    const next = nextState(state, event);
    const changed = {
      ...update,
      ...(event === 'unanswered' ? { unanswered: update.unanswered + 1 } : {}),
      ...(reason === undefined ? {} : { reason }),
    };
    await this.#save(next === 'idle' ? this.#ended(state, changed) : { ...this.#journal, state: next, update: changed });
    const fields = { from: state, event, state: next, version: update.version, ...(reason === undefined ? {} : { reason }) };
    if (next === 'failed') this.#deps.log.error(fields, 'the update failed');
    else this.#deps.log.info(fields, 'the update goes on');
    await this.#report();
  }

  /** A withdrawn offer leaves no trace; every other end is remembered, and its offer is settled. */
  #ended(state: UpdateState, update: Update): UpdateJournal {
    const { update: _, ...journal } = this.#journal;
    this.#receivedBytes = 0;
    if (state !== 'updated' && state !== 'failed') return { ...journal, state: 'idle' };
    const outcome = state === 'updated' ? 'UPDATED' : 'FAILED';
    const { title, version, from, startedAtMs, reason, fingerprint } = update;
    const endedAtMs = this.#deps.clock.wallMs();
    const entry = { title, version, from, outcome, startedAtMs, endedAtMs, ...(reason === undefined ? {} : { reason }) } as const;
    return {
      ...journal,
      state: 'idle',
      history: [entry, ...journal.history],
      ...(fingerprint === undefined ? {} : { settledOffer: fingerprint }),
      ...(state === 'updated' && isOurs(this.#deps, title) ? { confirmedVersion: version } : {}),
    };
  }

  async #save(journal: UpdateJournal): Promise<void> {
    await writeJournal(this.#deps.files, this.#journalPath, journal);
    this.#journal = journal;
  }

  async #report(): Promise<void> {
    const { state, update } = this.#journal;
    const prefix = prefixOf(this.#deps.kind);
    const reported = reportedState(state);
    if (reported === undefined || update === undefined) return;
    const values: Record<string, JsonValue> = { [`${prefix}_state`]: reported };
    if (state === 'failed') values[`${prefix}_error`] = update.reason ?? 'unknown';
    if (state === 'updated') {
      values[`current_${prefix}_title`] = update.title;
      values[`current_${prefix}_version`] = update.version;
    }
    await this.#deps.report(values);
  }

  /** What runs, and where an update stands that the last run left behind. */
  async #reportStart(): Promise<void> {
    const prefix = prefixOf(this.#deps.kind);
    const { title } = this.#deps.config;
    if (this.#deps.kind === 'firmware')
      await this.#deps.report({ [`current_${prefix}_title`]: title, [`current_${prefix}_version`]: this.#deps.runningVersion });
    await this.#report();
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }
}
