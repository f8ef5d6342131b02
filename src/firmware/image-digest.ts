/**
 * Adds up an image while it is downloaded: the announced checksum over all of it, and the hash that its signature signs over all but the
 * frame at its end. What was downloaded before a restart is read again from the disk, so that no byte is left out.
 */
import { createHash, type Hash } from 'node:crypto';
import type { OpenFile } from '../host/files.ts';
import { type ChecksumAlgorithm, expectSum, startSum } from './checksum.ts';
import { piecesOf } from './file-pieces.ts';
import type { StreamingHash } from './murmur3.ts';
import { SIGNATURE_FRAME_BYTES } from './release-signature.ts';

export class ImageDigest {
  readonly #algorithm: ChecksumAlgorithm;
  /** Undefined for SHA-256, which is what the signature signs too: then one hash does for both. */
  readonly #checksum: StreamingHash | undefined;
  readonly #signed: Hash = createHash('sha256');
  /** The last bytes so far: at the end they are the signature's frame. */
  readonly #tail = Buffer.alloc(SIGNATURE_FRAME_BYTES);
  #tailBytes = 0;
  #bytes = 0;

  constructor(algorithm: ChecksumAlgorithm) {
    this.#algorithm = algorithm;
    this.#checksum = algorithm === 'SHA256' ? undefined : startSum(algorithm);
  }

  /** How many bytes were added; the next are expected from there. */
  get bytes(): number {
    return this.#bytes;
  }

  update(piece: Uint8Array): void {
    this.#checksum?.update(piece);
    this.#bytes += piece.length;
    const leaving = Math.max(0, this.#tailBytes + piece.length - this.#tail.length);
    const fromTail = Math.min(leaving, this.#tailBytes);
    this.#signed.update(this.#tail.subarray(0, fromTail));
    this.#signed.update(piece.subarray(0, leaving - fromTail));
    this.#tail.copyWithin(0, fromTail, this.#tailBytes);
    this.#tail.set(piece.subarray(leaving - fromTail), this.#tailBytes - fromTail);
    this.#tailBytes += piece.length - leaving;
  }

  /** Adds what a file holds from where this stands up to `untilBytes`. */
  async catchUp(file: OpenFile, untilBytes: number, signal: AbortSignal): Promise<void> {
    for await (const piece of piecesOf(file, untilBytes, this.#bytes)) {
      signal.throwIfAborted();
      this.update(piece);
    }
  }

  /** @throws AgentError `firmware/checksum-mismatch` (drop). */
  expectChecksum(announced: string): void {
    const ended = this.#checksum ?? this.#signed.copy().update(this.#tail.subarray(0, this.#tailBytes));
    expectSum(this.#algorithm, ended.digest(), announced);
  }

  /** The hash of all bytes but the signature frame. */
  signedSha256(): Buffer {
    return this.#signed.copy().digest();
  }
}
