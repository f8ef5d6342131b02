/**
 * The offsets of one boot, each good from some moment on, and what a look at the clock makes of them:
 *
 *   a clock that stepped     first ──────┤ second ────▶       what is committed or was given out keeps its own
 *   a clock that was right   right ─┤ guess ├─ right ──▶       only what was given out as a guess stays one
 *   after the guesses
 */
import type { BootOffset, BootRecord } from './boot-table.ts';

/** Part of a boot, `[fromMs, untilMs)` since it began, whose wall times are its own plus an offset. */
export interface TimeStretch {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly offsetMs: number;
  /** They have to be called a guess. */
  readonly uncertain: boolean;
}

/** First and last ms since boot. */
export type Span = readonly [fromMs: number, lastMs: number];

/** One look at a clock that is right. */
export interface Look {
  readonly offsetMs: number;
  /** The clock was last seen to agree with what is known of it. */
  readonly sinceMs: number;
  /** Up to here no step moves anything. */
  readonly heldMs: number;
  /** All times that were given out as a guess lie in it. */
  readonly guessed: Span | undefined;
}

/** Every clock that jumps is followed so often in a boot; of one that jumps on, the two oldest offsets become one, which is called a guess. */
export const MAX_OFFSETS = 64;
/** A smaller difference is the noise of two looks at two clocks. A leap second, a suspension or a new time from the network is more. */
const STEP_MS = 100;
/**
 * While no time was given out, a smaller step is a correction of what was measured: whoever believes a clock by dates of the platform may be
 * wrong by some seconds (host/time-sync.ts). A larger one is time that the machine stood still, or a clock that was set: it moves nothing.
 */
const CORRECTION_MS = 10_000;

/** The offsets of a boot after a look at its clock; undefined when it agrees with them. */
export function offsetsAfter({ offsets, lastMs }: BootRecord, look: Look): readonly BootOffset[] | undefined {
  const { offsetMs, sinceMs, heldMs } = look;
  const right = (fromMs: number): BootOffset => ({ fromMs, offsetMs, certainty: 'synchronised', frozen: false });
  const last = offsets.at(-1);
  if (last === undefined) return [right(0)];
  if (last.certainty === 'guessed') {
    if (look.guessed === undefined) return [right(0)];
    const [fromMs, untilMs] = look.guessed;
    return [...(fromMs > 0 ? [right(0)] : []), { ...last, fromMs }, right(untilMs + 1)];
  }
  const stepMs = Math.abs(last.offsetMs - offsetMs);
  if (stepMs < STEP_MS) return undefined;
  if (!last.frozen && stepMs < CORRECTION_MS)
    return offsets.map((offset) =>
      offset.frozen || offset.offsetMs !== last.offsetMs ? offset : right(offset.fromMs),
    );
  // It came at some time since the clock was last looked at.
  return [...withRoom(offsets), right(Math.max(sinceMs, 1 + Math.max(last.fromMs, lastMs, heldMs)))];
}

/** Room for one more. */
function withRoom(offsets: readonly BootOffset[]): readonly BootOffset[] {
  const [first, second, ...others] = offsets;
  if (first === undefined || second === undefined || offsets.length < MAX_OFFSETS) return offsets;
  return withRoom([{ ...second, fromMs: first.fromMs, certainty: 'guessed' }, ...others]);
}

export function hullOf(span: Span | undefined, [fromMs, lastMs]: Span): Span {
  return span === undefined ? [fromMs, lastMs] : [Math.min(span[0], fromMs), Math.max(span[1], lastMs)];
}

/** The offset that holds at a moment; the first one also serves what came before it. */
export function offsetAt({ offsets }: BootRecord, ms: number): BootOffset | undefined {
  return offsets.findLast((offset) => offset.fromMs <= ms) ?? offsets[0];
}

export function stretchOf({ offsets }: BootRecord, offset: BootOffset): TimeStretch {
  const at = offsets.indexOf(offset);
  return {
    fromMs: at <= 0 ? Number.NEGATIVE_INFINITY : offset.fromMs,
    untilMs: offsets[at + 1]?.fromMs ?? Number.POSITIVE_INFINITY,
    offsetMs: offset.offsetMs,
    uncertain: offset.certainty === 'guessed',
  };
}
