/**
 * How much goes into one post: what is configured, or less while the platform or the line does not take that. It is remembered from batch to
 * batch, and grows again.
 *
 *   too much → half of it │ refused → half of its rows │ limited → half, or what was taken before, to see whether that helps
 *   taken → twice as much, or half way to what met a limit, the more seldom the oftener that failed
 */
import type { BatchLimits, OutboxBatch, SequenceRange } from '../../outbox/outbox.ts';

const UNBOUNDED: BatchLimits = { maxEntries: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };
/** A platform with a limit of its own sees no more than one post in so many that is beyond it. */
const MAX_GOOD_NEEDED = 64;
/** So near to a limit, in parts of the bound, it is not looked for any closer. */
const NEAR = 0.06;
/** Posts of fewer rows count as pieces. */
const MANY_ROWS = 150;

export class BatchSize {
  #bound = UNBOUNDED;
  /** Full posts taken since the bound changed, and how many it takes to try more. */
  #good = 0;
  #goodNeeded = 1;
  /** The bound has just grown, and nothing says yet that it may. */
  #isProbe = false;
  /** Rows of the largest post that was taken, as long as nothing says that it is too large now. */
  #proven = 0;
  /** Rows of the smallest post that met a limit, while fewer passed. */
  #tooMany = Number.POSITIVE_INFINITY;
  /** Less is tried, to see whether that helps: what was before. `over`: it was no help. */
  #attempt: { readonly bound: BatchLimits; readonly isProbe: boolean } | 'over' | undefined;

  /** True for a post of no more rows than one that was taken. */
  hasTaken({ entries }: OutboxBatch): boolean {
    return entries.length <= this.#proven;
  }

