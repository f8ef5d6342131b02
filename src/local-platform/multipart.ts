/** One file out of a multipart/form-data request (RFC 7578), written to disk as it comes: a firmware image is never kept whole in memory. */
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { systemCode } from '../errors/agent-error.ts';
import type { FilePart } from './package-checksum.ts';
import { PayloadFault } from './request-faults.ts';

export interface UploadedFile extends FilePart {
  readonly fileName: string;
  readonly contentType: string;
}

/** Size of each part's headers, of which there are two or three. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Writes the part named `file` of a request's body to `path`. @throws PayloadFault when there is none. */
export async function receiveFile(request: Readable, contentType: string | undefined, path: string): Promise<UploadedFile> {
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
