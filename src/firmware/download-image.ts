/**
 * Downloads an image to a part file, chunk by chunk at its place, and begins after a kill or a power cut where whole chunks end. Each piece
 * is added up as it comes, and written while the next one comes; the next chunks are asked for before the last are written and synced.
 * Memory holds these two pieces alone, and what the next request's connection has received of its answer.
 *
 *   getFirmware(1, 2, 4 or 8 chunks) ─► pieces ─► image.part      a server that sends more than was asked for has sent the whole file:
 *        ▲     │ cut, busy: back off, the rest again              its answer to chunk 0 is streamed as such
 *        └─────┘
 */
import { dirname } from 'node:path';
import { AgentError, hasCode, messageOf, refusal, retryable } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import type { OpenFile } from '../host/files.ts';
import type { FirmwareBody } from '../platform/device-api.ts';
import type { DownloadDeps, DownloadTarget } from './download-deps.ts';
import { type DownloadProgress, keptBytes, readProgress, writeProgress } from './download-progress.ts';
import { DownloadSchedule, WindowClosed } from './download-schedule.ts';
import { ImageSums } from './image-sums.ts';

/** Between syncs: what a power cut costs at most, beyond the chunk in hand. */
const SYNC_EVERY_BYTES = 8 * 1024 * 1024;
/** Chunks that one request asks for at most. Of an answer that is cut, whole chunks are kept. */
const MAX_CHUNKS_A_REQUEST = 8;
const SPARE_BYTES = 32 * 1024 * 1024;
const MAX_BAD_CHUNKS = 5;
/** One after the other; with the backoff they take some minutes, in which a file may still be put in its place. */
const MAX_REFUSALS = 10;
const BACKOFF = { firstMs: 1_000, maxMs: 5 * 60_000 };

export class ImageDownload {
  readonly #deps: DownloadDeps;
  readonly #target: DownloadTarget;
  readonly #part: OpenFile;
  /** Sums of the part file's bytes so far; after a cut they begin again, and are caught up from the disk at the end. */
  #sums: ImageSums;
  readonly #schedule: DownloadSchedule;
  readonly #backoff: Backoff;
  #mode: DownloadProgress['mode'] = 'chunks';
  /** The answer to the request at `#at`, when it was asked for already. */
  #ahead: Promise<FirmwareBody> | undefined;
  /** Whole chunks so far. */
  #at = 0;
  /** The ETag of a whole file whose download has begun: with it the rest can be asked for. */
  #validator: string | undefined;
  #syncedBytes = 0;
  #badChunks = 0;
  /** One for a server that gives less than it is asked for. */
  #chunksAtMost = MAX_CHUNKS_A_REQUEST;
  #refusals = 0;

