/** Files of any length, read in pieces: nothing of them is held in memory but the piece in hand. */
import { createHash } from 'node:crypto';
import type { OpenFile } from '../host/files.ts';
import type { UpdateFiles } from './update-files.ts';

const PIECE_BYTES = 64 * 1024;

/** Uses a regular file, never through a link, and closes it. @throws as `openPlain`. */
export async function withPlain<T>(
  files: Pick<UpdateFiles, 'openPlain'>,
  path: string,
  use: (file: OpenFile) => Promise<T>,
): Promise<T> {
  const file = await files.openPlain(path);
  return use(file).finally(() => file.close());
}

/** The bytes from `from` up to `until`, or to the file's end; a piece holds until the next is asked for. */
export async function* piecesOf(
  file: OpenFile,
  until = Number.POSITIVE_INFINITY,
  from = 0,
): AsyncGenerator<Buffer, void> {
  const piece = Buffer.alloc(PIECE_BYTES);
  for (let at = from; at < until; ) {
    const bytes = await file.read(piece.subarray(0, Math.min(piece.length, until - at)), at);
    if (bytes === 0) return;
    yield piece.subarray(0, bytes);
    at += bytes;
  }
}

/** The SHA-256 of the bytes up to `until`, and how many there were. */
export async function sha256Of(
  file: OpenFile,
  until?: number,
): Promise<{ readonly sha256: Buffer; readonly bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of piecesOf(file, until)) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { sha256: hash.digest(), bytes };
}

/** Makes `target` the first `until` bytes of `source`, durably; resolves with how many there were. `see` is shown each piece. */
export async function copyPieces(
  source: OpenFile,
  target: OpenFile,
  until: number,
  see: (piece: Buffer) => void = () => {},
): Promise<number> {
  await target.truncate(0);
  let at = 0;
  for await (const piece of piecesOf(source, until)) {
    see(piece);
    await target.write(piece, at);
    at += piece.length;
  }
  await target.datasync();
  return at;
}
