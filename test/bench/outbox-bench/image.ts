/** A file system of one's own: its block device says what reaches it, the journal's blocks among it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

const IMAGE_BYTES = 128 * 1024 * 1024;
const SECTOR_BYTES = 512;
/** Blocks of 4 KiB as on any real disk; mkfs would take smaller ones for so small an image, and flatter us. */
const MKFS = ['-q', '-F', '-b', '4096', '-E', 'lazy_itable_init=0,lazy_journal_init=0'];

export interface MountedImage {
  readonly folder: string;
  /** The file behind the block device. */
  readonly file: string;
  readonly writtenBytes: () => number;
  readonly release: () => void;
}

/** @throws without the rights to make and mount one. */
export async function mountImage(folder: string, mountOptions: string): Promise<MountedImage> {
  const image = join(folder, 'disk.img');
  const mount = join(folder, 'disk');
  await writeFile(image, '');
  await truncate(image, IMAGE_BYTES);
  await mkdir(mount);
  execFileSync('mkfs.ext4', [...MKFS, image], { stdio: 'pipe' });
  const device = execFileSync('losetup', ['--find', '--show', image], { stdio: 'pipe', encoding: 'utf8' }).trim();
  try {
    execFileSync('mount', ['-o', mountOptions, device, mount], { stdio: 'pipe' });
  } catch (error) {
    execFileSync('losetup', ['--detach', device]);
    throw error;
  }
  return {
    folder: mount,
    file: image,
    writtenBytes: () =>
      Number(
        readFileSync(`/sys/block/${basename(device)}/stat`, 'utf8')
          .trim()
          .split(/\s+/)[6],
      ) * SECTOR_BYTES,
    release: () => {
      execFileSync('umount', [mount]);
      execFileSync('losetup', ['--detach', device]);
    },
  };
}
