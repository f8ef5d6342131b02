/** The steps of update-states.ts. Each can be begun again after a kill: what is done already is found done. */
import { join } from 'node:path';
import { hasCode, messageOf } from '../errors.ts';
import { isOurs } from './choose-update.ts';
import { ImageDownload } from './download-image.ts';
import type { FirmwareOffer } from './firmware-offer.ts';
import { CONFIRMED_NAME, currentVersion, guardLines, IMAGE_NAME, REQUEST_NAME, readTrial } from './guard-state.ts';
import type { ImageDigest } from './image-digest.ts';
import { proveRelease } from './release-trial.ts';
import { awaitSwap, leaveRequest, lookAtGuard } from './swap-request.ts';
import type { Update } from './update-journal.ts';
import { UPDATE_STATES, type UpdateEvent, type UpdateState } from './update-states.ts';
import type { StepOutcome, UpdaterDeps } from './updater-deps.ts';
import { expectAnnounced, expectFitting, expectSigned, readImageManifest, writePayload } from './verify-image.ts';

/** Undefined: the signal aborted, or the same step is to be begun again. */
export type Outcome = StepOutcome<UpdateEvent> | undefined;

/** What the steps ask of the updater while they run. */
export interface StepSurroundings {
  /** Fingerprint of what is offered now. */
  readonly offered: () => string | undefined;
  readonly readOffer: (signal: AbortSignal) => Promise<void>;
  readonly received: (bytes: number) => void;
}

const MOST_HANDLER_ATTEMPTS = 3;
/** The platform said that another image is assigned, and then again the same. */
const ASK_AGAIN_MS = 30_000;
/** After a request to go back this process should have been stopped. */
const RETURN_WITHIN_MS = 10 * 60_000;

export class UpdateSteps {
  readonly image: string;
  readonly #deps: UpdaterDeps;
  readonly #around: StepSurroundings;
  /** Sums of the image, when this very process downloaded it. */
  #digest: ImageDigest | undefined;
  #withdrawal: AbortController | undefined;

  constructor(deps: UpdaterDeps, around: StepSurroundings) {
    this.#deps = deps;
    this.#around = around;
    this.image = join(deps.paths.firmware, deps.kind === 'firmware' ? IMAGE_NAME : `${deps.kind}-${IMAGE_NAME}`);
  }

  /** The offer is no longer the one that is being downloaded. */
  withdraw(): void {
    this.#withdrawal?.abort();
  }

