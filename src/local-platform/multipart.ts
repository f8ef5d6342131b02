/**
 * One file out of a multipart/form-data request (RFC 7578), written to disk as it comes: a firmware image is never held in memory. The
 * whole request is kept as it came, and the answer says where in it the file lies.
 */
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FilePart } from './package-checksum.ts';
import { PayloadFault } from './payload-fault.ts';

export interface UploadedFile extends FilePart {
  readonly fileName: string;
  readonly contentType: string;
}

/** Headers of the parts, and fields before the file, end well before this. */
const HEAD_BYTES = 64 * 1024;
const TAIL_BYTES = 8 * 1024;

/** Writes a request's body to `path` and finds the part named `file`, which must be the last. @throws PayloadFault when there is none. */
export async function receiveFile(request: Readable, contentType: string | undefined, path: string): Promise<UploadedFile> {
  const boundary = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType ?? '');
  const mark = boundary?.[1] ?? boundary?.[2];
  if (contentType?.startsWith('multipart/form-data') !== true || mark === undefined)
    throw new PayloadFault('Current request is not a multipart request');
  await pipeline(request, createWriteStream(path, { mode: 0o600 }));
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = (await file.read(Buffer.alloc(Math.min(size, HEAD_BYTES)), 0, Math.min(size, HEAD_BYTES), 0)).buffer;
    const headers = head.toString('latin1');
    const part = /\r\n?content-disposition:[^\r]*\bname="file"[^\r]*/i.exec(headers);
    const headersEnd = part === null ? -1 : headers.indexOf('\r\n\r\n', part.index);
    if (part === null || headersEnd === -1) throw new PayloadFault("Required part 'file' is not present.");
    const tailFrom = Math.max(headersEnd + 4, size - TAIL_BYTES);
    const tail = Buffer.alloc(size - tailFrom);
    await file.read(tail, 0, tail.length, tailFrom);
    const end = tail.lastIndexOf(`\r\n--${mark}--`);
    if (end === -1) throw new PayloadFault('The multipart request does not end with its boundary');
    const partHeaders = headers.slice(headers.lastIndexOf(`--${mark}`, part.index), headersEnd);
    return {
      path,
      from: headersEnd + 4,
      until: tailFrom + end,
      fileName: /filename="([^"]*)"/i.exec(partHeaders)?.[1] ?? 'file',
      contentType: /\r\ncontent-type:\s*([^\r]+)/i.exec(partHeaders)?.[1]?.trim() ?? 'application/octet-stream',
    };
  } finally {
    await file.close();
  }
}
