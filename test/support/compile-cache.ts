/**
 * Programs that tests start from the sources would each strip and compile hundreds of files anew: within one run they share what V8 made of
 * them. The next run begins without it, as programs in temporary folders would let it grow for ever.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';

/** One place for all runs: workers write into it once more when they end, which is after anything here could clear it away. */
const FOLDER = join(import.meta.dirname, '../../build/compile-cache');

/** Whoever has given a folder of his own keeps it. */
export function setup(): (() => void) | undefined {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return undefined;
  rmSync(FOLDER, { recursive: true, force: true });
  process.env.NODE_COMPILE_CACHE = FOLDER;
  return () => {
    delete process.env.NODE_COMPILE_CACHE;
  };
}
