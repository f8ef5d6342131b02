/** Checks that the disk has room for bytes and for files. */
import { formatSize } from '../../../config/fields/quantity.ts';
import { configCheck, fault, good, unknown, warning } from './checkup.ts';

/** Files are small here; a disk without inodes is full all the same. */
const MIN_INODE_SHARE = 0.02;
/** Twice what the outbox keeps free: there is time to act. */
const EARLY_SHARE = 2;

export const diskSpace = configCheck('disk-space', 'the disk has room', async ({ stateFolder, outbox }, { machine }) => {
  const disk = await machine.disk(stateFolder);
  if (disk === undefined) return unknown(`${stateFolder} cannot be looked at`);
  const remedy = 'free space: journalctl --vacuum-size=50M, apt-get clean';
  const free = `${formatSize(disk.freeBytes)} of ${formatSize(disk.totalBytes)} free`;
  if (disk.totalFiles > 0 && disk.freeFiles < disk.totalFiles * MIN_INODE_SHARE)
    return fault(`only ${disk.freeFiles} files can still be made`, 'remove small files that nobody needs: df -i, du --inodes');
  const kept = formatSize(outbox.minFreeBytes);
  if (disk.freeBytes < outbox.minFreeBytes)
    return fault(`${free}: the outbox keeps ${kept} free, and new readings take the place of the oldest`, remedy);
  return disk.freeBytes < outbox.minFreeBytes * EARLY_SHARE ? warning(free, remedy) : good(free);
});
