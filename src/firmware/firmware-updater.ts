/**
 * Walks one kind of package through update-states.ts: each state is on disk before it is reported, each report is in the outbox before the
 * step begins. Offers and people's wishes come in at any time and are taken up when the state allows it.
 */
import { join } from 'node:path';
import { messageOf, retryable } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { joinedWhileUnderWay } from '../host/shared-work.ts';
import type { JsonObject } from '../values/json.ts';
import {
  type Beginning,
  chooseOffer,
  chooseWish,
  expectUsable,
  isOurs,
  runningVersion,
  type UpdateWish,
} from './choose-update.ts';
import { type FirmwareOffer, offerKeys, type RefusedOffer, readOffer } from './firmware-offer.ts';
import { OfferPace } from './offer-pace.ts';
import { endedJournal, readJournal, type Update, type UpdateJournal, writeJournal } from './update-journal.ts';
import { UpdateNews } from './update-news.ts';
import { mustBeTold, nextState, type UpdateEvent, type UpdateState } from './update-states.ts';
import { UpdateSteps } from './update-steps.ts';
import { UpdateTelling } from './update-telling.ts';
import type { StepOutcome, UpdaterDeps } from './updater-deps.ts';
import { statusOf, type UpdaterStatus } from './updater-status.ts';

/** A step that fails in a way nobody foresaw is not begun again at once. */
const PAUSE_AFTER_FAULT_MS = 10_000;
/** Between two attempts to read the journal. */
const READ_AGAIN_AFTER_MS = 60_000;
/** A start does without updates where a disk does not answer in this time. */
const LOAD_WITHIN_MS = 5_000;
/** The platform writes the attributes of one assignment one after the other, and may tell of each. */
const ONE_ASSIGNMENT_MS = 5_000;
/** States whose step tells what it waits for. */
const WAITING: ReadonlySet<UpdateState> = new Set(['downloading', 'applying']);
const NO_ANSWER = 'the disk does not answer';

export class FirmwareUpdater {
  readonly #deps: UpdaterDeps;
  readonly #steps: UpdateSteps;
  readonly #telling: UpdateTelling;
  readonly #journalPath: string;
  #journal: UpdateJournal = { state: 'idle', history: [] };
  #offer: FirmwareOffer | RefusedOffer | undefined;
  /** The offer was read since the start; before that the one of an unfinished update may have been withdrawn. */
  #wasRead = false;
  /** A person's request, ready to begin. */
  #wished: Beginning | undefined;
  /** A person's file is being copied to where a download would go. */
  #isTaken = false;
  /** The next update is chosen, and not on disk yet. */
  #isBeginning = false;
  /** Why the journal of the last run could not be read. */
  #fault: string | undefined;
  readonly #load = joinedWhileUnderWay(() => this.#loadNow());
  readonly #news = new UpdateNews();
  readonly #pace: OfferPace;
  /** The latest beginning of an offer, on the monotonic clock. */
  #offerBeganAtMs = Number.NEGATIVE_INFINITY;
  /** The settled offer is forgotten, and the disk does not say so yet. */
  #isUnsaved = false;
  #receivedBytes = 0;
  /** Why the download, or a built-in handler, does not go on. */
  #waits: string | undefined;

