/**
 * A firmware file that the platform does not keep itself but points to (`fw_url`). It comes from anywhere, so: https only, at every step of
 * a bounded number of redirects, without the token and without anything else that is the platform's. What it brings is verified later.
 */
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { piecesOf } from './body-pieces.ts';
import type { FirmwareBody } from './device-api.ts';
import { networkError, PlatformError } from './platform-error.ts';

export interface ExternalFileSettings {
  /** PEM of authorities to trust instead of the system's. */
  readonly ca?: string | Buffer;
  readonly proxy?: string;
  /** For the whole file. Default 30 min. */
  readonly deadlineMs?: number;
}

const MOST_REDIRECTS = 5;
const DEADLINE_MS = 30 * 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 30_000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Opens the file as a stream; the caller reads it to the end or ends its iteration.
 * @throws PlatformError `platform/settings` (stop) for an address or a redirect that is not https, and for more redirects than are
 * followed; `platform/busy` (retry) for every fault of the network and every other status.
 */
export async function openExternalFile(address: string, settings: ExternalFileSettings, signal: AbortSignal): Promise<FirmwareBody> {
  const dispatcher = dispatcherFor(settings);
  const ended = AbortSignal.any([signal, AbortSignal.timeout(settings.deadlineMs ?? DEADLINE_MS)]);
  try {
    let url = httpsUrl(address);
    for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
      const { origin, pathname, search } = url;
      const target = { origin, path: `${pathname}${search}`, method: 'GET' } as const;
      const response = await dispatcher.request({
        ...target,
        signal: ended,
        headersTimeout: HEADERS_TIMEOUT_MS,
        headers: { accept: '*/*' },
      });
      if (response.statusCode === 200) return bodyOf(response, dispatcher);
      const { location } = response.headers;
      await response.body.dump();
      if (!REDIRECTS.has(response.statusCode) || typeof location !== 'string')
        throw new PlatformError('busy', `the file's own address answers ${response.statusCode}`, { status: response.statusCode });
      url = httpsUrl(new URL(location, url).href);
    }
    throw new PlatformError('settings', `the file's own address redirects more than ${MOST_REDIRECTS} times`);
  } catch (error) {
    await dispatcher.destroy();
    throw error instanceof PlatformError ? error : networkError(error, [address]);
  }
}

function httpsUrl(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'https:') throw new PlatformError('settings', "the file's own address is not https, and is not followed");
  url.username = '';
  url.password = '';
  return url;
}

function dispatcherFor({ ca, proxy }: ExternalFileSettings): Dispatcher {
  const connect = { timeout: CONNECT_TIMEOUT_MS, ...(ca === undefined ? {} : { ca }) };
  return proxy === undefined ? new Agent({ connect }) : new ProxyAgent({ uri: proxy, requestTls: connect });
}

function bodyOf(response: Dispatcher.ResponseData, dispatcher: Dispatcher): FirmwareBody {
  const length = response.headers['content-length'];
  return {
    ...(typeof length === 'string' && /^\d+$/.test(length) ? { lengthBytes: Number(length) } : {}),
    stream: read(response.body, dispatcher),
  };
}

async function* read(body: Readable, dispatcher: Dispatcher): AsyncGenerator<Uint8Array> {
  try {
    yield* piecesOf(body);
  } catch (error) {
    throw networkError(error, []);
  } finally {
    await dispatcher.destroy();
  }
}
