/** Files of packages: received out of a multipart/form-data request (RFC 7578) straight to the disk, read in parts, and their checksums. */

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import murmur from 'murmurhash3js-revisited';
import { systemCode } from '../../errors/agent-error.ts';
import { PayloadFault } from './http-reply.ts';

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

export interface UploadedFile extends FilePart {
  readonly fileName: string;
  readonly contentType: string;
}

/** Size of each part's headers, of which there are two or three. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Writes the part named `file` of a request's body to `path`. @throws PayloadFault when there is none. */
export async function receiveFile(
  request: Readable,
  contentType: string | undefined,
  path: string,
): Promise<UploadedFile> {
  const parser = parserFor(contentType);
  const ended = new AbortController();
  let received: Promise<UploadedFile> | undefined;
  parser.on('file', (_field, bytes, fileName = 'file', _encoding, type) => {
    const file = createWriteStream(path, { mode: 0o600 });
    received = pipeline(bytes, file, { signal: ended.signal }).then(() => ({
      path,
      from: 0,
      until: file.bytesWritten,
      fileName,
      contentType: type,
    }));
    received.catch((error) => parser.destroy(error));
  });
  try {
    await pipeline(request, parser);
    if (received !== undefined) return await received;
  } catch (cause) {
    ended.abort(cause);
    await received?.catch(() => {});
    // Faults of the disk or the connection have a code; a fault of the body has none.
    if (systemCode(cause) !== undefined) throw cause;
    throw new PayloadFault('The multipart request does not end with its boundary');
  }
  throw new PayloadFault("Required part 'file' is not present.");
}

/** @throws PayloadFault for a content type that is none of multipart/form-data with a boundary. */
function parserFor(contentType = ''): BusboyInstance {
  try {
    if (contentType.startsWith('multipart/form-data'))
      return new Busboy({
        headers: { 'content-type': contentType },
        isPartAFile: (field) => field === 'file',
        preservePath: true,
        limits: { files: 1, fields: 0, headerSize: MAX_HEADER_BYTES },
      });
  } catch {
    // Without a boundary it is no multipart request either.
  }
  throw new PayloadFault('Current request is not a multipart request');
}
