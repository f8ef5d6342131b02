/** Bytes that stand before a new one in the line of one connection: written, and not known to have passed. */
import type { Socket } from 'node:net';
import type { LineSpeed } from './line-speed.ts';

export interface BytesAhead {
  /** Notes that all so far are written; returns what to call once the server has answered the last of them. */
  readonly written: () => () => void;
  /** Returns the time that they may take. */
  readonly extraMs: () => number;
}

/** Watches a socket on which answers come in any order: each proves that all before its request has passed. */
export function bytesAhead(socket: Pick<Socket, 'bytesWritten'>, line: LineSpeed): BytesAhead {
  let passedBytes = 0;
  return {
    written: () => {
      const { bytesWritten } = socket;
      return () => {
        passedBytes = Math.max(passedBytes, bytesWritten);
      };
    },
    extraMs: () => line.extraMs(socket.bytesWritten - passedBytes),
  };
}