  private constructor(deps: DownloadDeps, target: DownloadTarget, part: OpenFile, elapsedMs: number) {
    this.#deps = deps;
    this.#target = target;
    this.#part = part;
    this.#sums = new ImageSums(target.offer.algorithm);
    const leftBytes = (): number => Math.max(0, (target.offer.sizeBytes ?? 0) - this.#at);
    const linkWaits = (): string | undefined => deps.linkWaits?.(leftBytes());
    this.#schedule = new DownloadSchedule({ ...deps.settings, linkWaits }, deps.clock, elapsedMs);
    this.#backoff = new Backoff(BACKOFF, deps.clock);
  }

  /**
   * Downloads the whole image; resolves once it is durable, with its sums.
   * @throws PlatformError `platform/refused`, `platform/not-found` for a file that is offered and not given, AgentError `firmware/no-space`, `firmware/too-large`, `firmware/wrong-size`, `firmware/download-deadline` (drop), and the
   * signal's reason.
   */
  static async run(deps: DownloadDeps, target: DownloadTarget, signal: AbortSignal): Promise<ImageSums> {
    const { files, settings, clock } = deps;
    const { offer, partPath, progressPath } = target;
    const progress = await readProgress(files, progressPath, {
      fingerprint: offer.fingerprint,
      chunkBytes: settings.chunkBytes,
    });
    const part = await files.openPart(partPath, 0o600);
    try {
      const download = new ImageDownload(deps, target, part, progress?.elapsedMs ?? 0);
      if (progress !== undefined) {
        download.#mode = progress.mode;
        download.#validator = progress.validator;
        download.#at = Math.min(
          keptBytes(progress, await part.size(), clock.bootId),
          offer.sizeBytes ?? settings.maxSizeBytes,
        );
      }
      await download.#expectRoom(offer.sizeBytes);
      await download.#truncate();
      await download.#note();
      await download.#sums.catchUp(part, download.#at, signal);
      await download.#run(signal);
      await download.#sums.catchUp(part, download.#at, signal);
      return download.#sums;
    } finally {
      await part.close();
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#schedule.waitForWindow(signal, this.#deps.onWaits);
      signal.throwIfAborted();
      try {
        await this.#schedule.within((within) => this.#chunks(within), signal);
        return await this.#part.datasync();
      } catch (error) {
        signal.throwIfAborted();
        await this.#recover(error, signal);
      }
    }
  }

  /** Requests until the image is whole. @throws what a request throws; a next one that is under way then is ended. */
  async #chunks(signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    try {
      while (!(await this.#next(either))) {
        this.#backoff.reset();
        if (this.#at - this.#syncedBytes >= SYNC_EVERY_BYTES) await this.#note();
        this.#schedule.expectOpen();
        signal.throwIfAborted();
      }
    } finally {
      ended.abort();
      this.#ahead?.then(discard).catch(() => {});
      this.#ahead = undefined;
    }
  }

  /** One request; true when the image is whole. */
  async #next(signal: AbortSignal): Promise<boolean> {
    const { sizeBytes } = this.#target.offer;
    if (sizeBytes !== undefined && this.#at === sizeBytes) return true;
    const body = await this.#request(signal);
    try {
      if (this.#mode === 'whole' || (body.lengthBytes ?? 0) > this.#askedBytes(this.#at)) await this.#beginWhole(body);
    } catch (error) {
      await discard(body);
      throw error;
    }
    const received = await this.#receive(body, signal);
    const isLast = this.#isLast(received);
    this.#at += received;
    this.#badChunks = 0;
    this.#refusals = 0;
    return sizeBytes === undefined ? isLast : this.#at === sizeBytes;
  }

  /**
   * Returns how many bytes the request at a place asks for: as the server knows places by index and size, a power of two of chunks that
   * divides the place. The first requests are small.
   */
  #askedBytes(at: number): number {
    const { chunkBytes } = this.#deps.settings;
    const place = at / chunkBytes;
    let chunks = 1;
    const most = Math.min(this.#chunksAtMost, place, SYNC_EVERY_BYTES / chunkBytes);
    while (2 * chunks <= most && place % (2 * chunks) === 0) chunks *= 2;
    return chunks * chunkBytes;
  }

  /** True of an answer at `#at` behind which nothing is. */
  #isLast(received: number): boolean {
    return this.#mode === 'whole' || received < this.#askedBytes(this.#at);
  }

  async #request(signal: AbortSignal): Promise<FirmwareBody> {
    const { url } = this.#target.offer;
    try {
      if (this.#mode === 'chunks') {
        const ahead = this.#ahead;
        this.#ahead = undefined;
        return await (ahead ?? this.#getAt(this.#at, signal));
      }
      return await this.#deps.getChunk(0, 0, signal);
    } catch (error) {
      if (!hasCode(error, 'platform/not-found') || url === undefined) throw error;
      if (this.#mode === 'chunks') await this.#beginAgain();
      const validator = this.#validator;
      return this.#deps.getUrl(
        url,
        this.#at === 0 || validator === undefined ? undefined : { bytes: this.#at, validator },
        signal,
      );
    }
  }

