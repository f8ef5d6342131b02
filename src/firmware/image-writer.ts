/**
 * Writes pieces of an image to their place and adds them up as they pass: while a piece is on its way to the disk the next is taken from
 * the wire and hashed. Where the sums missed something (what an earlier run received, a chunk that came twice) they are caught up from the disk.
 */
import type { OpenFile } from '../host/files.ts';
import type { FirmwareBody } from '../platform/device-api.ts';
import type { ChecksumAlgorithm } from './checksum.ts';
import { ImageDigest } from './image-digest.ts';

export interface Pour {
  /** Where the first byte goes. */
  readonly at: number;
  /** Called before each piece is written, with the bytes received so far, it included; throws to refuse it. */
  readonly allow: (receivedBytes: number) => void;
  /** Called after each piece; may wait, to keep to a rate. */
  readonly taken: (pieceBytes: number, receivedBytes: number) => Promise<void>;
}

export class ImageWriter {
  readonly #part: OpenFile;
  readonly #algorithm: ChecksumAlgorithm;
  #digest: ImageDigest;

  constructor(part: OpenFile, algorithm: ChecksumAlgorithm) {
    this.#part = part;
    this.#algorithm = algorithm;
    this.#digest = new ImageDigest(algorithm);
  }

  /** Writes a stream to its place; resolves with its length once all of it is written, though not yet synced. */
  async pour(stream: AsyncIterable<Uint8Array>, pour: Pour, signal: AbortSignal): Promise<number> {
    let received = 0;
    let writing: Promise<void> = Promise.resolve();
    try {
      for await (const piece of stream) {
        signal.throwIfAborted();
        pour.allow(received + piece.length);
        await writing;
        const at = pour.at + received;
        writing = this.#part.write(piece, at);
        // Awaited before the next write; a fault must not count as unhandled until then.
        writing.catch(() => undefined);
        if (this.#digest.bytes === at) this.#digest.update(piece);
        received += piece.length;
        await pour.taken(piece.length, received);
      }
      await writing;
    } catch (error) {
      await writing.catch(() => undefined);
      throw error;
    }
    return received;
  }

  /** Takes back everything from `bytes` on. */
  async cut(bytes: number): Promise<void> {
    await this.#part.truncate(bytes);
    if (this.#digest.bytes > bytes) this.#digest = new ImageDigest(this.#algorithm);
  }

  async sync(): Promise<void> {
    await this.#part.datasync();
  }

  /** Makes the first `bytes` durable and resolves with their sums. */
  async finish(bytes: number, signal: AbortSignal): Promise<ImageDigest> {
    await this.#part.datasync();
    await this.#digest.catchUp(this.#part, bytes, signal);
    return this.#digest;
  }
}

/** Ends an answer that nobody wants; its stream releases the connection only once it was begun. */
export async function discard(body: FirmwareBody): Promise<void> {
  const pieces = body.stream[Symbol.asyncIterator]();
  await pieces.next().catch(() => undefined);
  await pieces.return?.();
}
