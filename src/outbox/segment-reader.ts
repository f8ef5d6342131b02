/**
 * Reads bytes of segments. A segment that cannot be read is left alone for a while, and the others go on; when it still cannot be
 * after several tries, what can be read of it is taken page by page, and the rest is zeros, which is damage like any other.
 */
import { AgentError, systemCode } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { FileLayer, OpenFile } from './file-layer.ts';

/** The part of a segment that reading is about. */
export interface ReadableSegment {
  readonly name: string;
  /** Present after a failed read. */
  unreadable?: { readonly untilMs: number; readonly times: number };
}

/** A disk that comes back does so within seconds or not at all. */
const LEAVE_ALONE_MS = 60_000;
const TRIES = 3;
const PAGE_BYTES = 4096;

export interface SegmentReaderDeps {
  readonly files: FileLayer;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

export class SegmentReader {
  readonly #deps: SegmentReaderDeps;
  #open: { readonly segment: ReadableSegment; readonly file: OpenFile } | undefined;

  constructor(deps: SegmentReaderDeps) {
    this.#deps = deps;
  }

  /** Whether a segment may be read now. */
  isReadable(segment: ReadableSegment): boolean {
    return segment.unreadable === undefined || segment.unreadable.untilMs <= this.#deps.clock.monotonicMs();
  }

  /**
   * Up to `length` bytes of a segment.
   * @throws AgentError `outbox/unreadable` (retry): the segment is then not readable for a while.
   */
  async read(segment: ReadableSegment, from: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    try {
      const file = await this.#file(segment);
      const got = await this.#fill(segment, file, bytes, from);
      if (segment.unreadable !== undefined && segment.unreadable.times < TRIES) delete segment.unreadable;
      return bytes.subarray(0, got);
    } catch (cause) {
      const { clock, log } = this.#deps;
      const times = (segment.unreadable?.times ?? 0) + 1;
      segment.unreadable = { untilMs: clock.monotonicMs() + LEAVE_ALONE_MS, times };
      await this.forget(segment).catch(() => {});
      log.warn({ segment: segment.name, code: systemCode(cause), times }, 'outbox segment cannot be read; it is tried again later');
      throw new AgentError('outbox/unreadable', `cannot read ${segment.name}: ${systemCode(cause)}`, { recovery: 'retry', cause });
    }
  }

  /** Closes the file of a segment, if it is the one that is open. */
  async forget(segment: ReadableSegment): Promise<void> {
    if (this.#open?.segment === segment) await this.close();
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.file.close();
  }

  /** The file last read stays open: a drain reads it hundreds of times. */
  async #file(segment: ReadableSegment): Promise<OpenFile> {
    if (this.#open?.segment === segment) return this.#open.file;
    await this.close();
    const file = await this.#deps.files.open(`${this.#deps.folder}/${segment.name}`, 'read');
    this.#open = { segment, file };
    return file;
  }

  async #fill(segment: ReadableSegment, file: OpenFile, bytes: Buffer, from: number): Promise<number> {
    if ((segment.unreadable?.times ?? 0) < TRIES) return file.read(bytes, from);
    bytes.fill(0);
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + PAGE_BYTES - ((from + at) % PAGE_BYTES));
      await file.read(bytes.subarray(at, end), from + at).catch(() => bytes.fill(0, at, end));
      at = end;
    }
    return bytes.length;
  }
}
