/** Checksums of packages as the real platform writes them: lower-case hex of the hash's bytes (platform/wire-facts.md, "Firmware"). */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import murmur from 'murmurhash3js-revisited';

export const CHECKSUM_ALGORITHMS = ['MD5', 'SHA256', 'SHA384', 'SHA512', 'CRC32', 'MURMUR3_32', 'MURMUR3_128'] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** Part of a file: from the first byte up to, not including, the last. */
export interface FilePart {
  readonly path: string;
  readonly from: number;
  readonly until: number;
}

export async function checksumOf(part: FilePart, algorithm: ChecksumAlgorithm): Promise<string> {
  switch (algorithm) {
    case 'CRC32': {
      let crc = 0;
      for await (const chunk of readPart(part)) crc = crc32(chunk, crc);
      return littleEndian32(crc);
    }
    case 'MURMUR3_32':
      return littleEndian32(murmur.x86.hash32(await buffer(readPart(part))));
    case 'MURMUR3_128': {
      const hex = murmur.x64.hash128(await buffer(readPart(part)));
      return reversed(hex.slice(0, 16)) + reversed(hex.slice(16));
    }
    default: {
      const hash = createHash(algorithm.toLowerCase());
      for await (const chunk of readPart(part)) hash.update(chunk);
      return hash.digest('hex');
    }
  }
}

/** The bytes of a part, in pieces. */
export function readPart({ path, from, until }: FilePart): AsyncIterable<Buffer> {
  if (until <= from) return Readable.from([]);
  return createReadStream(path, { start: from, end: until - 1, highWaterMark: 256 * 1024 });
}

function littleEndian32(value: number): string {
  return reversed((value >>> 0).toString(16).padStart(8, '0'));
}

function reversed(hex: string): string {
  return Buffer.from(hex, 'hex').reverse().toString('hex');
}
