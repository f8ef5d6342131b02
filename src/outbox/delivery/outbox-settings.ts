/** What the `outbox:` section of the configuration says, in plain numbers, and the figures that nobody needs to set. */

/** What gives way when the outbox is full: `thin` decimates the oldest segments before it drops them. */
export type WhenFull = 'thin' | 'drop-oldest' | 'drop-newest';

export interface OutboxSettings {
  /** How long a regular entry may wait in memory for its block to close. */
  readonly commitAgeMs: number;
  /** A block closes at this many entries, whatever its age. */
  readonly commitEntries: number;
  /** All files of the outbox together. */
  readonly maxBytes: number;
  /** Entries older than this are dropped even when never delivered. */
  readonly maxAgeMs: number;
  /** Space left to everything else on the disk. */
  readonly minFreeBytes: number;
  readonly whenFull: WhenFull;
  /** Delivered segments stay this long, for plots, audit and re-send … */
  readonly retainForMs: number;
  /** … but take no more than this. */
  readonly retainBytes: number;
  /** What the backlog lane gives first; `oldest-first` also stops the live lane from overtaking. */
  readonly order: 'newest-first' | 'oldest-first';
  /** Entries per second of backlog that the uploader may send while it also sends the present. */
  readonly backlogRatePerS: number;
  /** Entries whose wall time cannot be known: kept, or sent with `<key>_timeUncertain`. */
  readonly timeUncertain: 'hold' | 'send';
  /** Entries held in memory while the disk takes none; the oldest regular ones give way. */
  readonly memoryEntries: number;
}

/** A segment is the unit of unlinking: small enough that space returns soon, large enough that hundreds of them hold everything. */
const MAX_SEGMENT_BYTES = 1024 * 1024;
/** Space is written ahead as zeros, so that a commit changes data only and no file size: its sync then needs no file-system journal. */
const MAX_PREALLOCATION_BYTES = 64 * 1024;
const PAGE_BYTES = 4096;

/** Segment and preallocation sizes that suit a bound: at least 16 segments in it, whole pages. */
export function segmentSizes(maxBytes: number): { readonly segmentBytes: number; readonly preallocationBytes: number } {
  const segmentBytes = Math.min(MAX_SEGMENT_BYTES, wholePages(maxBytes / 16));
  return { segmentBytes, preallocationBytes: Math.min(MAX_PREALLOCATION_BYTES, wholePages(segmentBytes / 4)) };
}

function wholePages(bytes: number): number {
  return Math.max(PAGE_BYTES, Math.floor(bytes / PAGE_BYTES) * PAGE_BYTES);
}
