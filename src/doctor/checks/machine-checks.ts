/** Checks of the machine: its clock, its disk, its memory. */
import { formatSize } from '../../config/fields/quantity.ts';
import type { StorageWear } from '../../host/machine-facts.ts';
import { agentCheck, check, configCheck, fault, good, unknown, warning } from './checkup.ts';

export const clock = check('clock', 'the clock is synchronised', async ({ isTimeSynchronised, agent, read }) => {
  if (read.config?.time.trust === 'always') return good('trusted by configuration (time.trust: always)');
  if (agent?.timeSynchronised ?? (await isTimeSynchronised())) return good('yes');
  const remedy = 'timedatectl set-ntp true, and let port 123 (NTP) through; or time.trust: platform';
  return fault('readings wait until their time is known', remedy);
});

/** Files are small here; a disk without inodes is full all the same. */
const MIN_INODE_SHARE = 0.02;
/** Twice what the outbox keeps free: there is time to act. */
const EARLY_SHARE = 2;

export const diskSpace = configCheck(
  'disk-space',
  'the disk has room',
  async ({ stateFolder, outbox }, { machine }) => {
    const disk = await machine.disk(stateFolder);
    if (disk === undefined) return unknown(`${stateFolder} cannot be looked at`);
    const remedy = 'free space: journalctl --vacuum-size=50M, apt-get clean';
    const free = `${formatSize(disk.freeBytes)} of ${formatSize(disk.totalBytes)} free`;
    if (disk.totalFiles > 0 && disk.freeFiles < disk.totalFiles * MIN_INODE_SHARE)
      return fault(
        `only ${disk.freeFiles} files can still be made`,
        'remove small files that nobody needs: df -i, du --inodes',
      );
    const kept = formatSize(outbox.minFreeBytes);
    if (disk.freeBytes < outbox.minFreeBytes)
      return fault(`${free}: the outbox keeps ${kept} free, and new readings take the place of the oldest`, remedy);
    return disk.freeBytes < outbox.minFreeBytes * EARLY_SHARE ? warning(free, remedy) : good(free);
  },
);

/** The journal writes three blocks for each file that was written to, at each of its commits: 2.9 bytes for one of readings, or 1.8. */
const LONG_COMMIT_S = 30;

export const diskHealth = configCheck('disk-health', 'the disk is sound', async ({ stateFolder }, { machine }) => {
  const mount = await machine.mount(stateFolder);
  if (mount === undefined) return unknown('its mount is not known');
  const { device, errors = 0 } = mount;
  const remount = 'dmesg tells why; then mount -o remount,rw, or replace the card';
  if (mount.readOnly)
    return fault(`${device} is mounted read-only: the kernel met errors, or somebody wants it so`, remount);
  const replace = 'copy what matters, check it at the next boot (fsck.mode=force), and replace the card';
  if (errors > 0) return fault(`the file system on ${device} has counted ${errors} errors`, replace);
  const isJournalled = mount.type === 'ext4' && (mount.commitS ?? 0) < LONG_COMMIT_S;
  return good(
    `${mount.type} on ${device}${isJournalled ? '; with commit=60 in /etc/fstab less is written (what is synced stays so)' : ''}`,
  );
});

const LIFE_WARNING_PERCENT = 80;
const LIFE_ENDED_PERCENT = 100;

const YEAR_MS = 365.25 * 86_400_000;

/**
 * Returns when the life will be used up, by the pace since the chip was made. It tells tenths, and not when it passed them; of a month of
 * manufacture ahead, or less than a year ago, nothing can be told.
 */
function endWords({ usedPercent, madeAtMs }: StorageWear, nowMs: number): string {
  const ageMs = nowMs - (madeAtMs ?? Number.NaN);
  if (usedPercent === undefined || usedPercent >= LIFE_ENDED_PERCENT || !(ageMs > YEAR_MS))
    return 'when it will be used up is not known';
  const year = new Date(nowMs - ageMs + (ageMs * LIFE_ENDED_PERCENT) / usedPercent).getUTCFullYear();
  return `at its pace since it was made (${new Date(nowMs - ageMs).toISOString().slice(0, 7)}) it is used up about ${year}`;
}

export const storageLife = check('storage-life', 'the flash memory has life left', async ({ machine, clock }) => {
  const wear = await machine.storageWear();
  if (wear === undefined) return undefined;
  const { usedPercent, spares } = wear;
  const said = [
    ...(usedPercent === undefined ? [] : [`the chip has used up to ${usedPercent} % of its life`]),
    ...(spares === 'enough'
      ? []
      : [spares === 'few' ? '80 % of its spare blocks are used' : 'its spare blocks are used up but for a tenth']),
    endWords(wear, clock.wallMs()),
  ].join('; ');
  if ((usedPercent ?? 0) >= LIFE_ENDED_PERCENT || spares === 'nearly-none')
    return fault(said, 'replace the board or its eMMC soon: turnstone identity export moves its place');
  return (usedPercent ?? 0) >= LIFE_WARNING_PERCENT || spares === 'few'
    ? warning(said, 'plan a replacement, and write less: wider deadbands, longer periods')
    : good(said);
});

/** An 8 GB consumer card takes some 3,000 writes of each cell: 24 TB, or 6.6 GB a day for ten years; small writes cost ten times their size. */
const MAX_BYTES_A_DAY = 600e6;
export const wear = agentCheck('wear', 'not too much is written', ({ writes }) => {
  const { agentBytesPerDay, disk, words } = writes;
  if (agentBytesPerDay === undefined) return unknown(words);
  if (agentBytesPerDay > MAX_BYTES_A_DAY) return warning(words, 'widen deadbands, or sample less often');
  return (disk?.bytesPerDay ?? 0) > MAX_BYTES_A_DAY
    ? warning(words, 'see who writes (pidstat -d 60), and let what is not needed write less or elsewhere')
    : good(words);
});

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
