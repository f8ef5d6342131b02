/** Body of an answer over HTTP/2, which ends only when the server has ended it: a stream that was reset looks like one that is over. */
import type { ClientHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { brokenConnection } from './lane-request.ts';

/** Returns Node's HTTP/2, loaded with the first connection that speaks it: it is a twentieth of a start. */
export function http2(): typeof import('node:http2') {
  return process.getBuiltinModule('node:http2');
}

/**
 * Returns the body as it comes; read no faster than it is taken, so that the stream's window holds the server back. Ends with an error when it
 * was cut. A body that is destroyed ends its stream, and the connection stays.
 */
export function bodyOfStream(
  stream: ClientHttp2Stream,
  contentLength: string | undefined,
  arrived: (bytes: number) => void,
): Readable {
  let bytes = 0;
  let isOver = false;
  const body = new Readable({
    read: () => {
      stream.resume();
    },
    destroy: (error, done) => {
      endStream(stream);
      done(error);
    },
  });
  const finish = (isEnd: boolean): void => {
    if (isOver) return;
    isOver = true;
    const isClean = isEnd && stream.rstCode === http2().constants.NGHTTP2_NO_ERROR;
    const isWhole = isClean && (contentLength === undefined || Number(contentLength) === bytes);
    if (isWhole) body.push(null);
    else body.destroy(brokenConnection(`the answer was cut after ${bytes} bytes (stream error ${stream.rstCode})`));
  };
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    arrived(chunk.byteLength);
    if (!body.push(chunk)) stream.pause();
  });
  stream.once('end', () => {
    // The end of the connection ends its streams, too, without a code.
    finish(!stream.destroyed);
    // An answer may come before the whole request has gone, whose rest nobody wants.
    if (!stream.writableFinished) endStream(stream);
  });
  stream.once('close', () => finish(false));
  return body;
}

/** Ends a stream at once, whatever is under way on it; its connection stays. Idempotent. */
export function endStream(stream: ClientHttp2Stream): void {
  if (stream.destroyed) return;
  stream.close(http2().constants.NGHTTP2_CANCEL);
  stream.destroy();
}
