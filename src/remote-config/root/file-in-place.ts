/** The configuration that the service starts with, and the two whole files between which a trial moves it. */
import { createHash } from 'node:crypto';
import { refusal } from '../../errors/agent-error.ts';
import { MAX_CONFIGURATION_BYTES } from '../bounded-tree.ts';
import { backPath, type RootConfigurationDeps, stagedPath } from './root-deps.ts';

type Deps = Pick<RootConfigurationDeps, 'files' | 'file'>;

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Returns undefined where nothing is there. @throws AgentError `host/read-failed`. */
export function readIfInPlace({ files, file }: Deps): Promise<Buffer | undefined> {
  return files.read(file, MAX_CONFIGURATION_BYTES);
}

/** @throws AgentError `host/read-failed`, `remote-config/no-file` (drop) when nothing is there. */
export async function readInPlace({ files, file }: Deps): Promise<Buffer> {
  const bytes = await readIfInPlace({ files, file });
  if (bytes === undefined) throw refusal('remote-config/no-file', `there is no ${file}`);
  return bytes;
}

/**
 * Copies a file of the service's into memory of root's: what is looked at is what is installed, whatever becomes of the file meanwhile.
 * @throws AgentError `remote-config/too-large` (drop), and as `openPlain`.
 */
export async function readCandidate({ files }: Deps, path: string): Promise<Buffer> {
  const source = await files.openPlain(path);
  try {
    const bytes = Buffer.alloc(MAX_CONFIGURATION_BYTES + 1);
    let length = 0;
    while (length < bytes.length) {
      const read = await source.read(bytes.subarray(length), length);
      if (read === 0) return bytes.subarray(0, length);
      length += read;
    }
  } finally {
    await source.close();
  }
  throw refusal('remote-config/too-large', `the new file has more than ${MAX_CONFIGURATION_BYTES} bytes`);
}

/**
 * Replaces the file in place, whole or not at all, as long as it is the one that was looked at: what is left to a person who saves it meanwhile
 * is the time of a rename.
 * @throws AgentError `remote-config/other-base` (drop) when it is another by now.
 */
export async function replaceInPlace(
  deps: Deps,
  bytes: Uint8Array,
  { mode, over }: { readonly mode: number; readonly over: string },
): Promise<void> {
  await stage(deps, bytes, mode);
  if (sha256(await readInPlace(deps)) !== over)
    throw refusal('remote-config/other-base', 'the file in place was changed meanwhile, and stays');
  await deps.files.rename(stagedPath(deps), deps.file);
}

/** Writes a file beside the one in place. What lies under its temporary name goes first: it may have another owner or mode. */
async function stage(deps: Deps, bytes: Uint8Array, mode: number): Promise<void> {
  await deps.files.remove(`${stagedPath(deps)}.tmp`);
  await deps.files.write(stagedPath(deps), bytes, mode);
}

/** Returns the hash of what lies under the name of the way back; undefined where nothing does, and '' where it cannot be read. */
export async function hashOfWayBack(deps: Deps): Promise<string | undefined> {
  try {
    const bytes = await deps.files.read(backPath(deps), MAX_CONFIGURATION_BYTES);
    return bytes === undefined ? undefined : sha256(bytes);
  } catch {
    return '';
  }
}

/** Puts the file before the trial back: by a rename where the way back lies whole, as that takes no room, else by a copy. */
export async function putBack(
  deps: Deps,
  { before, hash, mode }: { readonly before: string; readonly hash: string; readonly mode: number },
): Promise<void> {
  if ((await hashOfWayBack(deps)) === hash) return deps.files.rename(backPath(deps), deps.file);
  const kept = await deps.files.read(before, MAX_CONFIGURATION_BYTES);
  if (kept === undefined || sha256(kept) !== hash)
    throw refusal('remote-config/no-way-back', 'there is no whole file to go back to');
  await stage(deps, kept, mode);
  await deps.files.rename(stagedPath(deps), deps.file);
}