  /** True for a post whose size may matter, beside what was taken and what is tried. */
  isLarge({ entries }: OutboxBatch): boolean {
    return entries.length * 4 >= Math.min(this.#proven, this.#bound.maxEntries);
  }

  /** Part that a post is of the largest that was taken. */
  partOfFull({ entries }: OutboxBatch): number {
    return Math.min(1, entries.length / Math.max(1, this.#proven));
  }

  /** True once a post was accepted. */
  get isProven(): boolean {
    return this.#proven > 0;
  }

  get maxEntries(): number {
    return this.#bound.maxEntries;
  }

  /** Limits of the next batch, within those that are configured. */
  within({ maxEntries, maxBytes }: BatchLimits): BatchLimits {
    return {
      maxEntries: Math.min(maxEntries, this.#bound.maxEntries),
      maxBytes: Math.min(maxBytes, this.#bound.maxBytes),
    };
  }

  /** True for a small post, as no more passes, of more that would have gone: such posts would be without number. */
  isPiece(batch: OutboxBatch, { maxEntries, maxBytes }: BatchLimits): boolean {
    const isLess = this.#bound.maxEntries < maxEntries || this.#bound.maxBytes < maxBytes;
    return isLess && batch.entries.length < MANY_ROWS && this.#isFull(batch);
  }

  /** The beginning of a batch that is not too much; one entry is always given. */
  partOf(batch: OutboxBatch, most = Number.POSITIVE_INFINITY): OutboxBatch {
    const { maxEntries, maxBytes } = this.#bound;
    let rows = Math.min(batch.entries.length, maxEntries, most);
    while (rows > 1 && Number.isFinite(maxBytes) && batch.entries.part(0, rows).jsonBytes() > maxBytes)
      rows = Math.floor(rows / 2);
    return headOf(batch, rows);
  }

  /** So much did not pass. */
  shrink(batch: OutboxBatch): void {
    this.#endProbe(this.#isProbe);
    this.#attempt = undefined;
    this.#tooMany = Number.POSITIVE_INFINITY;
    this.#bound = halfOf(sizeOf(batch));
    this.#proven = Math.min(this.#proven, this.#bound.maxEntries);
  }

  /** A limit, of posts or of data points: less is tried. Where as little as was taken before fails, too, size is no help: all goes together again. */
  limited(batch: OutboxBatch): void {
    const attempt = this.#attempt;
    if (attempt === undefined) {
      if (batch.entries.length <= this.#proven) return;
      this.#attempt = { bound: this.#bound, isProbe: this.#isProbe };
      this.#isProbe = false;
      this.#lessThan(batch);
    } else if (attempt !== 'over') {
      if (batch.entries.length <= this.#proven) {
        // Growth beyond what was taken is no help either.
        if (!attempt.isProbe) this.#bound = attempt.bound;
        this.#tooMany = Number.POSITIVE_INFINITY;
        this.#attempt = 'over';
      } else this.#lessThan(batch);
    }
  }

  /** Half of what met a limit, or as much as was taken. */
  #lessThan(batch: OutboxBatch): void {
    const { maxEntries, maxBytes } = halfOfRows(batch);
    this.#tooMany = batch.entries.length;
    const isProbe = this.#attempt !== undefined && this.#attempt !== 'over' && this.#attempt.isProbe;
    this.#bound = { maxEntries: isProbe ? Math.max(maxEntries, this.#proven) : maxEntries, maxBytes };
  }

  /** One of these seems to be at fault. */
  refused(batch: OutboxBatch): void {
    this.shrink(batch);
    this.#bound = halfOfRows(batch);
  }

  /** The one at fault was refused by itself. */
  found(): void {
    this.#goodNeeded = 1;
  }

  /** These were taken. True when more had met a limit just before: less helped. */
  taken(batch: OutboxBatch): boolean {
    const attempt = this.#attempt;
    const helped = attempt !== undefined && attempt !== 'over';
    if (helped) {
      this.#endProbe(attempt.isProbe);
      // Less helped, so what more was taken before proves nothing any longer.
      if (this.#isFull(batch)) this.#proven = 0;
    }
    this.#attempt = undefined;
    this.#proven = Math.max(this.#proven, batch.entries.length);
    this.#grow(batch);
    return helped;
  }

  /** Ends a probe beyond the bound, which was too much. */
  #endProbe(isProbe: boolean): void {
    if (isProbe) this.#goodNeeded = Math.min(MAX_GOOD_NEEDED, this.#goodNeeded * 2);
    this.#isProbe = false;
    this.#good = 0;
  }

  /** True when only the bound keeps it from being more. */
  #isFull({ entries }: OutboxBatch): boolean {
    const { maxEntries, maxBytes } = this.#bound;
    return entries.length * 2 >= maxEntries || (Number.isFinite(maxBytes) && entries.jsonBytes() * 2 >= maxBytes);
  }

  #grow(batch: OutboxBatch): void {
    if (!this.#isFull(batch)) return;
    const { maxEntries, maxBytes } = this.#bound;
    if (this.#isProbe) this.#goodNeeded = Math.max(1, this.#goodNeeded / 2);
    this.#isProbe = false;
    this.#good += 1;
    if (this.#good < this.#goodNeeded) return;
    this.#good = 0;
    this.#isProbe = true;
    // A limit that is known well enough is looked for anew, as it may have risen.
    if (this.#tooMany - maxEntries <= Math.max(1, maxEntries * NEAR)) this.#tooMany = Number.POSITIVE_INFINITY;
    const between = Math.floor((maxEntries + this.#tooMany) / 2);
    this.#bound = { maxEntries: Math.min(maxEntries * 2, between), maxBytes: maxBytes * 2 };
  }
}

/** The first rows of a batch, at least one, as a batch of their own: acknowledging it covers no later one. A mark stays with its entry. */
function headOf(batch: OutboxBatch, rows: number): OutboxBatch {
  const { entries, lane } = batch;
  let end = Math.max(1, rows);
  while (end < entries.length && entries.isMark(end)) end += 1;
  if (end >= entries.length) return batch;
  const head = entries.part(0, end);
  const last = head.sequences.at(-1) as number;
  const ranges = batch.ranges
    .filter(([from]) => from <= last)
    .map(([from, to]): SequenceRange => [from, Math.min(to, last)]);
  return { lane, entries: head, ranges, bytes: head.jsonBytes() };
}

function halfOf({ maxEntries, maxBytes }: BatchLimits): BatchLimits {
  return { maxEntries: Math.max(1, Math.floor(maxEntries / 2)), maxBytes: Math.max(1, Math.floor(maxBytes / 2)) };
}

/** Where their length is not at fault, rows alone tell one half from the other. */
function halfOfRows(batch: OutboxBatch): BatchLimits {
  const { maxEntries, maxBytes } = sizeOf(batch);
  return { maxEntries: Math.max(1, Math.floor(maxEntries / 2)), maxBytes };
}

function sizeOf({ entries }: OutboxBatch): BatchLimits {
  return { maxEntries: entries.length, maxBytes: entries.jsonBytes() };
}
