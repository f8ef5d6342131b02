/** Checks that the flash memory has life left. */
import { check, fault, good, warning } from './checkup.ts';

const LIFE_WARNING_PERCENT = 80;
const LIFE_ENDED_PERCENT = 100;

export const storageLife = check('storage-life', 'the flash memory has life left', async ({ machine }) => {
  const used = await machine.storageLifeUsedPercent();
  if (used === undefined) return undefined;
  const said = `the chip has used up to ${used} % of its life`;
  if (used >= LIFE_ENDED_PERCENT) return fault(said, 'replace the board or its eMMC soon: turnstone identity export moves its place');
  return used >= LIFE_WARNING_PERCENT ? warning(said, 'plan a replacement, and write less: a longer outbox.commitAge') : good(said);
});
