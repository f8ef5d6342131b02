/**
 * The archive of a release: a tar of plain files behind its manifest, compressed with zstd. Written in one fixed way, so that two builds
 * of one commit are the same bytes; read so strictly that what is not in the manifest, in its order and size, never reaches the disk.
 * Links, devices, folders, absolute paths and `..` have no spelling that this reader takes.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { constants, createZstdDecompress } from 'node:zlib';
import { type AgentError, refusal } from '../errors/agent-error.ts';
import type { OpenFile } from '../host/files.ts';
import { piecesOf } from './file-pieces.ts';
import {
  MANIFEST_NAME,
  MAX_MANIFEST_BYTES,
  parseManifest,
  type ReleaseFile,
  type ReleaseManifest,
} from './release-manifest.ts';

const BLOCK_BYTES = 512;
/** 8 MiB: what a small gateway can spare to decompress; a larger window is refused by the decoder. */
export const WINDOW_LOG = 23;
const DECOMPRESSED_BYTES = 64 * 1024;
/** Modified times of every entry: the same for every build (2020-01-01). */
const MTIME_S = 1_577_836_800;

/** Where unpacked files go. */
export interface ReleaseSink {
  /** Called once, before any file; throws to refuse the release. */
  begin(manifest: ReleaseManifest, text: Uint8Array): Promise<void>;
  /** A file, and then its content in pieces. */
  open(file: ReleaseFile): Promise<{ write(bytes: Uint8Array): Promise<void>; close(): Promise<void> }>;
}

/** One entry of the archive: header, content, padding. */
export function* archiveEntry(path: string, content: Uint8Array, executable: boolean): Generator<Uint8Array> {
  yield entryHeader(path, content.length, executable);
  yield content;
  yield Buffer.alloc(paddingAfter(content.length));
}

/** The end of an archive. */
export const ARCHIVE_END = Buffer.alloc(2 * BLOCK_BYTES);

/**
 * Unpacks the first `archiveBytes` of a release file into a sink and resolves with its manifest, once every file was whole.
 * @throws AgentError `firmware/bad-archive`, `firmware/bad-manifest` (drop), and whatever the sink throws.
 */
export async function unpackArchive(
  file: OpenFile,
  archiveBytes: number,
  sink: ReleaseSink,
  signal: AbortSignal,
): Promise<ReleaseManifest> {
  const source = new EntryReader(decompressed(file, archiveBytes, signal));
  try {
    const { manifest, text } = await takeManifest(source);
    await sink.begin(manifest, text);
    for (const expected of manifest.files) {
      const entry = parseHeader(await source.take(BLOCK_BYTES));
      if (entry.path !== expected.path || entry.bytes !== expected.bytes)
        throw bad(`expected ${expected.path}, found something else`);
      await unpackFile(source, expected, sink);
      await source.take(paddingAfter(expected.bytes));
    }
    if (!(await source.take(ARCHIVE_END.length)).equals(ARCHIVE_END)) throw bad('something follows its last file');
    await source.expectEnd();
    return manifest;
  } finally {
    await source.close();
  }
}

/** Reads no further than the manifest. @throws AgentError `firmware/bad-archive`, `firmware/bad-manifest` (drop). */
export async function readImageManifest(
  file: OpenFile,
  archiveBytes: number,
  signal: AbortSignal,
): Promise<ReleaseManifest> {
  const source = new EntryReader(decompressed(file, archiveBytes, signal));
  const { manifest } = await takeManifest(source).finally(() => source.close());
  return manifest;
}

async function takeManifest(
  source: EntryReader,
): Promise<{ readonly manifest: ReleaseManifest; readonly text: Buffer }> {
  const head = parseHeader(await source.take(BLOCK_BYTES));
  if (head.path !== MANIFEST_NAME || head.bytes > MAX_MANIFEST_BYTES) throw bad('it does not begin with a manifest');
  const text = await source.take(head.bytes);
  await source.take(paddingAfter(head.bytes));
  return { manifest: parseManifest(text.toString('utf8')), text };
}

async function unpackFile(source: EntryReader, expected: ReleaseFile, sink: ReleaseSink): Promise<void> {
  const target = await sink.open(expected);
  const hash = createHash('sha256');
  try {
    for (let left = expected.bytes; left > 0; ) {
      const piece = await source.piece(left);
      hash.update(piece);
      await target.write(piece);
      left -= piece.length;
    }
  } finally {
    await target.close();
  }
  if (hash.digest('hex') !== expected.sha256) throw bad(`${expected.path} is not the file of the manifest`);
}

async function* decompressed(file: OpenFile, archiveBytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (archiveBytes === 0) return;
  const input = Readable.from(heldPieces(file, archiveBytes, signal), { objectMode: false });
  const zstd = createZstdDecompress({
    params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG },
    chunkSize: DECOMPRESSED_BYTES,
  });
  input.once('error', (error) => zstd.destroy(error));
  try {
    yield* input.pipe(zstd) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    signal.throwIfAborted();
    throw bad('it cannot be decompressed', cause);
  } finally {
    input.destroy();
    zstd.destroy();
  }
}

/** Copies: the stream behind holds several at once. */
async function* heldPieces(file: OpenFile, bytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of piecesOf(file, bytes)) {
    signal.throwIfAborted();
    yield Buffer.from(piece);
  }
}

/** Hands out a stream of pieces in the sizes that are asked for. */
class EntryReader {
  readonly #pieces: AsyncGenerator<Uint8Array>;
  #held: Uint8Array = new Uint8Array();

  constructor(pieces: AsyncGenerator<Uint8Array>) {
    this.#pieces = pieces;
  }

  /** Up to `most` bytes, at least one. */
  async piece(most: number): Promise<Uint8Array> {
    while (this.#held.length === 0) {
      const next = await this.#pieces.next();
      if (next.done === true) throw bad('it ends too early');
      this.#held = next.value;
    }
    const piece = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }

  async take(bytes: number): Promise<Buffer> {
    const taken = Buffer.alloc(bytes);
    for (let at = 0; at < bytes; ) {
      const piece = await this.piece(bytes - at);
      taken.set(piece, at);
      at += piece.length;
    }
    return taken;
  }

  async expectEnd(): Promise<void> {
    const next = await this.#pieces.next();
    if (this.#held.length > 0 || next.done !== true) throw bad('something follows its end');
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined);
  }
}

/** A POSIX.1-1988 ustar header with every field that could differ between builds fixed. */
function entryHeader(path: string, bytes: number, executable: boolean): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(path, 0, 100, 'latin1');
  header.write(executable ? '0000755\0' : '0000644\0', 100, 'latin1');
  header.write('0000000\0' + '0000000\0', 108, 'latin1');
  header.write(`${bytes.toString(8).padStart(11, '0')}\0${MTIME_S.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  header.write('        0', 148, 'latin1');
  header.write('ustar\0' + '00root', 257, 'latin1');
  header.write('root', 297, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** Takes a header only when it is, byte for byte, the one that the writer would have made. */
function parseHeader(header: Buffer): { path: string; bytes: number } {
  const path = header.toString('latin1', 0, 100).replace(/\0+$/, '');
  const bytes = Number.parseInt(header.toString('latin1', 124, 135), 8);
  const fits = bytes >= 0 && [true, false].some((executable) => entryHeader(path, bytes, executable).equals(header));
  if (!fits) throw bad('an entry is not a plain file');
  return { path, bytes };
}

function paddingAfter(bytes: number): number {
  return (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

function bad(what: string, cause?: unknown): AgentError {
  return refusal('firmware/bad-archive', `the release archive is refused: ${what}`, cause);
}
