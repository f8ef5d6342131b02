/** The steps of update-states.ts. Each can be begun again after a kill: what is done already is found done. */
import { join } from 'node:path';
import { messageOf, retryable } from '../errors/agent-error.ts';
import type { FileBeginning } from '../platform/device-api.ts';
import { builtInOf, handlerOf, isOurs, runningVersion } from './choose-update.ts';
import { ImageDownload } from './download-image.ts';
import { withPlain } from './file-pieces.ts';
import type { FirmwareOffer, OfferStanding } from './firmware-offer.ts';
import { CONFIRMED_NAME, currentVersion, guardLines, HANDED_OVER_NAME, IMAGE_NAME, readTrial } from './guard-state.ts';
import type { ImageSums } from './image-sums.ts';
import { LockoutWait } from './lockout-wait.ts';
import { readImageManifest } from './release-archive.ts';
import { SIGNATURE_FRAME_BYTES } from './release-signature.ts';
import { proveRelease } from './release-trial.ts';
import { awaitSwap, leaveRequest, lookAtGuard, withdrawRequest } from './swap-request.ts';
import type { Update } from './update-journal.ts';
import { UPDATE_STATES, type UpdateEvent, type UpdateState, type UpdateStep } from './update-states.ts';
import type { UpdateTurn } from './update-turns.ts';
import type { BuiltInHandler, StepOutcome, UpdaterDeps } from './updater-deps.ts';
import { expectAnnounced, expectFitting, expectSigned, sumsOf, type VerifyDeps, writePayload } from './verify-image.ts';

/** Undefined: the signal aborted, or the same step is to be begun again. */
export type Outcome = StepOutcome<UpdateEvent> | undefined;

/** Questions of the running steps to the updater. */
export interface StepSurroundings {
  /** Standing of the offer with this fingerprint; `unread` until the platform was asked since the start. */
  readonly standing: (fingerprint: string) => OfferStanding;
  readonly readOffer: (signal: AbortSignal) => Promise<void>;
  readonly received: (bytes: number) => void;
  /** Told why a download, or a built-in handler, waits; undefined when it goes on. */
  readonly waits: (reason: string | undefined) => void;
}

/** Times that a command of the gateway's is begun: a device with its own place on the platform is a person's concern after one that was cut short. */
const MAX_ATTEMPTS = 3;
const CUT_SHORT = 'its command was cut short: look at the device, then assign the package again, with another tag';
/** While the platform does not answer. */
const ASK_AGAIN_MS = 30_000;
/** After a request to go back, this process should have been stopped within this time. */
const RETURN_WITHIN_MS = 10 * 60_000;

export class UpdateSteps {
  readonly image: string;
  readonly lockout: LockoutWait;
  /** The file for the handler's command. */
  readonly #payload: string;
  readonly #deps: UpdaterDeps;
  readonly #around: StepSurroundings;
  #withdrawal: AbortController | undefined;
  /** Sums of the image, when this process downloaded it; used once. */
  #sums: ImageSums | undefined;

  constructor(deps: UpdaterDeps, around: StepSurroundings) {
    this.#deps = deps;
    this.#around = around;
    this.lockout = new LockoutWait(deps);
    // Both kinds of package may be under way at once in this one folder: each has files of its own.
    const own = (name: string): string =>
      join(deps.paths.firmware, deps.kind === 'firmware' ? name : `${deps.kind}-${name}`);
    this.image = own(IMAGE_NAME);
    this.#payload = own('payload');
  }

  /** The offer is no longer the one that is being downloaded. */
  withdraw(): void {
    this.#withdrawal?.abort();
  }

