/** The grid on which sensors are read. */

/** Timers count whole milliseconds and may fire a little early; without this a read could come twice for one point of the grid. */
const EARLY_MS = 2;

/** The next whole multiple of the period, past now. */
export function nextDue(nowMs: number, periodMs: number): number {
  const next = (Math.floor(nowMs / periodMs) + 1) * periodMs;
  return next - nowMs <= Math.min(EARLY_MS, periodMs / 4) ? next + periodMs : next;
}
