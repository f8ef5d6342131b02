/** Bytes written to the storage of this machine: by this process, and by all to the disk that holds a folder. */
import { existsSync, readFileSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Counts that only grow: of this process since its start, of the disk since boot. */
export interface WrittenBytes {
  /** Pages of files that this process changed, without the file system's journal. */
  readonly own: number;
  /** Bytes written by all, with the journal, beside the kernel's name of the disk (`mmcblk0`). Absent where the kernel does not say on which disk the folder lies. */
  readonly disk?: { readonly name: string; readonly bytes: number };
}

/** Returns the counts as they are now. */
export type ReadWrittenBytes = () => WrittenBytes;

/** The kernel counts both in blocks of this size, whatever those of the disk are (getrusage(2); its own `block/stat.rst`). */
const BLOCK_BYTES = 512;
/** Field of a disk's `stat`: sectors written. */
const SECTORS_WRITTEN = 6;

/** Finds the disk of a folder; never rejects. `root` is the file system's root, of which tests have their own. */
export async function openWrittenBytes(folder: string, root = '/'): Promise<ReadWrittenBytes> {
  const disk = await diskOf(folder, root).catch(() => undefined);
  return () => ({
    own: process.resourceUsage().fsWrite * BLOCK_BYTES,
    disk: disk === undefined ? undefined : writtenTo(disk),
  });
}

/** Folder of the whole disk in sysfs. @throws the system's fault, for a file system without a disk of its own, too. */
async function diskOf(folder: string, root: string): Promise<string> {
  const { dev } = await stat(folder, { bigint: true });
  // The numbers lie in `st_dev` as makedev(3) puts them.
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn & 0xffffffffn);
  const device = await realpath(join(root, `sys/dev/block/${major}:${minor}`));
  return existsSync(join(device, 'partition')) ? dirname(device) : device;
}

/** Undefined of a disk that was taken out. */
function writtenTo(disk: string): WrittenBytes['disk'] {
  try {
    const fields = readFileSync(join(disk, 'stat'), 'utf8').trim().split(/\s+/);
    return { name: basename(disk), bytes: Number(fields[SECTORS_WRITTEN]) * BLOCK_BYTES };
  } catch {
    return undefined;
  }
}
