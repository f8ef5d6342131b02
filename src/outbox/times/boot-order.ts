/**
 * When did a boot begin whose clock was never right? After the last known moment of the boot before it, and early enough for it, and the others
 * like it, to have ended when the next known boot began. When that leaves little room, the middle is good enough; else it stays undecided.
 */
import type { BootRecord } from './boot-table.ts';

/** A reboot takes seconds; after a real power cut the time off is unknown, and no guess is better than another. */
const DECIDABLE_SLACK_MS = 120_000;

/** The offset of a boot without a known one, from its neighbours in order; undefined when it cannot be decided. */
export function decideBetween(boots: readonly BootRecord[], boot: BootRecord): number | undefined {
  const at = boots.indexOf(boot);
  const beforeAt = boots.findLastIndex((other, index) => index < at && knownOffsetMs(other) !== undefined);
  const afterAt = boots.findIndex((other, index) => index > at && knownOffsetMs(other) !== undefined);
  const before = boots[beforeAt];
  const after = boots[afterAt];
  if (before === undefined || after === undefined) return undefined;
  const unknown = boots.slice(beforeAt + 1, afterAt);
  const fromMs = (knownOffsetMs(before) as number) + before.lastMs;
  const ranMs = unknown.reduce((sum, other) => sum + other.lastMs, 0);
  const slackMs = (knownOffsetMs(after) as number) - fromMs - ranMs;
  if (slackMs < 0 || slackMs > DECIDABLE_SLACK_MS) return undefined;
  const gapMs = slackMs / (unknown.length + 1);
  const earlier = unknown.slice(0, at - beforeAt - 1).reduce((sum, other) => sum + other.lastMs + gapMs, 0);
  return Math.round(fromMs + gapMs + earlier);
}

interface Moment {
  readonly bootId: string;
  /** Since the boot began; infinite for "some time in it". */
  readonly ms: number;
}

/** What certainly passed between a moment and now: the time that this boot and those between have run, as far as they were seen to. */
export function ranSince(boots: readonly BootRecord[], then: Moment, now: Moment): number {
  if (then.bootId === now.bootId) return now.ms - then.ms;
  const thenAt = boots.findIndex(({ bootId }) => bootId === then.bootId);
  const nowAt = boots.findIndex(({ bootId }) => bootId === now.bootId);
  if (thenAt === -1) return now.ms;
  const between = boots.slice(thenAt + 1, nowAt).reduce((sum, { lastMs }) => sum + lastMs, 0);
  return Math.max(0, (boots[thenAt] as BootRecord).lastMs - then.ms) + between + now.ms;
}

/** The offset at a boot's end, when it was ever known. */
function knownOffsetMs(boot: BootRecord): number | undefined {
  return boot.offsets.findLast((offset) => offset.certainty !== 'guessed')?.offsetMs;
}
