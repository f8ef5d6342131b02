/** Answers of the status page's server. It changes outputs and, on trial, the configuration, and only where the configuration and the PIN allow it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { PageFiles } from '../host/page-files.ts';
import type { LocalDoor } from '../operations/local-door.ts';
import type { Metric } from '../status/metrics.ts';
import { PROMETHEUS_TYPE, prometheusText } from '../status/metrics.ts';
import type { Health } from '../status/platform-status.ts';
import type { StatusView } from '../status/status-view.ts';
import type { TimelineAnswer } from '../timeline/query.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonOf, parseJson, stringifyJson } from '../values/json.ts';
import { cookieOf, readText, sendFile, sendJson, sendText } from './answers.ts';
import { EventStreams, eventText, STREAM_HEADERS } from './event-streams.ts';
import type { LogRing } from './log-ring.ts';
import { PageDoor } from './page-door.ts';
import type { PageFacts } from './page-facts.ts';
import { PinAccess, SESSION_LIFE_MS } from './pin-access.ts';
import { isEncrypted } from './secure-port.ts';
import { SeriesAnswers, type SeriesAnswersDeps } from './series-answers.ts';

export interface ShownSettings {
  /** `off`: metrics and health alone, on loopback. */
  readonly page: 'off' | 'loopback' | 'lan';
  readonly pin?: string;
  readonly metrics: boolean;
}

export interface StatusRoutesDeps extends Pick<HostMachine, 'clock' | 'randomBytes'>, SeriesAnswersDeps {
  readonly settings: ShownSettings;
  readonly view: () => StatusView;
  readonly facts: () => PageFacts;
  /** Absent where the page only shows. */
  readonly operations?: LocalDoor;
  readonly logLines: LogRing;
  readonly log: Log;
  readonly metrics: () => readonly Metric[];
  readonly health: () => { readonly health: Health; readonly readiness: Health };
  /** Events that the query asks for, or what is wrong with it, in words. */
  readonly timeline: (query: URLSearchParams) => TimelineAnswer | string;
  /** Runs the doctor. */
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
  /** The open claim, and its QR code; undefined while there is none. */
  readonly claim: () => Promise<JsonObject | undefined>;
}

