/** Bytes that this process and its disk have written. */
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openWrittenBytes } from '../../../src/host/storage-writes.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-written-'));
});

afterEach(() => rm(root, { recursive: true }));

/** A disk with two partitions in sysfs, of which the folder of the test lies on the second, or on the whole disk. */
async function plantDisk(device: string): Promise<void> {
  const disk = join(root, 'sys/devices/mmc0/block/mmcblk0');
  await mkdir(join(disk, 'mmcblk0p2'), { recursive: true });
  await mkdir(join(root, 'sys/dev/block'), { recursive: true });
  await writeFile(join(disk, 'stat'), '  9663 4291 1012384 8030 61236 52 2000 90144 0 33768 98175\n');
  await writeFile(join(disk, 'mmcblk0p2/stat'), '  1 1 1 1 1 1 1 1 0 1 1\n');
  await writeFile(join(disk, 'mmcblk0p2/partition'), '2\n');
  const numbers = (await stat(root)).dev;
  const name = `${(numbers >> 8) & 0xfff}:${(numbers & 0xff) | ((numbers >> 12) & 0xfff00)}`;
  await symlink(join(disk, device), join(root, 'sys/dev/block', name));
}

it.each(['mmcblk0p2', '.'])('counts what the whole disk of a folder takes (%s)', async (device) => {
  await plantDisk(device);
  const read = await openWrittenBytes(root, root);
  expect(read().disk).toEqual({ name: 'mmcblk0', bytes: 1_024_000 });
});

it('leaves the disk out where the kernel does not tell which it is, and once it is taken out', async () => {
  expect((await openWrittenBytes(root, root))().disk).toBeUndefined();
  await plantDisk('mmcblk0p2');
  const read = await openWrittenBytes(root, root);
  await rm(join(root, 'sys/devices'), { recursive: true });
  expect(read().disk).toBeUndefined();
});

/** Bytes that the kernel says this process has written to storage. */
async function toldByKernel(): Promise<number> {
  return Number(/^write_bytes: (\d+)$/m.exec(await readFile('/proc/self/io', 'utf8'))?.[1]);
}

it('counts the pages that this process writes, as the kernel counts them', async () => {
  // Temporary files may lie in memory.
  const folder = await mkdtemp(join(import.meta.dirname, 'written-'));
  try {
    const read = await openWrittenBytes(folder);
    // Differences: what the process wrote before it became this program counts in one of the two alone.
    const [own, told] = [read().own, await toldByKernel()];
    await writeFile(join(folder, 'file'), Buffer.alloc(1_000_000, 1));
    expect(read().own - own).toBeGreaterThanOrEqual(1_000_000);
    expect(Math.abs((await toldByKernel()) - told - (read().own - own))).toBeLessThan(100_000);
  } finally {
    await rm(folder, { recursive: true });
  }
});
