/**
 * Folders of tests lie in memory where the machine has such a place: what they prove is what happens when a process dies or fails, no disk is
 * cut off beneath them, and a disk that really takes each write costs the machine half as much again, and most of the waiting.
 */
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 1024 ** 3;

/** Whoever has named a place of his own keeps it. */
export function setup(): (() => void) | undefined {
  if (process.env.TMPDIR !== undefined || !isFit()) return undefined;
  const folder = mkdtempSync(join(MEMORY, 'turnstone-tests-'));
  // As /tmp is: some tests give root's rights up.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  return () => {
    delete process.env.TMPDIR;
    rmSync(folder, { recursive: true, force: true });
  };
}

function isFit(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ENOUGH_BYTES;
  } catch {
    return false;
  }
}
