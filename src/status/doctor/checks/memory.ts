/** Checks that there is memory left. */
import { formatSize } from '../../../config/fields/quantity.ts';
import { check, fault, good, unknown } from './checkup.ts';

/** Below this much free memory the kernel starts to kill. */
const MIN_MEMORY_BYTES = 32e6;
const MIN_MEMORY_SHARE = 0.05;

export const memory = check('memory', 'there is memory left', async ({ machine }) => {
  const memory = await machine.memory();
  if (memory === undefined) return unknown('the kernel does not say');
  const said = `${formatSize(memory.availableBytes)} of ${formatSize(memory.totalBytes)} available`;
  const short = memory.availableBytes < Math.min(MIN_MEMORY_BYTES, memory.totalBytes * MIN_MEMORY_SHARE);
  return short ? fault(said, 'see who takes it (ps --sort=-rss -eo rss,comm) and stop what is not needed') : good(said);
});
