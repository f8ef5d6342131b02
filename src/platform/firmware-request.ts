/** Endpoint 10: part of a firmware file, or the whole, as a stream that nobody holds in memory. */
import { type Answer, expectValue, type Verdict } from './answer-or-portal.ts';
import { piecesOf } from './body-pieces.ts';
import type { DeviceApi, FirmwareBody } from './device-api.ts';
import { answerOf, type ExchangeDeps, faultOf, header, lengthIn, openExchange, readBody } from './http-exchange.ts';
import { PlatformError } from './platform-error.ts';

export interface FirmwareRequest {
  /** P/firmware, without a query. */
  readonly path: string;
  readonly image: Parameters<DeviceApi['getFirmware']>[0];
  /** The answer begins within this time, and then nothing stays away for longer; the whole has no time of its own. */
  readonly silenceMs: number;
}

export interface FirmwareRequestDeps extends ExchangeDeps {
  readonly judge: (answer: Answer) => Verdict;
}

/** Bytes read of an answer that is no file. */
const MAX_FAULT = 64 * 1024;

/**
 * Asks for the file or a chunk of it. A stream that nobody begins to read is ended as one that is silent.
 * @throws PlatformError `platform/refused` (400: another image is assigned now), `platform/not-found` (404: none is, or it lives at
 * `fw_url`), `platform/portal` and the rest of answer-or-portal.ts.
 */
export async function openFirmware(
  request: FirmwareRequest,
  deps: FirmwareRequestDeps,
  signal: AbortSignal,
): Promise<FirmwareBody> {
  const { title, version, sizeBytes, chunk } = request.image;
  const query = new URLSearchParams({ title, version });
  if (sizeBytes !== undefined && sizeBytes > 0) {
    query.set('size', String(sizeBytes));
    query.set('chunk', String(chunk ?? 0));
  }
  const { response, release, watched } = await openExchange(
    {
      lane: 'download',
      method: 'GET',
      path: `${request.path}?${query}`,
      contentType: '*/*',
      deadlineMs: request.silenceMs,
      limitBytes: 0,
    },
    deps,
    signal,
  );
  if (response.statusCode !== 200 || header(response, 'content-type')?.startsWith('text/html') === true) {
    try {
      const { body, cut } = await readBody(response.body, MAX_FAULT);
      expectValue(deps.judge(answerOf(response, body, cut)), 'downloading firmware');
      throw new PlatformError('bad-answer', `downloading firmware: status ${response.statusCode} brings no file`);
    } catch (error) {
      throw faultOf(error, deps, signal);
    } finally {
      release();
    }
  }
  // A stream that is never read ends its deadline too, when the client is closed.
  response.body.once('close', release);
  return {
    lengthBytes: lengthIn(header(response, 'content-length')),
    stream: piecesOf(response.body, {
      clock: deps.clock,
      maxMs: request.silenceMs,
      begun: watched,
      ended: release,
      faultOf: (error) => faultOf(error, deps, signal),
    }),
  };
}
