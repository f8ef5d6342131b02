/**
 * Count of the segments that are not full, on one connection: the beginnings and the ends of exchanges. Those that go together share one, and a
 * segment acknowledges what came before it, when that is not long ago.
 */
export interface WordCount {
  /** Returns the headers that a request's last segment has, and those of an acknowledgement before it. */
  began(nowMs: number): number;
  /** Returns the same of an answer's. */
  ended(nowMs: number): number;
}

/** Headers of IPv4 and TCP with time stamps. */
export const HEADERS = 52;
/** Writes within so short a time go together. */
const TOGETHER_MS = 3;
/** An acknowledgement waits so long for a segment that it could go with. */
const ACKNOWLEDGED_AFTER_MS = 40;

export function createWordCount(): WordCount {
  let beganMs = Number.NEGATIVE_INFINITY;
  let endedMs = Number.NEGATIVE_INFINITY;
  /** The last word of the other side, or of this one, is not acknowledged yet. */
  let owesAnswer = false;
  let owesRequest = false;
  return {
    began: (nowMs) => {
      if (nowMs - beganMs < TOGETHER_MS) return 0;
      const isLate = owesAnswer && nowMs - endedMs >= ACKNOWLEDGED_AFTER_MS;
      const isRequestLate = owesRequest && nowMs - beganMs >= ACKNOWLEDGED_AFTER_MS;
      owesAnswer = false;
      owesRequest = true;
      beganMs = nowMs;
      return HEADERS * (1 + Number(isLate) + Number(isRequestLate));
    },
    ended: (nowMs) => {
      if (nowMs - endedMs < TOGETHER_MS) return 0;
      const isRequestLate = owesRequest && nowMs - beganMs >= ACKNOWLEDGED_AFTER_MS;
      const isLate = owesAnswer && nowMs - endedMs >= ACKNOWLEDGED_AFTER_MS;
      owesRequest = false;
      owesAnswer = true;
      endedMs = nowMs;
      return HEADERS * (1 + Number(isRequestLate) + Number(isLate));
    },
  };
}
