/** The seven checksums a platform may name for a firmware file, each computed in a stream (src/platform/wire-facts.md, "Firmware"). */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { refusal } from '../errors/agent-error.ts';
import { Murmur3With32Bits, Murmur3With128Bits, type StreamingHash } from './murmur3.ts';

export type ChecksumAlgorithm = keyof typeof ALGORITHMS;

interface Algorithm {
  readonly digits: number;
  /** Finds accidents but not intent; MD5 is broken too. */
  readonly weak: boolean;
  /** Some servers and scripts print a 32-bit sum with its bytes the other way round. */
  readonly eitherOrder?: true;
  readonly start: () => StreamingHash;
}

const ALGORITHMS = {
  MD5: { digits: 32, weak: true, start: () => createHash('md5') },
  SHA256: { digits: 64, weak: false, start: () => createHash('sha256') },
  SHA384: { digits: 96, weak: false, start: () => createHash('sha384') },
  SHA512: { digits: 128, weak: false, start: () => createHash('sha512') },
  CRC32: { digits: 8, weak: true, eitherOrder: true, start: () => new Crc32() },
  MURMUR3_32: { digits: 8, weak: true, eitherOrder: true, start: () => new Murmur3With32Bits() },
  MURMUR3_128: { digits: 32, weak: true, start: () => new Murmur3With128Bits() },
} as const satisfies Record<string, Algorithm>;

/** The algorithm a name means, however it is written ("sha-256"); undefined for an unknown one. */
export function checksumAlgorithm(name: string): ChecksumAlgorithm | undefined {
  const upper = name.trim().toUpperCase();
  const known = [upper, upper.replace('-', ''), upper.replaceAll('-', '_')].find((form) =>
    Object.hasOwn(ALGORITHMS, form),
  );
  return known as ChecksumAlgorithm | undefined;
}

/** True for an algorithm that says nothing about who made a file. */
export function isWeak(algorithm: ChecksumAlgorithm): boolean {
  return ALGORITHMS[algorithm].weak;
}

/** Adds up a file as it passes. */
export function startSum(algorithm: ChecksumAlgorithm): StreamingHash {
  return ALGORITHMS[algorithm].start();
}

/**
 * Compares a sum with what the platform announced: without regard to case, leading zeros kept or lost.
 * @throws AgentError `firmware/checksum-mismatch` (drop) with both sums.
 */
export function expectSum(algorithm: ChecksumAlgorithm, digest: Buffer, announced: string): void {
  const { digits, eitherOrder }: Algorithm = ALGORITHMS[algorithm];
  const wanted = announced.trim().toLowerCase().padStart(digits, '0');
  const found = digest.toString('hex');
  if (wanted === found || (eitherOrder === true && wanted === Buffer.from(digest).reverse().toString('hex'))) return;
  throw refusal('firmware/checksum-mismatch', `the checksum is ${found}, announced was ${wanted.slice(0, 128)}`);
}

class Crc32 implements StreamingHash {
  #sum = 0;

  update(bytes: Uint8Array): void {
    this.#sum = crc32(bytes, this.#sum);
  }

  digest(): Buffer {
    const digest = Buffer.alloc(4);
    digest.writeUInt32LE(this.#sum);
    return digest;
  }
}
