/**
 * A firmware file that the platform does not keep itself but points to (`fw_url`). It comes from anywhere, so: https only, at every step of
 * a bounded number of redirects, without the token and without anything else that is the platform's. What it brings is verified later.
 */
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import type { Clock } from '../host/clock.ts';
import { piecesOf } from './body-pieces.ts';
import type { FileBeginning, FirmwareBody } from './device-api.ts';
import { lengthIn } from './http-exchange.ts';
import { networkError, PlatformError } from './platform-error.ts';
import { mayPass } from './status-meaning.ts';
import { trusting } from './trusted-authorities.ts';

export interface ExternalFileSettings {
  readonly clock: Clock;
  /** PEM of authorities to trust beside the public ones. */
  readonly ca?: string | Buffer;
  readonly proxy?: string;
  /** The file begins within this time, and then nothing stays away for longer; the whole has no time of its own. Default 1 min. */
  readonly silenceMs?: number;
  /** Beginning of the file that is here already: only the rest is asked for, and taken where the host says that it is the rest of the same file. */
  readonly beginning?: FileBeginning;
  /** The only hosts that are asked, redirects included; default any. */
  readonly hosts?: readonly string[];
  /** Told what the link carried for the file, in bytes, as it comes. */
  readonly onCarried?: (bytes: number) => void;
}

const MAX_REDIRECTS = 5;
/** Bytes of a host's connection, TLS handshake and answer before the body, by the model of docs/link.md. */
const HOP_BYTES = 6_000;
/** Bytes on the link for each of the body: records of TLS, and headers of segments that are full. */
const LINE_SHARE = 1.055;
const SILENCE_MS = 60_000;
const HOST = "the host of the file's own address";
const CONNECT_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 30_000;
/** A weak one stands for files that differ. */
const STRONG_ETAG = /^"[\x21\x23-\x7e]{1,200}"$/;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Opens the file as a stream; the caller reads it to the end or ends its iteration.
 * @throws PlatformError `platform/settings` (stop) for an address or a redirect that is not https or not at one of the hosts, and for more redirects than are
 * followed; `platform/refused` (drop) for a web page in place of the file and for a status by which the host does not give it; `platform/busy`
 * (retry) for every fault of the network, and for a host that is busy or ill.
 */
export async function openExternalFile(
  address: string,
  settings: ExternalFileSettings,
  signal: AbortSignal,
): Promise<FirmwareBody> {
  const dispatcher = dispatcherFor(settings);
  const { clock, silenceMs = SILENCE_MS, proxy = '', hosts, onCarried = () => {} } = settings;
  const late = new AbortController();
  const cancel = clock.after(silenceMs, () => {
    late.abort(new PlatformError('busy', `no answer from ${HOST} within ${silenceMs} ms`, { cut: true }));
  });
  const end = async (): Promise<void> => {
    cancel();
    await dispatcher.destroy();
  };
  try {
    let url = httpsUrl(address, hosts);
    let { beginning } = settings;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const { origin, pathname, search } = url;
      onCarried(HOP_BYTES);
      const response = await dispatcher.request({
        origin,
        path: `${pathname}${search}`,
        method: 'GET',
        signal: AbortSignal.any([signal, late.signal]),
        headersTimeout: HEADERS_TIMEOUT_MS,
        headers: {
          accept: '*/*',
          'accept-encoding': 'identity',
          ...(beginning === undefined ? {} : { range: `bytes=${beginning.bytes}-`, 'if-range': beginning.validator }),
        },
      });
      if (response.statusCode === 200 || response.statusCode === 206) await expectFile(response);
      if (response.statusCode === 200) return bodyOf(response, 0);
      if (beginning !== undefined && isRestOf(beginning, response)) return bodyOf(response, beginning.bytes);
      const { location } = response.headers;
      await response.body.dump();
      if (beginning !== undefined && (response.statusCode === 206 || response.statusCode === 416)) {
        beginning = undefined;
        continue;
      }
      if (!REDIRECTS.has(response.statusCode) || typeof location !== 'string') throw statusFault(response.statusCode);
      url = httpsUrl(new URL(location, url).href, hosts);
    }
    throw new PlatformError('settings', `the file's own address redirects more than ${MAX_REDIRECTS} times`);
  } catch (error) {
    await end();
    throw faultOf(error);
  }

  function bodyOf({ headers, body }: Dispatcher.ResponseData, startsAt: number): FirmwareBody {
    const { 'content-length': length, etag } = headers;
    return {
      startsAt,
      lengthBytes: lengthIn(length),
      validator: typeof etag === 'string' && STRONG_ETAG.test(etag) ? etag : undefined,
      stream: counted(piecesOf(body, { clock, maxMs: silenceMs, begun: cancel, ended: end, faultOf })),
    };
  }

  async function* counted(pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      onCarried(Math.round(piece.length * LINE_SHARE));
      yield piece;
    }
  }

  function faultOf(error: unknown): PlatformError {
    const fault: unknown = late.signal.aborted ? late.signal.reason : error;
    return fault instanceof PlatformError ? fault : networkError(fault, [address, proxy], HOST);
  }
}

/** Returns true for an address at one of the hosts, whatever its port. */
export function hasHost(address: string, hosts: readonly string[]): boolean {
  const { hostname } = URL.canParse(address) ? new URL(address) : { hostname: '' };
  const name = hostname.replace(/^\[|\]$/g, '');
  return hosts.some((host) => host.toLowerCase() === name);
}

/** A busy or ill host says nothing about the file: asked later, it may give it. */
function statusFault(status: number): PlatformError {
  return mayPass(status)
    ? new PlatformError('busy', `the file's own address answers ${status}`, { status })
    : new PlatformError('refused', `the file's own address answers ${status}`, { status });
}

/**
 * Throws when a server sends a page for people, to log in or to say that there is nothing; and when it sends the file compressed though it was asked
 * not to: no sum, size or offset would be that of the file.
 */
async function expectFile({ headers, body }: Dispatcher.ResponseData): Promise<void> {
  if (/^text\/html(?![\w-])/i.test(String(headers['content-type'] ?? ''))) {
    await body.dump();
    throw new PlatformError('refused', "the file's own address answers with a web page in place of the file");
  }
  const coding = headers['content-encoding'];
  if (coding === undefined || coding === 'identity' || coding === '') return;
  await body.dump();
  throw new PlatformError('settings', `the file's own address sends it compressed (${String(coding).slice(0, 20)})`);
}

function isRestOf({ bytes, validator }: FileBeginning, { statusCode, headers }: Dispatcher.ResponseData): boolean {
  const range = headers['content-range'];
  return (
    statusCode === 206 && headers.etag === validator && typeof range === 'string' && range.startsWith(`bytes ${bytes}-`)
  );
}

function httpsUrl(address: string, hosts: readonly string[] | undefined): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'https:')
    throw new PlatformError('settings', "the file's own address is not https, and is not followed");
  if (hosts !== undefined && !hasHost(address, hosts))
    throw new PlatformError(
      'settings',
      "the file's own address leads to a host that is not among those in the source of its handler",
    );
  url.username = '';
  url.password = '';
  return url;
}

function dispatcherFor({ ca, proxy }: ExternalFileSettings): Dispatcher {
  const connect = { timeout: CONNECT_TIMEOUT_MS, ...trusting(ca) };
  return proxy === undefined
    ? new Agent({ connect })
    : new ProxyAgent({ uri: proxy, requestTls: connect, proxyTls: trusting(ca) });
}