  async take(state: UpdateState, update: Update, signal: AbortSignal): Promise<Outcome> {
    switch (UPDATE_STATES[state].step) {
      case 'download':
        return this.#download(update, signal);
      case 'verify':
        return this.#verify(update, signal);
      case 'choose':
        return this.#choose(update);
      case 'request-swap':
        return this.#requestSwap(update);
      case 'await-swap':
        return awaitSwap(this.#deps, update, signal);
      case 'prove':
        return this.#prove(update, signal);
      case 'confirm':
        return this.#confirm(update);
      case 'request-return':
        return this.#requestReturn(update, signal);
      case 'run-handler':
        return this.#runHandler(update, signal);
      case 'record':
        return this.#clear();
      default:
        return undefined;
    }
  }

  async #download(update: Update, signal: AbortSignal): Promise<Outcome> {
    const { offer } = update;
    if (offer === undefined) return { event: 'failed', reason: 'there is nothing to download' };
    const withdrawal = new AbortController();
    this.#withdrawal = withdrawal;
    try {
      if (this.#around.offered() !== undefined && this.#around.offered() !== offer.fingerprint) return { event: 'withdrawn' };
      this.#digest = await this.#downloadImage(offer, AbortSignal.any([signal, withdrawal.signal]));
      return { event: 'done' };
    } catch (error) {
      if (signal.aborted) return undefined;
      if (withdrawal.signal.aborted) return { event: 'withdrawn' };
      if (!hasCode(error, 'firmware/offer-changed')) return { event: 'failed', reason: messageOf(error) };
      await this.#around.readOffer(signal);
      if (this.#around.offered() !== offer.fingerprint) return { event: 'withdrawn' };
      await this.#deps.clock.sleep(ASK_AGAIN_MS, signal);
      return undefined;
    } finally {
      this.#withdrawal = undefined;
    }
  }

  #downloadImage(offer: FirmwareOffer, signal: AbortSignal): Promise<ImageDigest> {
    const { files, clock, log, config, deviceApi, getUrl, kind, random } = this.#deps;
    const { chunkBytes, maxSizeBytes, downloadDeadlineMs, hours, rateLimitBytesPerS } = config;
    const settings = {
      chunkBytes,
      maxSizeBytes,
      downloadDeadlineMs,
      ...(hours === undefined ? {} : { hours }),
      ...(rateLimitBytesPerS === undefined ? {} : { rateLimitBytesPerS }),
    };
    const { title, version } = offer;
    const getChunk = (chunk: number, sizeBytes: number, ended: AbortSignal) =>
      deviceApi.getFirmware(
        { title, version, ...(kind === 'software' ? { kind } : {}), ...(sizeBytes === 0 ? {} : { sizeBytes, chunk }) },
        ended,
      );
    const onProgress = this.#around.received;
    const deps = { files, clock, log, settings, getChunk, getUrl, onProgress, ...(random === undefined ? {} : { random }) };
    return ImageDownload.run(deps, { offer, partPath: this.image, progressPath: `${this.image}.progress` }, signal);
  }

  async #verify(update: Update, signal: AbortSignal): Promise<Outcome> {
    const { files, log, config, arch } = this.#deps;
    const deps = { files, log, trustedKeys: config.trustedKeys, requireSignature: config.requireSignature };
    try {
      const file = await files.openPlain(this.image);
      try {
        const sums = update.offer === undefined ? undefined : await expectAnnounced(file, update.offer, this.#digest, deps, signal);
        const archiveBytes = await expectSigned(file, sums, deps);
        if (isOurs(this.#deps, update.title)) expectFitting(await readImageManifest(file, archiveBytes, signal), update.version, arch);
      } finally {
        await file.close();
      }
      return { event: 'done' };
    } catch (error) {
      if (signal.aborted) return undefined;
      return { event: 'failed', reason: messageOf(error) };
    } finally {
      this.#digest = undefined;
    }
  }

  #choose(update: Update): Outcome {
    const offered = this.#around.offered();
    if (update.offer !== undefined && offered !== undefined && offered !== update.offer.fingerprint) return { event: 'withdrawn' };
    return { event: isOurs(this.#deps, update.title) ? 'ours' : 'theirs' };
  }

  async #requestSwap(update: Update): Promise<Outcome> {
    const { files, paths } = this.#deps;
    if ((await lookAtGuard(this.#deps, update)) !== undefined) return { event: 'done' };
    if ((await currentVersion(files, paths)) === undefined)
      return { event: 'failed', reason: 'this agent does not run from an installed release' };
    await leaveRequest(this.#deps, {
      request: 'swap',
      id: update.id,
      version: update.version,
      source: update.source === 'kept' ? 'kept' : 'image',
    });
    return { event: 'done' };
  }

  async #prove(update: Update, signal: AbortSignal): Promise<Outcome> {
    const seen = await lookAtGuard(this.#deps, update);
    if (seen?.event === 'rolled-back') return { event: 'rolled-back', ...(seen.reason === undefined ? {} : { reason: seen.reason }) };
    if (seen?.event === 'confirmed') return { event: 'confirmed' };
    if (this.#deps.runningVersion !== update.version) {
      const reason = `release ${this.#deps.runningVersion} runs in its place`;
      return { event: 'rolled-back', reason };
    }
    const { clock, log, vitals, config } = this.#deps;
    return proveRelease({ clock, log, vitals, confirm: config.confirm }, signal);
  }

  async #confirm(update: Update): Promise<Outcome> {
    const { files, paths } = this.#deps;
    await files.write(join(paths.firmware, CONFIRMED_NAME), guardLines({ id: update.id }), 0o644);
    return { event: 'done' };
  }

  async #requestReturn(update: Update, signal: AbortSignal): Promise<Outcome> {
    const { files, paths, clock, runningVersion, requestRestart } = this.#deps;
    const reason = update.reason === undefined ? {} : { reason: update.reason };
    if (runningVersion !== update.version) return { event: 'rolled-back', ...reason };
    const previous = (await readTrial(files, paths))?.previous ?? update.from;
    // The helper may have been cut short after it moved `current`: then nothing but the restart is missing.
    if ((await currentVersion(files, paths)) === previous) requestRestart(`release ${previous} is to start`);
    else await leaveRequest(this.#deps, { request: 'swap', id: update.id, version: previous, source: 'kept' });
    await clock.sleep(RETURN_WITHIN_MS, signal);
    return signal.aborted ? undefined : { event: 'unanswered' };
  }

  async #runHandler(update: Update, signal: AbortSignal): Promise<Outcome> {
    const { config, kind, files, paths } = this.#deps;
    const handler = config.handlers.find((one) => one.title === update.title && one.package === kind);
    if (handler === undefined) return { event: 'failed', reason: `nothing here is called "${update.title}" any more` };
    if (update.attempts > MOST_HANDLER_ATTEMPTS) return { event: 'failed', reason: 'its command was cut short too often' };
    try {
      const file = await files.openPlain(this.image);
      const deps = { files, log: this.#deps.log, trustedKeys: config.trustedKeys, requireSignature: config.requireSignature };
      const bytes = await expectSigned(file, undefined, deps).finally(() => file.close());
      const payload = await writePayload(files, this.image, paths.firmware, bytes);
      await this.#deps.runHandler(handler, { file: payload, title: update.title, version: update.version }, signal);
      return { event: 'done' };
    } catch (error) {
      if (signal.aborted) return undefined;
      return { event: 'failed', reason: messageOf(error) };
    }
  }

  /** An update that is over leaves nothing behind that the next could take for its own. */
  async #clear(): Promise<Outcome> {
    const { files, paths } = this.#deps;
    for (const path of [`${this.image}.progress`, this.image, join(paths.firmware, 'payload'), join(paths.firmware, REQUEST_NAME)])
      await files.remove(path);
    this.#digest = undefined;
    return { event: 'done' };
  }
}
