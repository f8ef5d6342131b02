/** An archive at the command line: its passphrase, and the file that one is read from. */
import { type ArchiveKind, expectArchive, expectStrongPassphrase, MAX_ARCHIVE_BYTES } from '../devices/archive.ts';
import { readUserFile } from '../host/whole-file.ts';
import type { Edge } from './edge.ts';
import { usageError } from './exit-code.ts';
import { secretFrom } from './secret-from.ts';

/** A call with the option `PASSPHRASE_FILE`. */
export interface ArchiveCall {
  readonly flags: { readonly passphraseFile?: string | undefined };
  readonly edge: Edge;
}

const QUESTION = 'Passphrase: ';

/**
 * Returns the passphrase of an archive that is to be written; a person at a terminal enters it twice.
 * @throws AgentError `provisioning/weak-passphrase` (drop); CommandError (usage) when there is none, or two.
 */
export async function passphraseForNew(kind: ArchiveKind, { flags, edge }: ArchiveCall): Promise<string> {
  const passphrase = await secretFrom(flags.passphraseFile, QUESTION, edge);
  expectStrongPassphrase(kind, passphrase);
  const isRepeated = flags.passphraseFile === undefined && edge.isInteractive;
  if (isRepeated && (await secretFrom(undefined, 'Once more: ', edge)) !== passphrase)
    throw usageError('the two passphrases differ');
  return passphrase;
}

/**
 * Reads an archive, still sealed, and then asks for its passphrase.
 * @throws AgentError as `expectArchive`, `host/read-failed`; CommandError (usage) when there is no file or no passphrase.
 */
export async function readArchive(
  kind: ArchiveKind,
  file: string,
  { flags, edge }: ArchiveCall,
): Promise<{ readonly text: string; readonly passphrase: string }> {
  const bytes = await readUserFile(file, MAX_ARCHIVE_BYTES);
  if (bytes === undefined) throw usageError(`there is no file ${file}`);
  const text = bytes.toString('utf8');
  expectArchive(kind, text);
  return { text, passphrase: await secretFrom(flags.passphraseFile, QUESTION, edge) };
}
