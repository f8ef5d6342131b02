/**
 * A million entries that nobody delivers: how much memory they take while they pile up, how long opening takes afterwards, and what they
 * take on the disk. A process of its own, so that nothing else is in its memory; run with --expose-gc.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../../src/host/clock.ts';
import { Corpus, ENTRY_BYTES } from '../corpus.ts';
import { inFolder, median, openBenchOutbox } from './bench-outbox.ts';

const ENTRIES = 1_000_000;
/** Ten keys a second for the default commit age: what a block has in the field. */
const COMMIT_ENTRIES = 50;
/** By then every path has been compiled and every buffer has its size. */
const WARM_UP_ENTRIES = 100_000;
const OPENS = 5;
/** As a release starts its process (scripts/launcher.sh). */
const RELEASE_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=64'];
const MB = 1024 * 1024;

export interface HeldMillion {
  readonly growthMb: number;
  readonly openMs: number;
  readonly storedBytesPerPayloadByte: number;
}

export async function measureHeldMillion(): Promise<HeldMillion> {
  const env = { ...process.env, MALLOC_ARENA_MAX: '2' };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...RELEASE_FLAGS, '--expose-gc', import.meta.filename],
    { env },
  );
  return JSON.parse(stdout) as HeldMillion;
}

async function measure(): Promise<HeldMillion> {
  return inFolder(async (folder) => {
    const outbox = await openBenchOutbox(folder, { commitEntries: COMMIT_ENTRIES });
    const corpus = new Corpus(systemClock.bootId);
    let beforeBytes = 0;
    for (let entries = 0; entries < ENTRIES; entries += COMMIT_ENTRIES) {
      if (entries === WARM_UP_ENTRIES) beforeBytes = privateBytes();
      await outbox.append(corpus.entries(COMMIT_ENTRIES));
    }
    const growthMb = (privateBytes() - beforeBytes) / MB;
    if (outbox.status().heldEntries !== ENTRIES) throw new Error('not a million');
    await outbox.close();
    const stored = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    const opens: number[] = [];
    for (let open = 0; open < OPENS; open += 1) {
      const started = systemClock.monotonicMs();
      const again = await openBenchOutbox(folder);
      opens.push(systemClock.monotonicMs() - started);
      if (again.status().heldEntries !== ENTRIES) throw new Error('not a million after opening');
      await again.close();
    }
    return { growthMb, openMs: median(opens), storedBytesPerPayloadByte: stored / (ENTRIES * ENTRY_BYTES) };
  });
}

/** Private memory after a forced collection. */
function privateBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const rollup = readFileSync('/proc/self/smaps_rollup', 'utf8');
  const kilobytes = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce(
    (sum, [, kb]) => sum + Number(kb),
    0,
  );
  return kilobytes * 1024;
}

if (import.meta.main) console.log(JSON.stringify(await measure()));
