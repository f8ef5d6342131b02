/**
 * Reads bytes of segments. A segment that cannot be read is left alone for a while, and the others go on. A page of it that still cannot be read
 * long after, although pages around it can, counts as zeros, which is damage like any other (delivery/damage.ts). A disk that gives nothing at all
 * of a segment is no damage: it may give all of it tomorrow.
 */
import { AgentError, systemCode } from '../../errors/agent-error.ts';
import { isLost, type OpenFile } from '../../host/files.ts';
import type { OutboxPlace } from './outbox-place.ts';
import type { ReadingTurns } from './reading-turns.ts';

/** The part of a segment that reading is about. */
export interface ReadableSegment {
  readonly name: string;
  /** Present while pages of it are not read. */
  unreadable?: Unreadable;
}

export interface Unreadable {
  /** It is left alone until then. */
  untilMs: number;
  /** Since when the disk gives nothing of it; absent when it gave some since the last failure. */
  nothingSinceMs?: number;
  /** Pages that were not read since, by their number. */
  readonly pages: Map<number, UnreadPage>;
}

/** A page that the disk did not give. What is counted are faults of the disk; the segment is left alone between them. */
interface UnreadPage {
  readonly sinceMs: number;
  tries: number;
  /** It failed by itself, too, after it was tried for long enough. */
  isAloneToo?: true;
}

/** Bytes of a segment, the end excluded. */
interface Span {
  readonly from: number;
  readonly to: number;
}

const LEAVE_ALONE_MS = 60_000;
/**
 * A page counts as lost only when the disk has had time to be reset and to cool down, and was asked dozens of times. Mostly it is asked for many
 * pages at once, of which one is bad; so in the end each of them is asked for alone, twice.
 */
const GIVEN_UP_AFTER_MS = 45 * 60_000;
const GIVEN_UP_AFTER_TRIES = 24;
/** From then on a dead disk is asked seldom, because each answer may take minutes; when it has given nothing for a day, all of it counts as lost. */
const LEAVE_ALONE_LONGER_MS = 10 * 60_000;
const HOPELESS_AFTER_MS = 24 * 3_600_000;
const PAGE_BYTES = 4096;

export interface SegmentReaderDeps extends OutboxPlace {
  readonly reading: Pick<ReadingTurns, 'advanced'>;
}

export class SegmentReader {
  readonly #deps: SegmentReaderDeps;
  #open: { readonly segment: ReadableSegment; readonly file: OpenFile } | undefined;

  constructor(deps: SegmentReaderDeps) {
    this.#deps = deps;
  }

  /** True when the segment may be read now. */
  isReadable(segment: ReadableSegment): boolean {
    return segment.unreadable === undefined || segment.unreadable.untilMs <= this.#deps.clock.monotonicMs();
  }

  /** Up to `length` bytes. @throws AgentError `outbox/unreadable` (retry): the segment is then not readable for a while. */
  async read(segment: ReadableSegment, from: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    try {
      const file = await this.#file(segment);
      return bytes.subarray(0, await this.#fill(segment, file, bytes, from));
    } catch (cause) {
      this.#failed(segment, { from, to: from + length }, cause);
      this.forget(segment);
      this.#deps.log.warn(
        { segment: segment.name, code: systemCode(cause) },
        'outbox segment cannot be read; it is tried again later',
      );
      throw new AgentError('outbox/unreadable', `cannot read ${segment.name}: ${systemCode(cause)}`, {
        recovery: 'retry',
        cause,
      });
    }
  }

