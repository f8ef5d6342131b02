/** Files that are read whole, up to a bound. */
import { AgentError, systemCode } from '../errors/agent-error.ts';
import { type Files, isMissing, type OpenFile, systemFiles } from './files.ts';

/** A small file is not larger than this unless its reader says so. */
export const MAX_SMALL_FILE_BYTES = 1024 * 1024;
const READ_STEP_BYTES = 64 * 1024;

export interface ReadOptions {
  /** Largest size that is read; default 1 MiB. */
  readonly limitBytes?: number;
  /** Goes through links: for a person's own files, never for what lies in the state folder. */
  readonly follow?: boolean;
}

/**
 * Reads a whole small file; undefined when there is none. A pipe or a device is refused, not waited for.
 * @throws AgentError `host/read-failed` (drop) when it is too large or no regular file, (retry) on every other fault.
 */
export async function readWhole(files: Files, path: string, options: ReadOptions = {}): Promise<Buffer | undefined> {
  const { limitBytes = MAX_SMALL_FILE_BYTES, follow = false } = options;
  try {
    const file = await files.open(path, 'read', { follow });
    try {
      return await readUpTo(file, limitBytes);
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    const code = systemCode(cause);
    const why: Readonly<Record<string, string>> = {
      EINVAL: 'it is not a regular file',
      EISDIR: 'it is a folder',
      ENXIO: 'it is not a regular file',
      ELOOP: 'it is a link',
      EFBIG: `it has more than ${limitBytes} bytes`,
    };
    const known = code === undefined ? undefined : why[code];
    throw new AgentError('host/read-failed', `cannot read ${path}: ${known ?? code ?? 'unknown fault'}`, {
      recovery: known === undefined ? 'retry' : 'drop',
      cause,
    });
  }
}

/** A person's own file: links are followed. @throws as `readWhole`. */
export function readUserFile(path: string, limitBytes?: number): Promise<Buffer | undefined> {
  return readWhole(systemFiles, path, { follow: true, ...(limitBytes === undefined ? {} : { limitBytes }) });
}

/** Tells if this user can see a file that it could not read: in a folder that may not be entered nothing is known to be there. */
export function isUserFileSeen(path: string): Promise<boolean> {
  return systemFiles.facts(path).then(
    (facts) => facts !== undefined,
    () => false,
  );
}

/** Reads until the end: files of the kernel say that their size is 0, and some grow while they are read. */
async function readUpTo(file: OpenFile, limitBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const piece = Buffer.allocUnsafe(Math.min(READ_STEP_BYTES, limitBytes + 1 - at));
    const bytes = await file.read(piece, at);
    if (bytes === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, bytes));
    at += bytes;
    if (at > limitBytes) throw Object.assign(new Error('too large'), { code: 'EFBIG' });
  }
}
