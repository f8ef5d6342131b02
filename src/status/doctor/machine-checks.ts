/** The machine below: clock, disk, wear, memory. */
import { formatSize } from '../../config/quantity.ts';
import { type Check, fault, good, unknown, warning, withConfig } from './checkup.ts';

/** Below this much free memory the kernel starts to kill. */
const LEAST_MEMORY_BYTES = 32e6;
const LEAST_MEMORY_SHARE = 0.05;
/** Files are small here; a disk without inodes is full all the same. */
const LEAST_INODE_SHARE = 0.02;
/** Twice what the outbox keeps free: there is time to act. */
const EARLY_SHARE = 2;
const LIFE_WARNING_PERCENT = 80;
const LIFE_ENDED_PERCENT = 100;
/** An 8 GB consumer card takes some 3,000 writes of each cell: 24 TB, or 6.6 GB a day for ten years; small writes cost ten times their size. */
const MOST_BYTES_A_DAY = 600e6;
const DAY_MS = 24 * 3_600_000;
/** A projection from less is a guess. */
const LEAST_RUN_MS = 10 * 60_000;

export const MACHINE_CHECKS: readonly Check[] = [
  {
    id: 'clock',
    title: 'the clock is synchronised',
    look: async ({ isTimeSynchronised, agent, read }) => {
      if (read.config?.time.trust === 'always') return good('trusted by configuration (time.trust: always)');
      if (agent?.timeSynchronised ?? (await isTimeSynchronised())) return good('yes');
      return fault(
        'readings wait until their time is known',
        'timedatectl set-ntp true, and let port 123 (NTP) through; or time.trust: platform',
      );
    },
  },
  {
    id: 'disk-space',
    title: 'the disk has room',
    look: withConfig(async ({ stateFolder, outbox }, { machine }) => {
      const disk = await machine.disk(stateFolder);
      if (disk === undefined) return unknown(`${stateFolder} cannot be looked at`);
      const remedy = 'free space (journalctl --vacuum-size=50M, apt-get clean), or lower outbox.maxBytes';
      const free = `${formatSize(disk.freeBytes)} of ${formatSize(disk.totalBytes)} free`;
      if (disk.totalFiles > 0 && disk.freeFiles < disk.totalFiles * LEAST_INODE_SHARE)
        return fault(`only ${disk.freeFiles} files can still be made`, 'remove small files that nobody needs: df -i, du --inodes');
      if (disk.freeBytes < outbox.minFreeBytes)
        return fault(
          `${free}: the outbox keeps ${formatSize(outbox.minFreeBytes)} free, and new readings take the place of the oldest`,
          remedy,
        );
      return disk.freeBytes < outbox.minFreeBytes * EARLY_SHARE ? warning(free, remedy) : good(free);
    }),
  },
  {
    id: 'disk-health',
    title: 'the disk is sound',
    look: withConfig(async ({ stateFolder }, { machine }) => {
      const mount = await machine.mount(stateFolder);
      if (mount === undefined) return unknown('its mount is not known');
      if (mount.readOnly)
        return fault(
          `${mount.device} is mounted read-only: the kernel met errors, or somebody wants it so`,
          `dmesg tells why; then mount -o remount,rw, or replace the card`,
        );
      if ((mount.errors ?? 0) > 0)
        return fault(
          `the file system on ${mount.device} has counted ${mount.errors} errors`,
          'copy what matters, check it at the next boot (fsck.mode=force), and replace the card',
        );
      return good(`${mount.type} on ${mount.device}`);
    }),
  },
  {
    id: 'storage-life',
    title: 'the flash memory has life left',
    look: async ({ machine }) => {
      const used = await machine.storageLifeUsedPercent();
      if (used === undefined) return undefined;
      const said = `the chip has used up to ${used} % of its life`;
      if (used >= LIFE_ENDED_PERCENT) return fault(said, 'replace the board or its eMMC soon: turnstone identity export moves its place');
      return used >= LIFE_WARNING_PERCENT ? warning(said, 'plan a replacement, and write less: a longer outbox.commitAge') : good(said);
    },
  },
  {
    id: 'wear',
    title: 'not too much is written',
    look: ({ agent }) => {
      if (agent === undefined) return undefined;
      const ranMs = agent.nowMs - agent.startedAtMs;
      if (ranMs < LEAST_RUN_MS) return undefined;
      const perDay = (agent.outbox.writtenBytes / ranMs) * DAY_MS;
      const said = `${formatSize(perDay)} a day, ${formatSize(perDay * 365)} a year`;
      return perDay > MOST_BYTES_A_DAY ? warning(said, 'raise outbox.commitAge, widen deadbands, or sample less often') : good(said);
    },
  },
  {
    id: 'memory',
    title: 'there is memory left',
    look: async ({ machine }) => {
      const memory = await machine.memory();
      if (memory === undefined) return unknown('the kernel does not say');
      const said = `${formatSize(memory.availableBytes)} of ${formatSize(memory.totalBytes)} available`;
      const short = memory.availableBytes < Math.min(LEAST_MEMORY_BYTES, memory.totalBytes * LEAST_MEMORY_SHARE);
      return short ? fault(said, 'see who takes it (ps --sort=-rss -eo rss,comm) and stop what is not needed') : good(said);
    },
  },
];
