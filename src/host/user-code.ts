/** A program file of a user's own that this process is to load, with all of its own rights. */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { AgentError } from '../errors/agent-error.ts';
import { readUserFile } from './whole-file.ts';

const WRITABLE_BY_OTHERS = 0o022;

/**
 * When it was last changed, ms; another time is another program.
 * @throws AgentError `host/unsafe-code` (hold) for a file that others than root or this user may write; what the system says of one that is not there.
 */
export async function expectSafeCode(file: string): Promise<number> {
  const { mode, uid, mtimeMs } = await stat(file);
  if ((mode & WRITABLE_BY_OTHERS) !== 0 || (uid !== 0 && uid !== process.getuid?.())) {
    const rule = 'it must belong to root or to the agent, and only its owner may write it (chmod go-w)';
    throw new AgentError('host/unsafe-code', rule, { recovery: 'hold' });
  }
  return mtimeMs;
}

/** Fingerprints of program files by their paths; a file that cannot be read has none. */
export async function fingerprintsOfCode(files: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const prints = new Map<string, string>();
  for (const file of new Set(files)) {
    const code = await readUserFile(file).catch(() => undefined);
    if (code !== undefined) prints.set(file, createHash('sha256').update(code).digest('hex'));
  }
  return prints;
}