  private constructor(deps: UpdaterDeps) {
    this.#deps = deps;
    this.#journalPath = join(deps.paths.firmware, `${deps.kind}-update.json`);
    this.#pace = new OfferPace(deps.clock, () => this.#news.tell());
    this.#telling = new UpdateTelling(deps, () => this.#journal);
    this.#steps = new UpdateSteps(deps, {
      standing: (fingerprint) =>
        this.#wasRead ? (this.#offer?.fingerprint === fingerprint ? 'offered' : 'withdrawn') : 'unread',
      readOffer: (signal) => this.readOffer(signal),
      received: (bytes) => {
        this.#receivedBytes = bytes;
      },
      waits: (reason) => {
        this.#waits = reason;
      },
    });
  }

  /** Reads where the last run left off; nothing moves before `run`. What cannot be read keeps updates away, never the agent. */
  static async open(deps: UpdaterDeps): Promise<FirmwareUpdater> {
    const updater = new FirmwareUpdater(deps);
    updater.#fault = NO_ANSWER;
    await endedWithin(deps.clock, LOAD_WITHIN_MS, updater.#load());
    return updater;
  }

  get status(): UpdaterStatus {
    const waiting = {
      isWaited: this.#isWaited,
      fault: this.#fault,
      waits:
        this.#steps.lockout.reason ?? this.#pace.reason ?? (WAITING.has(this.#journal.state) ? this.#waits : undefined),
    };
    return statusOf({
      running: runningVersion(this.#deps),
      journal: this.#journal,
      offer: this.#offer,
      receivedBytes: this.#receivedBytes,
      ...waiting,
    });
  }

  /** Something is about to begin. */
  get #isWaited(): boolean {
    const { settledOffer } = this.#journal;
    return (
      this.#isTaken ||
      this.#wished !== undefined ||
      (this.#offer !== undefined && this.#offer.fingerprint !== settledOffer)
    );
  }

  /** Takes note of the shared attributes as they were read, never of a notification's body. An empty answer says nothing. */
  considerOffer(shared: JsonObject, saved: ReadonlySet<string> = new Set()): void {
    const { kind, clock } = this.#deps;
    const offer = readOffer(kind, shared);
    const isSaved =
      offerKeys(kind).some((key) => saved.has(key)) && clock.monotonicMs() - this.#offerBeganAtMs >= ONE_ASSIGNMENT_MS;
    if (this.#wasRead && offer?.fingerprint === this.#offer?.fingerprint && !isSaved) return;
    this.#wasRead = true;
    this.#offer = offer;
    if (isSaved) this.#forgetSettled();
    else this.#forgetReplaced();
    if (this.#journal.update?.fingerprint !== offer?.fingerprint) this.#steps.withdraw();
    this.#news.tell();
  }

  /** Reads the offer from the platform. Asked for its keys alone, an ill platform says the same as one that offers nothing: `{}`. */
  async readOffer(signal: AbortSignal): Promise<void> {
    const answer = await this.#deps.deviceApi.getAttributes({}, signal);
    if (!answer.empty) this.considerOffer(answer.shared);
  }

  /** Asks the platform again and tries an offer even if it failed before. */
  async check(signal: AbortSignal): Promise<void> {
    this.#expectKnown();
    await this.readOffer(signal);
    if (this.#journal.state !== 'idle' || this.#isBeginning || this.#offer === undefined) return;
    const { installedOffer: _, ...rest } = this.#journal;
    this.#journal = rest;
    this.#pace.waive();
    this.#forgetSettled();
    this.#news.tell();
  }

  /**
   * Begins what a person wishes; the rest goes its way like an offer's. An offer that only waits for the end of a lockout gives way to it.
   * @throws AgentError `firmware/busy` (retry) while another update is under way, `firmware/not-ready` (retry) while nothing is known of
   * the last one, and what is wrong with their wish.
   */
  async begin(wish: UpdateWish, signal: AbortSignal): Promise<void> {
    this.#expectKnown();
    const isFree = this.#journal.state === 'idle' || this.#steps.lockout.mayGiveWay;
    if (!isFree || this.#isTaken || this.#isBeginning || this.#wished !== undefined) throw this.#steps.lockout.busy();
    this.#isTaken = true;
    try {
      if (this.#journal.state !== 'idle') await this.#makeRoom(wish, signal);
      this.#wished = await chooseWish(this.#deps, wish, this.#steps.image, signal);
    } catch (error) {
      if (this.#journal.state === 'idle') await this.#clear(() => this.#steps.clearImage());
      throw error;
    } finally {
      this.#isTaken = false;
      this.#news.tell();
    }
  }

  /** Walks until the signal aborts. Reports the versions first, as after every boot. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#fault !== undefined) {
          await this.#deps.clock.sleep(READ_AGAIN_AFTER_MS, signal);
          if (!signal.aborted) await this.#load();
          continue;
        }
        await this.#telling.tell(signal).catch((error: unknown) => {
          if (signal.aborted || mustBeTold(this.#journal.state)) throw error;
          this.#deps.log.warn({ error: messageOf(error) }, 'the update goes on, though nobody can be told yet');
        });
        await this.#step(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.log.error(
          { state: this.#journal.state, error: messageOf(error) },
          'a step of the update was cut short',
        );
        await this.#deps.clock.sleep(PAUSE_AFTER_FAULT_MS, signal);
      }
    }
  }

  /** Reads the journal. It may say that a release is on trial, or that a command was begun: nothing is begun before. */
  async #loadNow(): Promise<void> {
    const { files, paths, kind, log } = this.#deps;
    try {
      await files.makeFolder(paths.firmware, 0o750);
      this.#journal = await readJournal(files, this.#journalPath, log);
      if (this.#journal.state === 'idle') await this.#clear(() => this.#steps.clearLeftovers());
      this.#forgetReplaced();
      if (this.#fault !== undefined && this.#fault !== NO_ANSWER) log.info({}, 'updates are possible again');
      this.#fault = undefined;
    } catch (error) {
      if (this.#fault === undefined || this.#fault === NO_ANSWER)
        log.error({ kind, error: messageOf(error) }, 'no update is possible while this cannot be read');
      this.#fault = messageOf(error);
    }
  }

  /** An offer that was deleted, or replaced, is another assignment when it comes back. */
  #forgetReplaced(): void {
    if (this.#wasRead && this.#offer?.fingerprint !== this.#journal.settledOffer) this.#forgetSettled();
  }

  /** Written by the walk alone: two writers would share the file beside the journal. */
  #forgetSettled(): void {
    const { settledOffer, ...rest } = this.#journal;
    if (settledOffer === undefined) return;
    this.#journal = rest;
    this.#isUnsaved = true;
  }

  #expectKnown(): void {
    if (this.#fault !== undefined) throw retryable('firmware/not-ready', this.#fault);
  }

  /** Checks the wish first: one that cannot be fulfilled must not cost the offer its download. */
  async #makeRoom(wish: UpdateWish, signal: AbortSignal): Promise<void> {
    await expectUsable(this.#deps, wish, signal);
    // The lockout may have ended meanwhile.
    if (!this.#steps.lockout.giveWay() && this.#journal.state !== 'idle') throw this.#steps.lockout.busy();
    const isIdle = (): true | undefined => this.#journal.state === 'idle' || undefined;
    if ((await this.#news.until(isIdle, signal)) === undefined) throw this.#steps.lockout.busy();
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { state, update } = this.#journal;
    if (state === 'idle' || update === undefined) {
      const beginning = await this.#awaitWork(signal);
      if (beginning === undefined) return;
      if (beginning === 'save') {
        await this.#save(this.#journal);
        return;
      }
      if (beginning.update.source === 'platform') {
        this.#pace.began();
        this.#offerBeganAtMs = this.#deps.clock.monotonicMs();
      }
      try {
        await this.#enter('idle', beginning.update, beginning.outcome);
        // Only now: until it is on disk it has not begun, and the status says so.
        if (beginning === this.#wished) this.#wished = undefined;
      } finally {
        this.#isBeginning = false;
      }
      return;
    }
    if (!(await this.#steps.allows(state, update, signal))) return;
    // Only what is begun counts as a try.
    if (state === 'applying')
      await this.#save({ ...this.#journal, update: { ...update, attempts: update.attempts + 1 } });
    if (state === 'requesting')
      await this.#save({ ...this.#journal, update: { ...update, askedInBoot: this.#deps.clock.bootId } });
    const outcome = await this.#steps.take(state, this.#journal.update ?? update, signal);
    if (outcome !== undefined) await this.#enter(state, this.#journal.update ?? update, outcome);
  }

  /** Waits for something to do; undefined when the signal aborted. */
  #awaitWork(signal: AbortSignal): Promise<Beginning | 'save' | undefined> {
    return this.#news.until(() => {
      const beginning = this.#isTaken ? undefined : (this.#wished ?? this.#nextOffer());
      if (beginning !== undefined) this.#isBeginning = true;
      return beginning ?? (this.#isUnsaved ? 'save' : undefined);
    }, signal);
  }

  #nextOffer(): Beginning | undefined {
    const beginning = chooseOffer(this.#deps, this.#journal, this.#offer);
    return beginning !== undefined && this.#pace.allows() ? beginning : undefined;
  }

  /** The next state, on disk; it is reported before its step. */
  async #enter(state: UpdateState, update: Update, { event, reason }: StepOutcome<UpdateEvent>): Promise<void> {
    const next = nextState(state, event);
    const counted = event === 'unanswered' ? { ...update, unanswered: update.unanswered + 1 } : update;
    const changed = reason === undefined ? counted : { ...counted, reason };
    if (event === 'withdrawn') await this.#clear(() => this.#steps.clearImage());
    if (next === 'idle') this.#receivedBytes = 0;
    const end = {
      state,
      update: changed,
      endedAtMs: this.#deps.clock.wallMs(),
      isOurs: isOurs(this.#deps, update.title),
    };
    await this.#save(
      next === 'idle' ? endedJournal(this.#journal, end) : { ...this.#journal, state: next, update: changed },
    );
    const fields = { from: state, event, state: next, version: update.version, reason };
    this.#deps.log[next === 'failed' ? 'error' : 'info'](
      fields,
      next === 'failed' ? 'the update failed' : 'the update goes on',
    );
  }

  async #save(journal: UpdateJournal): Promise<void> {
    this.#isUnsaved = false;
    await writeJournal(this.#deps.files, this.#journalPath, journal);
    if (journal.state !== this.#journal.state) this.#telling.stateChanged();
    this.#journal = journal;
    // An offer or withdrawal may have been told while the journal was written.
    if (this.#isUnsaved) this.#forgetSettled();
    else this.#forgetReplaced();
    this.#news.tell();
  }

  /** When this fails, the image stays until the next one replaces it. */
  async #clear(clear: () => Promise<void>): Promise<void> {
    await clear().catch((error: unknown) => {
      this.#deps.log.warn({ error: messageOf(error) }, 'an image that nobody needs could not be removed');
    });
  }
}
