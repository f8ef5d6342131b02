/** Checks that no more is written than a card endures. */
import { formatSize } from '../../../config/fields/quantity.ts';
import { agentCheck, good, warning } from './checkup.ts';

/** An 8 GB consumer card takes some 3,000 writes of each cell: 24 TB, or 6.6 GB a day for ten years; small writes cost ten times their size. */
const MAX_BYTES_A_DAY = 600e6;
const DAY_MS = 24 * 3_600_000;
/** A projection from less is a guess. */
const MIN_RUN_MS = 10 * 60_000;

export const wear = agentCheck('wear', 'not too much is written', ({ nowMs, startedAtMs, outbox }) => {
  const ranMs = nowMs - startedAtMs;
  if (ranMs < MIN_RUN_MS) return undefined;
  const perDay = (outbox.writtenBytes / ranMs) * DAY_MS;
  const said = `${formatSize(perDay)} a day, ${formatSize(perDay * 365)} a year`;
  return perDay > MAX_BYTES_A_DAY ? warning(said, 'raise outbox.commitAge, widen deadbands, or sample less often') : good(said);
});
