/**
 * Adds up an image while it is downloaded: the announced checksum over all of it, and the SHA-256 that its signature signs over all but
 * the frame at its end. What another process downloaded is read from the disk, so that no byte is left out.
 */
import { createHash, type Hash } from 'node:crypto';
import type { OpenFile } from '../host/files.ts';
import { type ChecksumAlgorithm, startSum } from './checksum.ts';
import { piecesOf } from './file-pieces.ts';
import type { StreamingHash } from './murmur3.ts';
import { SIGNATURE_FRAME_BYTES } from './release-signature.ts';

export class ImageSums {
  /** Undefined for SHA-256, which is what the signature signs too: then one hash does for both. */
  readonly #checksum: StreamingHash | undefined;
  readonly #signed: Hash = createHash('sha256');
  /** The last bytes so far, which are not in `#signed`: at the end they are the signature's frame. */
  #tail: Uint8Array = new Uint8Array();
  #bytes = 0;

  constructor(algorithm: ChecksumAlgorithm) {
    this.#checksum = algorithm === 'SHA256' ? undefined : startSum(algorithm);
  }

  /** Number of bytes that were added. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the next bytes of the image. */
  add(piece: Uint8Array): void {
    this.#checksum?.update(piece);
    this.#bytes += piece.length;
    const kept = Math.min(piece.length, SIGNATURE_FRAME_BYTES);
    const tail = Buffer.concat([this.#tail, piece.subarray(piece.length - kept)]);
    const leaving = Math.max(0, tail.length - SIGNATURE_FRAME_BYTES);
    // Bytes that leave the tail lie before the piece, or the piece is shorter than a frame.
    this.#signed.update(tail.subarray(0, Math.min(leaving, this.#tail.length)));
    this.#signed.update(piece.subarray(0, piece.length - kept));
    this.#tail = tail.subarray(leaving);
  }

  /** Adds what a file holds from where this stands up to `untilBytes`, or to its end. */
  async catchUp(file: OpenFile, untilBytes: number, signal: AbortSignal): Promise<void> {
    for await (const piece of piecesOf(file, untilBytes, this.#bytes)) {
      signal.throwIfAborted();
      this.add(piece);
    }
  }

  /** Returns the announced checksum, of all bytes. */
  checksum(): Buffer {
    return (this.#checksum ?? this.#signed.copy().update(this.#tail)).digest();
  }

  /** Returns the SHA-256 of all bytes but the signature's frame. */
  signedSha256(): Buffer {
    return this.#signed.copy().digest();
  }
}