  #getAt(at: number, signal: AbortSignal): Promise<FirmwareBody> {
    const bytes = this.#askedBytes(at);
    return this.#deps.getChunk(at / bytes, bytes, signal);
  }

  /** Writes an answer to its place; one that is cut is asked for again, or its rest where the server can send that. */
  async #receive(body: FirmwareBody, signal: AbortSignal): Promise<number> {
    const at = this.#at;
    let received = 0;
    let written = 0;
    let writing = Promise.resolve();
    try {
      for await (const piece of body.stream) {
        signal.throwIfAborted();
        this.#allow(received + piece.length);
        await writing;
        const end = received + piece.length;
        writing = this.#part.write(piece, at + received).then(() => {
          written = end;
        });
        // Awaited below; until then its fault is not an unhandled one.
        writing.catch(() => {});
        if (this.#sums.bytes === at + received) this.#sums.add(piece);
        received = end;
        this.#deps.onProgress?.(at + received);
        if (this.#validator !== undefined && at + received - this.#syncedBytes >= SYNC_EVERY_BYTES) {
          await writing;
          await this.#note(at + received);
        }
        await this.#schedule.pay(piece.length, signal);
      }
      this.#expectWhole(received, body.lengthBytes);
      this.#askAhead(received, signal);
      await writing;
      return received;
    } catch (error) {
      await writing.catch(() => {});
      if (this.#validator !== undefined) this.#at = at + written;
      else if (this.#mode === 'chunks' && !hasCode(error, 'firmware/short-answer'))
        this.#at = at + written - (written % this.#deps.settings.chunkBytes);
      await this.#truncate();
      throw error;
    }
  }

  /** Asks for what is behind a whole answer that has come, where there is something and it may come now. */
  #askAhead(received: number, signal: AbortSignal): void {
    const at = this.#at + received;
    if (this.#isLast(received) || at === this.#target.offer.sizeBytes) return;
    if (!this.#schedule.isOpen) return;
    this.#ahead = this.#getAt(at, signal);
    // Awaited when the answer before is written; until then its fault is not an unhandled one.
    this.#ahead.catch(() => {});
  }

  /** Cuts the part file to what counts. */
  async #truncate(): Promise<void> {
    await this.#part.truncate(this.#at);
    if (this.#sums.bytes > this.#at) this.#sums = new ImageSums(this.#target.offer.algorithm);
  }

  /** Called before a piece is written, with the bytes of this answer, it included. */
  #allow(received: number): void {
    if (this.#mode === 'chunks' && received > this.#askedBytes(this.#at)) {
      if (this.#at > 0) throw wrongAnswer('more came than was asked for');
      this.#mode = 'whole';
    }
    this.#expectFits(this.#at + received);
  }

  #expectFits(bytes: number): void {
    const { sizeBytes } = this.#target.offer;
    if (sizeBytes !== undefined && bytes > sizeBytes)
      throw refusal(
        'firmware/wrong-size',
        `the image has another size than announced: announced were ${sizeBytes} bytes, the server sends more`,
      );
    const { maxSizeBytes } = this.#deps.settings;
    if (bytes > maxSizeBytes)
      throw refusal('firmware/too-large', `the image is larger than the ${maxSizeBytes} bytes that are allowed`);
  }

  #expectWhole(received: number, lengthBytes: number | undefined): void {
    const { sizeBytes } = this.#target.offer;
    const at = this.#at + received;
    if (lengthBytes !== undefined && received !== lengthBytes)
      throw wrongAnswer(`${received} of ${lengthBytes} bytes came`);
    const isLast = this.#isLast(received);
    if (isLast && sizeBytes !== undefined && at < sizeBytes)
      throw wrongAnswer(`the file ends at ${at} of ${sizeBytes} bytes`);
    if (isLast && at === 0) throw wrongAnswer('the file is empty');
  }

  /** Takes the file from its beginning, or what is missing of it. The noted progress never claims more than the part file holds. */
  async #beginWhole({ startsAt = 0, lengthBytes, validator }: FirmwareBody): Promise<void> {
    // A server that knows no chunks has said so at the first.
    if (this.#mode === 'chunks' && this.#at > 0) throw wrongAnswer('more came than was asked for');
    if (this.#mode === 'chunks') await this.#beginAgain();
    const goesOn = startsAt === this.#at;
    if (!goesOn) {
      this.#at = 0;
      await this.#truncate();
    }
    await this.#expectRoom(lengthBytes === undefined ? undefined : startsAt + lengthBytes);
    if (goesOn && validator === this.#validator) return;
    this.#validator = validator;
    await this.#note();
  }

  async #beginAgain(): Promise<void> {
    this.#mode = 'whole';
    this.#validator = undefined;
    this.#at = 0;
    await this.#truncate();
    await this.#note();
  }

  /** Waits before the next attempt. @throws what no attempt can mend. */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (error instanceof WindowClosed) return this.#note();
    const isRefused = hasCode(error, 'platform/refused') || hasCode(error, 'platform/not-found');
    if (isRefused) await this.#offered(signal);
    signal.throwIfAborted();
    if (isRefused && this.#refusals > MAX_REFUSALS) throw error;
    const recovery = isRefused ? 'retry' : error instanceof AgentError ? error.recovery : 'drop';
    if (hasCode(error, 'firmware/short-answer')) {
      this.#badChunks += 1;
      this.#chunksAtMost = 1;
      if (this.#badChunks > MAX_BAD_CHUNKS) throw error;
    }
    if (recovery !== 'retry' && recovery !== 'hold') throw error;
    this.#schedule.fault = messageOf(error);
    const delayMs = this.#backoff.nextMs();
    this.#deps.log.warn(
      { bytes: this.#at, error: messageOf(error), delayMs: Math.round(delayMs) },
      'a part of the image did not arrive',
    );
    // With the time that was spent: restarts do not renew the deadline.
    await this.#note();
    await this.#deps.clock.sleep(delayMs, signal);
  }

  /** Asks whether the refused file is still offered. Only then the refusal counts: until the platform has said so, another may be. */
  async #offered(signal: AbortSignal): Promise<void> {
    await this.#deps.readOffer(signal).then(
      () => {
        this.#refusals += 1;
      },
      () => {},
    );
  }

  /** Makes what is there durable and remembers it. */
  async #note(bytes = this.#at): Promise<void> {
    const { files, settings, clock } = this.#deps;
    await this.#part.datasync();
    await writeProgress(files, this.#target.progressPath, {
      fingerprint: this.#target.offer.fingerprint,
      mode: this.#mode,
      chunkBytes: settings.chunkBytes,
      validator: this.#validator,
      syncedBytes: bytes,
      bootId: clock.bootId,
      elapsedMs: this.#schedule.elapsedMs,
    });
    this.#syncedBytes = bytes;
  }

  async #expectRoom(wholeBytes = 0): Promise<void> {
    this.#expectFits(wholeBytes);
    const needed = wholeBytes - this.#at + SPARE_BYTES;
    const free = await this.#deps.files.freeBytes(dirname(this.#target.partPath));
    if (free < needed) throw refusal('firmware/no-space', `the download needs ${needed} bytes, ${free} are free`);
  }
}

/** Ends an answer that nobody wants; its stream releases the connection only once it was begun. */
async function discard(body: FirmwareBody): Promise<void> {
  const pieces = body.stream[Symbol.asyncIterator]();
  await pieces.next().catch(() => undefined);
  await pieces.return?.();
}

const wrongAnswer = (what: string): AgentError =>
  retryable('firmware/short-answer', `part of the image is missing: ${what}`);
