/**
 * The time after a trial in which the boot guard still goes back. Root runs no schema: who holds the service's user can have a file kept that
 * no start of the agent takes. So the last file that is known to start stays, in root's folder, until the kept one has run for ten minutes from a
 * start; the guard watches that, and ends it.
 *
 *   last-good   whole file, with the owner and mode of the file in place
 *   probation   id and number of the trial, hash of the file that was kept, `good` for the one to go back to
 */
import { join } from 'node:path';
import { messageOf } from '../../errors/agent-error.ts';
import { keyValueLines, parseKeyValueLines } from '../../store/key-value-lines.ts';
import { MAX_CONFIGURATION_BYTES } from '../bounded-tree.ts';
import type { ConfigurationTrial, TrialPaths } from '../trial-state.ts';
import { sha256 } from './file-in-place.ts';
import type { RootConfigurationDeps } from './root-deps.ts';

const MAX_BYTES = 4096;

type Deps = Pick<RootConfigurationDeps, 'files' | 'log'>;

/** Puts a kept file on probation; done again, it changes nothing. A fault leaves the file kept, and is logged. */
export async function beginProbation(
  deps: Deps,
  { folder, before }: TrialPaths,
  trial: ConfigurationTrial,
): Promise<void> {
  const { files, log } = deps;
  const lastGood = join(folder, 'last-good');
  const probation = join(folder, 'probation');
  const { id, number, hash } = trial;
  try {
    const open = parseKeyValueLines(await files.read(probation, MAX_BYTES));
    if (open.hash === hash) return;
    const laid = await files.read(lastGood, MAX_CONFIGURATION_BYTES);
    const laidHash = laid === undefined ? undefined : sha256(laid);
    // A file that is on probation itself is none to go back to.
    const isChained = open.hash === trial.before && open.good !== undefined && open.good === laidHash;
    if (!isChained && laidHash !== trial.before) await files.rename(before, lastGood);
    const good = isChained ? open.good : trial.before;
    await files.write(probation, keyValueLines({ id, number, hash, good }));
  } catch (error) {
    log.error({ id, error: messageOf(error) }, 'the kept configuration has nothing to go back to at its first start');
  }
}
