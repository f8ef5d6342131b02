/**
 * The status page's server: reads only, bounded in connections, streams, time and bytes, and closed to other origins. On loopback it answers only to
 * loopback's names, so that no web page can reach it through a name of its own; on the LAN only to who knows the PIN, over TLS. A port that is
 * taken is no reason not to measure: it is tried again.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../errors/agent-error.ts';
import type { Log } from '../host/log.ts';
import { PAGE_HEADERS } from '../host/page-files.ts';
import { serveOneAtATime } from '../host/request-gate.ts';
import type { Held } from '../host/state-lock.ts';
import { sendText } from './answers.ts';
import { isFromThisMachine, leadToTls } from './clear-requests.ts';
import type { PageCertificate } from './page-certificate.ts';
import { type ShownSettings, StatusRoutes, type StatusRoutesDeps } from './routes.ts';
import { isEncrypted, type SecurePort, speakTlsToo } from './secure-port.ts';

export interface StatusServerSettings extends ShownSettings {
  /** 0: any free one. */
  readonly port: number;
}

export interface StatusServerDeps extends StatusRoutesDeps {
  readonly settings: StatusServerSettings;
  readonly log: Log;
  /** Asked for where the page is in the LAN. */
  readonly certificate: () => Promise<PageCertificate>;
}

/** As the agent needs it. */
export interface OpenedStatusServer extends Held {
  /** Undefined while the port is taken. */
  readonly url: string | undefined;
  readonly openPages: number;
  /** SHA-256 of its certificate; undefined where it speaks no TLS. */
  readonly fingerprint?: string | undefined;
}

/** A browser opens six at first: twenty pages that come at once must all find room. */
const MAX_CONNECTIONS = 160;
const HEADERS_WITHIN_MS = 5_000;
const REQUEST_WITHIN_MS = 10_000;
const KEEP_ALIVE_MS = 5_000;
const MAX_HEADER_BYTES = 8_192;
const LISTEN_AGAIN_MS = 15_000;
const LOOPBACK_NAMES = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

export class StatusServer {
  readonly #deps: StatusServerDeps;
  readonly #routes: StatusRoutes;
  readonly #server: Server;
  readonly #secure: (SecurePort & Pick<PageCertificate, 'fingerprint'>) | undefined;
  #cancel: () => void = () => {};
  #isClosed = false;

  private constructor(deps: StatusServerDeps, certificate: PageCertificate | undefined) {
    this.#deps = deps;
    this.#routes = new StatusRoutes(deps, certificate?.cert);
    this.#server = createServer({
      headersTimeout: HEADERS_WITHIN_MS,
      requestTimeout: REQUEST_WITHIN_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: HEADERS_WITHIN_MS,
    });
    serveOneAtATime(this.#server, (request, response) => void this.#serve(request, response));
    this.#server.maxConnections = MAX_CONNECTIONS;
    if (certificate === undefined) return;
    this.#secure = {
      fingerprint: certificate.fingerprint,
      ...speakTlsToo(this.#server, { clock: deps.clock, certificate }),
    };
  }

  /** Listens, or keeps trying to. */
  static async open(deps: StatusServerDeps): Promise<StatusServer> {
    const server = new StatusServer(deps, deps.settings.page === 'lan' ? await deps.certificate() : undefined);
    await server.#listen();
    return server;
  }

  /** Where a browser on this machine finds it, without TLS; undefined while the port is taken. */
  get url(): string | undefined {
    const address = this.#server.address() as AddressInfo | null;
    return address === null ? undefined : `http://127.0.0.1:${address.port}`;
  }

  get openPages(): number {
    return this.#routes.openPages;
  }

  get fingerprint(): string | undefined {
    return this.#secure?.fingerprint;
  }

  /** Ends every stream and connection. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancel();
    this.#routes.close();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    this.#secure?.close();
    await closed;
  }

  async #listen(): Promise<void> {
    const { settings, clock, log } = this.#deps;
    try {
      // Without a host: every address of IPv4, and of IPv6 where the machine has it.
      this.#server.listen({ port: settings.port, ...(settings.page !== 'lan' && { host: '127.0.0.1' }) });
      // Leaves no listener behind, however it ends.
      await once(this.#server, 'listening');
      const { port } = this.#server.address() as AddressInfo;
      log.info(
        {
          page: settings.page,
          port,
          certificate: this.fingerprint,
        },
        'the status page can be opened',
      );
    } catch (error) {
      log.warn({ port: settings.port, error: messageOf(error) }, 'the status page cannot be opened; it is tried again');
      if (!this.#isClosed) this.#cancel = clock.after(LISTEN_AGAIN_MS, () => void this.#listen());
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value);
    response.on('error', () => {});
    request.on('error', () => {});
    try {
      const isLan = this.#deps.settings.page === 'lan';
      if (isLan && !isEncrypted(request) && !isFromThisMachine(request)) leadToTls(request, response);
      else if (!isLan && !LOOPBACK_NAMES.test(request.headers.host ?? ''))
        sendText(response, 421, 'this page is for this machine alone\n');
      else await this.#routes.answer(request, response);
    } catch (error) {
      this.#deps.log.warn({ error: messageOf(error) }, 'the status page could not answer');
      if (response.headersSent) response.destroy();
      else sendText(response, 500, 'this could not be answered; the log says why\n');
    }
  }
}