  /** Resolves when the step of a state may be taken: false when the signal has aborted meanwhile. */
  allows(state: UpdateState, update: Update, signal: AbortSignal): Promise<boolean> {
    const { step } = UPDATE_STATES[state];
    // A built-in handler waits by itself: what it waits for may be its own work.
    if (step === 'run-handler' && builtInOf(this.#deps, update.title) !== undefined)
      return Promise.resolve(!signal.aborted);
    return this.lockout.allows(step, update, () => this.#isWithdrawn(update), signal);
  }

  /** Only after `allows`. */
  async take(state: UpdateState, update: Update, signal: AbortSignal): Promise<Outcome> {
    const steps: Readonly<Record<UpdateStep, () => Promise<Outcome>>> = {
      download: () => this.#download(update, signal),
      verify: () => this.#verify(update, signal),
      choose: () => this.#choose(update, signal),
      'request-swap': () => this.#requestSwap(update),
      'await-swap': () => awaitSwap(this.#deps, update, signal),
      prove: () => this.#prove(update, signal),
      confirm: () => this.#confirm(update),
      'request-return': () => this.#requestReturn(update, signal),
      'run-handler': () => this.#runHandler(update, signal),
      record: () => this.#clear(update),
      // Resolving with nothing would have the caller take this step again at once, for ever.
      'await-offer': () => Promise.reject(retryable('firmware/no-step', 'no update is under way')),
    };
    return steps[UPDATE_STATES[state].step]();
  }

  async #download(update: Update, signal: AbortSignal): Promise<Outcome> {
    const { offer } = update;
    if (offer === undefined) return { event: 'failed', reason: 'there is nothing to download' };
    if (this.#isWithdrawn(update)) return { event: 'withdrawn' };
    const withdrawal = new AbortController();
    this.#withdrawal = withdrawal;
    const either = AbortSignal.any([signal, withdrawal.signal]);
    let turn: UpdateTurn | undefined;
    const outcome = await outcomeOf(signal, async () => {
      turn = await this.#turn(either);
      const until = turn === undefined ? either : AbortSignal.any([either, turn.isOver]);
      this.#sums = await this.#downloadImage(offer, turn, until);
    });
    turn?.end();
    this.#withdrawal = undefined;
    if (outcome?.event !== 'failed') return outcome;
    if (withdrawal.signal.aborted) return { event: 'withdrawn' };
    // It goes on where it was, once it has its turn again.
    return turn?.isOver.aborted === true ? undefined : outcome;
  }

  /** Waits until no other download goes before. */
  async #turn(signal: AbortSignal): Promise<UpdateTurn | undefined> {
    const { takeTurn } = this.#deps;
    if (takeTurn === undefined) return undefined;
    const { waits } = this.#around;
    waits('another download goes before');
    return await takeTurn(signal).finally(() => waits(undefined));
  }

  #downloadImage(offer: FirmwareOffer, turn: UpdateTurn | undefined, signal: AbortSignal): Promise<ImageSums> {
    const { files, clock, log, config, deviceApi, getUrl, linkWaits, kind } = this.#deps;
    const { title, version } = offer;
    const getChunk = (chunk: number, sizeBytes: number, ended: AbortSignal) =>
      deviceApi.getFirmware(
        { title, version, ...(kind === 'software' ? { kind } : {}), ...(sizeBytes === 0 ? {} : { sizeBytes, chunk }) },
        ended,
      );
    const { received, waits: onWaits, readOffer } = this.#around;
    const onProgress = (bytes: number): void => {
      turn?.progressed();
      received(bytes);
    };
    const builtIn = builtInOf(this.#deps, title);
    const hosts = builtIn !== undefined || isOurs(this.#deps, title) ? undefined : handlerOf(this.#deps, title)?.source;
    const deps = {
      files,
      clock,
      log,
      settings: builtIn === undefined ? config : { ...config, maxSizeBytes: imageBytes(builtIn, config) },
      getChunk,
      getUrl: (url: string, beginning: FileBeginning | undefined, ended: AbortSignal) =>
        getUrl(url, { beginning, hosts }, ended),
      linkWaits,
      readOffer,
      onProgress,
      onWaits,
    };
    return ImageDownload.run(deps, { offer, partPath: this.image, progressPath: `${this.image}.progress` }, signal);
  }

  async #verify(update: Update, signal: AbortSignal): Promise<Outcome> {
    const deps = this.#deps;
    const { offer } = update;
    const downloaded = this.#sums;
    this.#sums = undefined;
    return outcomeOf(signal, async () => {
      await withPlain(deps.files, this.image, async (file) => {
        const sums = await sumsOf(file, offer?.algorithm ?? 'SHA256', downloaded, signal);
        if (offer !== undefined) expectAnnounced(sums, offer, deps.log);
        const archiveBytes = await expectSigned(file, this.#signing(update), sums);
        if (isOurs(deps, update.title))
          expectFitting(await readImageManifest(file, archiveBytes, signal), update.version, deps.arch);
      });
    });
  }

  /** Chooses the way on once the platform has said that it still offers the image: it may have been withdrawn while this agent was down. */
  async #choose(update: Update, signal: AbortSignal): Promise<Outcome> {
    const { offer } = update;
    if (this.#isWithdrawn(update)) return { event: 'withdrawn' };
    if (offer !== undefined && this.#around.standing(offer.fingerprint) === 'unread') {
      await this.#around.readOffer(signal).catch(() => {});
      if (this.#around.standing(offer.fingerprint) === 'unread') {
        await this.#deps.clock.sleep(ASK_AGAIN_MS, signal);
        return undefined;
      }
    }
    if (this.#isWithdrawn(update)) return { event: 'withdrawn' };
    return { event: isOurs(this.#deps, update.title) ? 'ours' : 'theirs' };
  }

  async #requestSwap(update: Update): Promise<Outcome> {
    const { files, paths } = this.#deps;
    if ((await lookAtGuard(this.#deps, update)) !== undefined) return { event: 'done' };
    if ((await currentVersion(files, paths)) === undefined)
      return { event: 'failed', reason: 'this agent does not run from an installed release' };
    const { id, version } = update;
    await leaveRequest(this.#deps, {
      request: 'swap',
      id,
      version,
      source: update.source === 'kept' ? 'kept' : 'image',
    });
    return { event: 'done' };
  }

  async #prove(update: Update, signal: AbortSignal): Promise<Outcome> {
    const seen = await lookAtGuard(this.#deps, update);
    if (seen?.event === 'rolled-back' || seen?.event === 'confirmed')
      return {
        event: seen.event,
        reason: seen.reason,
      };
    const { clock, config, release } = this.#deps;
    if (release?.runningVersion !== update.version)
      return { event: 'rolled-back', reason: `release ${runningVersion(this.#deps)} runs in its place` };
    return proveRelease({ clock, config, vitals: release.vitals }, signal);
  }

  async #confirm(update: Update): Promise<Outcome> {
    const { files, paths } = this.#deps;
    await files.write(join(paths.firmware, CONFIRMED_NAME), guardLines({ id: update.id }), 0o644);
    return { event: 'done' };
  }

  async #requestReturn(update: Update, signal: AbortSignal): Promise<Outcome> {
    const { files, paths, clock, release } = this.#deps;
    if (release?.runningVersion !== update.version)
      return {
        event: 'rolled-back',
        reason: update.reason,
      };
    const previous = (await readTrial(files, paths))?.previous ?? update.from;
    // The helper may have been cut short after it moved `current`: then nothing but the restart is missing.
    if ((await currentVersion(files, paths)) === previous) release.requestRestart(`release ${previous} is to start`);
    else await leaveRequest(this.#deps, { request: 'swap', id: update.id, version: previous, source: 'kept' });
    await clock.sleep(RETURN_WITHIN_MS, signal);
    return signal.aborted ? undefined : { event: 'unanswered' };
  }

  async #runHandler(update: Update, signal: AbortSignal): Promise<Outcome> {
    const { release } = this.#deps;
    const builtIn = builtInOf(this.#deps, update.title);
    if (builtIn !== undefined) return this.#installByItself(builtIn, update, signal);
    const handler = handlerOf(this.#deps, update.title);
    if (handler === undefined) return { event: 'failed', reason: `nothing here is called "${update.title}" any more` };
    const isCutShort = update.attempts > (release === undefined ? 1 : MAX_ATTEMPTS);
    if (isCutShort)
      return { event: 'failed', reason: release === undefined ? CUT_SHORT : 'its command was cut short too often' };
    const { title, version } = update;
    return outcomeOf(signal, async () => {
      await this.#layPayload(update);
      await this.#deps.runHandler(handler, { file: this.#payload, title, version }, signal);
    });
  }

  async #installByItself(builtIn: BuiltInHandler, update: Update, signal: AbortSignal): Promise<Outcome> {
    const { id, title, version } = update;
    const { waits } = this.#around;
    const around = { isWithdrawn: () => this.#isWithdrawn(update), waits };
    let installed: 'installed' | 'withdrawn' | undefined;
    const outcome = await outcomeOf(signal, async () => {
      await this.#layPayload(update);
      installed = await builtIn.install({ id, file: this.#payload, title, version }, around, signal);
    });
    waits(undefined);
    return installed === 'withdrawn' ? { event: 'withdrawn' } : outcome;
  }

  async #layPayload(update: Update): Promise<void> {
    const { files } = this.#deps;
    const bytes = await withPlain(files, this.image, (file) => expectSigned(file, this.#signing(update)));
    await writePayload(files, this.image, this.#payload, bytes);
  }

  /** A file without a checksum must be signed, whatever else need not be. */
  #signing({ title, offer }: Update): VerifyDeps {
    const { files, log, config } = this.#deps;
    const isOwn = isOurs(this.#deps, title) || builtInOf(this.#deps, title) !== undefined;
    const own = isOwn ? undefined : handlerOf(this.#deps, title)?.requireSignature;
    const hasSum = offer === undefined || offer.checksum !== undefined;
    return {
      files,
      log,
      config: { trustedKeys: config.trustedKeys, requireSignature: !hasSum || (own ?? config.requireSignature) },
    };
  }

  #isWithdrawn({ id, offer }: Update): boolean {
    return (
      offer !== undefined && (this.lockout.gaveWay === id || this.#around.standing(offer.fingerprint) === 'withdrawn')
    );
  }

  /** An update that is over leaves nothing behind that the next could take for its own. */
  async #clear(update: Update): Promise<Outcome> {
    await this.clearImage();
    await withdrawRequest(this.#deps, update.id);
    return { event: 'done' };
  }

  /** Takes away the image and what was made of it. */
  async clearImage(): Promise<void> {
    for (const path of [`${this.image}.progress`, this.image, this.#payload]) await this.#deps.files.remove(path);
    this.#sums = undefined;
  }

  /** As `clearImage`, at the start; also removes a person's file whose command was cut short. */
  async clearLeftovers(): Promise<void> {
    await this.clearImage();
    if (this.#deps.kind === 'firmware')
      await this.#deps.files.remove(join(this.#deps.paths.firmware, HANDED_OVER_NAME));
  }
}

function imageBytes({ maxPayloadBytes }: BuiltInHandler, { maxSizeBytes }: UpdaterDeps['config']): number {
  return Math.min(maxSizeBytes, maxPayloadBytes + SIGNATURE_FRAME_BYTES);
}

/** `done`, or `failed` with the reason; undefined when the signal aborted. */
async function outcomeOf(signal: AbortSignal, work: () => Promise<void>): Promise<Outcome> {
  try {
    await work();
    return { event: 'done' };
  } catch (error) {
    return signal.aborted ? undefined : { event: 'failed', reason: messageOf(error) };
  }
}
