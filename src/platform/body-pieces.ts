/**
 * A body's pieces as they came from the socket. A Readable's own iterator joins whatever waits into one new buffer, so that every byte of an
 * image is copied once more and collected twice as often; on a heap of 64 MB that doubled the time of a download.
 */
import type { Readable } from 'node:stream';
import type { Clock } from '../host/clock.ts';
import { PlatformError } from './platform-error.ts';

export interface BodyReading {
  readonly clock: Clock;
  /** For so long nothing may come while it is waited for: the time that the caller takes does not count. */
  readonly maxMs: number;
  /** Told when somebody begins to read, and when nobody reads any more. */
  readonly begun?: () => void;
  readonly ended?: () => unknown;
  /** Returns the error to throw in place of a fault. */
  readonly faultOf?: (error: unknown) => unknown;
}

/** Ends with the body, or ends it early. @throws PlatformError `platform/busy` (retry) when nothing comes for too long; what the body fails with. */
export async function* piecesOf(
  body: Readable,
  { clock, maxMs, begun, ended, faultOf }: BodyReading,
): AsyncGenerator<Uint8Array> {
  begun?.();
  const waiting: Uint8Array[] = [];
  let wake = (): void => {};
  let failure: unknown;
  let isOver = false;
  const over = (error?: unknown): void => {
    failure ??= error;
    isOver = true;
    wake();
  };
  body.on('data', (piece: Uint8Array) => {
    body.pause();
    waiting.push(piece);
    wake();
  });
  body.once('end', () => over());
  // After the end this changes nothing; without one the connection was cut.
  body.once('close', () => isOver || over(new Error('the body ended early')));
  body.on('error', over);
  try {
    for (;;) {
      const piece = waiting.shift();
      if (piece !== undefined) yield piece;
      else if (failure !== undefined) throw failure;
      else if (isOver) return;
      else {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const cancel = clock.after(maxMs, () => over(silence(maxMs)));
        body.resume();
        await woken;
        cancel();
      }
    }
  } catch (error) {
    throw faultOf === undefined ? error : faultOf(error);
  } finally {
    if (!body.readableEnded) body.destroy();
    await ended?.();
  }
}

function silence(maxMs: number): PlatformError {
  const seconds = Math.round(maxMs / 1_000);
  return new PlatformError('busy', `the file stopped half way: nothing came for ${seconds} s`, { cut: true });
}
