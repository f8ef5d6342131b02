/** The span of time that a plot shows: never shorter or longer than makes sense, and never in the future. */

const LEAST_MS = 60_000;
const GREATEST_MS = 7 * 86_400_000;
/** A span that ends so near to now follows the readings as they come. */
const FOLLOWS_WITHIN_MS = 5_000;

const clamped = (lengthMs) => Math.round(Math.min(GREATEST_MS, Math.max(LEAST_MS, lengthMs)));

/** Keeps the middle where the length has to change. */
export function boundedSpan(fromMs, toMs, nowMs) {
  const lengthMs = clamped(toMs - fromMs);
  const endMs = Math.min(nowMs, (fromMs + toMs + lengthMs) / 2);
  const startMs = Math.max(0, Math.round(endMs - lengthMs));
  return { fromMs: startMs, toMs: startMs + lengthMs };
}

/** The instant `atMs` stays where it is in the picture. */
export function zoomedSpan({ fromMs, toMs }, factor, atMs, nowMs) {
  const lengthMs = clamped((toMs - fromMs) * factor);
  const startMs = atMs - ((atMs - fromMs) / (toMs - fromMs)) * lengthMs;
  return boundedSpan(startMs, startMs + lengthMs, nowMs);
}

/** Moves by a share of the length: negative is earlier. */
export function pannedSpan({ fromMs, toMs }, share, nowMs) {
  const byMs = (toMs - fromMs) * share;
  return boundedSpan(fromMs + byMs, toMs + byMs, nowMs);
}

export function followsNow({ toMs }, nowMs) {
  return nowMs - toMs < FOLLOWS_WITHIN_MS;
}