  /** Closes the file of a segment, if it is the one that is open; nobody waits for that, as it ends behind a read that hangs. */
  forget(segment: ReadableSegment): void {
    if (this.#open?.segment === segment) void this.close().catch(() => {});
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
    const whole = { from, to: from + bytes.length };
    if (!this.#isTriedForLong(segment, whole)) {
      const got = await this.#give(file, bytes, from);
      gave(segment, whole);
      return got;
    }
    if (!this.#givesNothingFor(segment, HOPELESS_AFTER_MS)) await this.#expectSome(segment, file, whole);
    bytes.fill(0);
    let fault: unknown;
    for (let at = from; at < whole.to; ) {
      const page = { from: at, to: Math.min(whole.to, at + PAGE_BYTES - (at % PAGE_BYTES)) };
      const into = bytes.subarray(page.from - from, page.to - from);
      try {
        await this.#give(file, into, at);
        gave(segment, page);
      } catch (error) {
        if (!this.#givesNothingFor(segment, HOPELESS_AFTER_MS) && !this.#isGivenUp(segment, page)) fault = error;
      }
      at = page.to;
    }
    if (fault !== undefined) throw fault;
    return bytes.length;
  }

  /** A fault is an answer, too. */
  async #give(file: OpenFile, into: Buffer, at: number): Promise<number> {
    try {
      return await file.read(into, at);
    } finally {
      this.#deps.reading.advanced();
    }
  }

  /** Throws what the disk says when it gives neither the first page of the file nor the ends of what is wanted. */
  async #expectSome(segment: ReadableSegment, file: OpenFile, { from, to }: Span): Promise<void> {
    const page = Buffer.allocUnsafe(PAGE_BYTES);
    let fault: unknown;
    for (const at of [0, from, Math.max(0, to - PAGE_BYTES)]) {
      try {
        await this.#give(file, page, at);
        delete segment.unreadable?.nothingSinceMs;
        return;
      } catch (error) {
        fault = error;
      }
    }
    throw fault;
  }

  /** Records a failed read. A failure of the machine, such as too many open files, says nothing of the segment. */
  #failed(segment: ReadableSegment, span: Span, cause: unknown): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const { nothingSinceMs, pages = new Map<number, UnreadPage>() } = segment.unreadable ?? {};
    const isFault = isLost(cause);
    for (const page of isFault ? pagesOf(span) : []) {
      const known = pages.get(page) ?? { sinceMs: nowMs, tries: 0 };
      pages.set(page, known);
      known.tries += 1;
    }
    const since = nothingSinceMs ?? (isFault ? nowMs : undefined);
    segment.unreadable = { untilMs: nowMs, pages, ...(since === undefined ? {} : { nothingSinceMs: since }) };
    segment.unreadable.untilMs += this.#givesNothingFor(segment, GIVEN_UP_AFTER_MS)
      ? LEAVE_ALONE_LONGER_MS
      : LEAVE_ALONE_MS;
  }

  /** True when a page of the span has failed for so long that its pages are read one by one. */
  #isTriedForLong({ unreadable }: ReadableSegment, span: Span): boolean {
    const beforeMs = this.#deps.clock.monotonicMs() - GIVEN_UP_AFTER_MS;
    return pagesOf(span).some((number) => {
      const page = unreadable?.pages.get(number);
      return page !== undefined && page.sinceMs <= beforeMs && page.tries >= GIVEN_UP_AFTER_TRIES;
    });
  }

  /** True when a page that failed alone just now counts as lost. A page that was readable until now gets the full time of retries, too. */
  #isGivenUp(segment: ReadableSegment, span: Span): boolean {
    const [page] = pagesOf(span).map((number) => segment.unreadable?.pages.get(number));
    if (page === undefined || !this.#isTriedForLong(segment, span)) return false;
    const isSecond = page.isAloneToo === true;
    page.isAloneToo = true;
    return isSecond;
  }

  #givesNothingFor({ unreadable }: ReadableSegment, ms: number): boolean {
    return unreadable?.nothingSinceMs !== undefined && this.#deps.clock.monotonicMs() - unreadable.nothingSinceMs >= ms;
  }
}

/** A span was read. */
function gave(segment: ReadableSegment, span: Span): void {
  const { unreadable } = segment;
  if (unreadable === undefined) return;
  delete unreadable.nothingSinceMs;
  for (const page of pagesOf(span)) unreadable.pages.delete(page);
  if (unreadable.pages.size === 0) delete segment.unreadable;
}

function pagesOf({ from, to }: Span): number[] {
  const first = Math.floor(from / PAGE_BYTES);
  return Array.from({ length: Math.ceil(to / PAGE_BYTES) - first }, (_none, at) => first + at);
}