type Answer = (request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => void | Promise<void>;

/** One for each: a browser lets no cookie in clear stand beside one of TLS, and takes the second only over TLS and from this host. */
const COOKIES = {
  clear: { name: 'turnstone_session', rules: '' },
  encrypted: { name: '__Host-turnstone_session', rules: '; Secure' },
} as const;
const MAX_PIN_BYTES = 512;
/** Looking at buses and the network takes a while; many pages ask for one look. */
const DIAGNOSIS_GOOD_FOR_MS = 30_000;

export class StatusRoutes {
  readonly #deps: StatusRoutesDeps;
  readonly #access: PinAccess | undefined;
  readonly #streams: EventStreams;
  readonly #closed = new AbortController();
  /** Numbers of log lines are those of this run. */
  readonly #run: string;
  readonly #files = new PageFiles('status');
  readonly #open: Readonly<Record<string, Answer>>;
  readonly #guarded: Readonly<Record<string, Answer>>;
  #nextLine = 0;
  #diagnosis: { readonly result: Promise<JsonObject>; readonly atMs: number } | undefined;

  /** @param certificate in PEM, where there is one. */
  constructor(deps: StatusRoutesDeps, certificate?: string) {
    this.#deps = deps;
    this.#run = Buffer.from(deps.randomBytes(6)).toString('hex');
    const { settings, health } = deps;
    this.#access = settings.pin === undefined ? undefined : new PinAccess(settings.pin, deps);
    this.#streams = new EventStreams({ clock: deps.clock, tick: () => this.#tick() });
    this.#open = {
      'GET /healthz': (_request, response) => sendHealth(response, health().health),
      'GET /readyz': (_request, response) => sendHealth(response, health().readiness),
      ...(certificate !== undefined && {
        'GET /certificate.pem': (_request, response) => sendText(response, 200, certificate, 'application/x-pem-file'),
      }),
      ...(settings.page !== 'off' && { 'POST /api/session': (request, response) => this.#enter(request, response) }),
    };
    this.#guarded = {
      ...(settings.metrics && {
        'GET /metrics': (_request, response) =>
          sendText(response, 200, prometheusText(deps.metrics()), PROMETHEUS_TYPE),
      }),
      ...(settings.page !== 'off' && this.#pageAnswers()),
    };
  }

  get openPages(): number {
    return this.#streams.count;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '/', 'http://page');
    if (url === null) return sendText(response, 400, 'this is no address\n');
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET');
    const name = `${method} ${url.pathname}`;
    const open = this.#open[name];
    if (open !== undefined) return open(request, response, url.searchParams);
    const guarded = this.#guarded[name];
    if (guarded !== undefined && !this.#mayPass(request)) return sendJson(response, { reason: 'pin' }, 401);
    if (guarded !== undefined) return guarded(request, response, url.searchParams);
    // The page itself holds nothing: without a session it asks for the PIN.
    const encodings = request.headers['accept-encoding']?.toString();
    const isPage = method === 'GET' && this.#deps.settings.page !== 'off';
    const file = isPage ? await this.#files.read(url.pathname, encodings) : undefined;
    if (file === undefined) sendText(response, 404, 'nothing is here\n');
    else sendFile(request, response, file);
  }

  close(): void {
    this.#closed.abort();
    this.#streams.close();
  }

  #pageAnswers(): Record<string, Answer> {
    const { view, facts, operations, log } = this.#deps;
    const seriesAnswers = new SeriesAnswers(this.#deps);
    const door =
      operations === undefined || this.#access === undefined
        ? undefined
        : new PageDoor({ operations, clock: this.#deps.clock, log });
    return {
      'GET /api/status': (_request, response) => sendJson(response, jsonOf(view())),
      'GET /api/facts': (_request, response) => sendJson(response, jsonOf(facts())),
      ...(door !== undefined && {
        'POST /api/operation': (request, response) => door.answer(request, response, this.#closed.signal),
      }),
      'GET /api/events': (request, response) => this.#stream(request, response),
      'GET /api/series': (_request, response, query) => seriesAnswers.answer(response, query, this.#closed.signal),
      'GET /api/timeline': (_request, response, query) => {
        const answer = this.#deps.timeline(query);
        if (typeof answer === 'string') sendJson(response, { reason: answer }, 400);
        else sendJson(response, jsonOf(answer));
      },
      'GET /api/doctor': async (_request, response) => sendJson(response, await this.#diagnose()),
      'GET /api/claim': async (_request, response) => sendJson(response, await this.#claim()),
      'DELETE /api/session': (request, response) => {
        const { name, rules } = cookieFor(request);
        this.#access?.forget(cookieOf(request, name) ?? '');
        response.writeHead(204, { 'set-cookie': `${name}=; Path=/; Max-Age=0${rules}` }).end();
      },
    };
  }

  /** Returns the claim, without its secret where there is no PIN: the secret makes an owner, and any user of this machine could ask here. */
  async #claim(): Promise<JsonObject> {
    const claim = (await this.#deps.claim()) ?? {};
    if (this.#access !== undefined || claim.untilMs === undefined) return claim;
    return { untilMs: claim.untilMs };
  }

  async #enter(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(request, MAX_PIN_BYTES);
    const body = text === undefined ? undefined : parsed(text);
    const pin = isJsonObject(body) ? body.pin : undefined;
    if (this.#access === undefined || typeof pin !== 'string')
      return sendJson(response, { reason: 'no PIN was sent' }, 400);
    const admission = this.#access.admit(pin, request.socket.remoteAddress ?? '');
    if (admission === 'wrong') return sendJson(response, { reason: 'wrong' }, 403);
    if ('waitMs' in admission) {
      const waitS = Math.ceil(admission.waitMs / 1000);
      response.setHeader('retry-after', waitS);
      return sendJson(response, { reason: 'wait', waitS }, 429);
    }
    const { name, rules } = cookieFor(request);
    const life = `Path=/; Max-Age=${SESSION_LIFE_MS / 1000}${rules}; HttpOnly; SameSite=Strict`;
    response.writeHead(204, { 'set-cookie': `${name}=${admission.session}; ${life}` }).end();
  }

  /** A session, or for programs the PIN itself as a bearer token, which counts as a guess. */
  #mayPass(request: IncomingMessage): boolean {
    if (this.#access === undefined) return true;
    if (this.#access.knows(cookieOf(request, cookieFor(request).name))) return true;
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    return bearer !== undefined && this.#access.proves(bearer, request.socket.remoteAddress ?? '');
  }

  #stream(request: IncomingMessage, response: ServerResponse): void {
    if (request.method === 'HEAD') {
      response.writeHead(200, STREAM_HEADERS).end();
      return;
    }
    const { logLines } = this.#deps;
    const session = cookieOf(request, cookieFor(request).name);
    // A program that sent the PIN itself has no session that could end.
    const isEntered = (): boolean => this.#access?.knows(session) ?? false;
    const mayLook = isEntered() ? isEntered : () => true;
    // Whoever comes between two ticks gets every line up to the last one; the rest comes with the next.
    if (this.#streams.count === 0) this.#nextLine = logLines.next;
    const before = this.#logEvent(logLines.first);
    if (!this.#streams.openStream(response, this.#statusEvent() + before, mayLook)) {
      response.setHeader('retry-after', 5);
      sendText(response, 503, 'too many pages are open\n');
    }
  }

  #tick(): string {
    const { logLines } = this.#deps;
    const from = this.#nextLine;
    this.#nextLine = logLines.next;
    return this.#statusEvent() + this.#logEvent(Math.max(from, logLines.first));
  }

  /** Lines from a number to the last that was sent; a page that has some of them already knows them by it. */
  #logEvent(first: number): string {
    const lines = this.#deps.logLines.between(first, this.#nextLine);
    return lines.length === 0 ? '' : eventText('log', JSON.stringify({ run: this.#run, first, lines }));
  }

  #statusEvent(): string {
    return eventText('status', stringifyJson(this.#deps.view()));
  }

  #diagnose(): Promise<JsonObject> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#diagnosis === undefined || nowMs - this.#diagnosis.atMs > DIAGNOSIS_GOOD_FOR_MS) {
      this.#diagnosis = { result: this.#deps.diagnose(this.#closed.signal), atMs: nowMs };
      this.#diagnosis.result.catch(() => {
        this.#diagnosis = undefined;
      });
    }
    return this.#diagnosis.result;
  }
}

function cookieFor(request: IncomingMessage): (typeof COOKIES)[keyof typeof COOKIES] {
  return isEncrypted(request) ? COOKIES.encrypted : COOKIES.clear;
}

function sendHealth(response: ServerResponse, { ok, reasons }: Health): void {
  sendJson(response, { ok, reasons: [...reasons] }, ok ? 200 : 503);
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text, { length: MAX_PIN_BYTES });
  } catch {
    return undefined;
  }
}
