/**
 * The report API (platform/wire-facts.md, "Analytics"): runs a saved view and gives its rows as they arrive. A token that ended is renewed once; a service at
 * its limits is asked again, with jitter, until a deadline.
 */

import { AnalyticsError, type AnalyticsFault } from '../../errors/analytics-error.ts';
import { Backoff } from '../../host/backoff.ts';
import type { Clock } from '../../host/clock.ts';
import type { JsonValue } from '../../values/json.ts';
import {
  type AnalyticsAnswer,
  AnalyticsHttp,
  type AnalyticsHttpSettings,
  faultText,
  textOf,
  unreachable,
} from './analytics-http.ts';
import { AnalyticsSession } from './analytics-session.ts';
import { ExchangeDeadline } from './exchange-deadline.ts';
import { type ReportPart, ReportReader } from './report-reader.ts';

export interface ReportClientSettings extends AnalyticsHttpSettings {
  /** The analytics service. */
  readonly url: string;
  /** Differs between releases: /apiAnalytics, /apiTrendz. */
  readonly basePath: string;
  /** Where to log in; default `url`. */
  readonly authUrl?: string;
  readonly user: string;
  readonly password: string;
  readonly tokenIn: 'header' | 'query';
  /** How long repeats after 429 may go on, ms. */
  readonly deadlineMs: number;
}

export interface ReportRequest {
  /** UUID, the last part of the view's link. */
  readonly viewConfigId: string;
  /** UTC epoch ms; the view's own when absent. */
  readonly rangeStartTs?: number;
  readonly rangeEndTs?: number;
  /** Only the view's filters named here are replaced. */
  readonly filters?: Readonly<Record<string, readonly JsonValue[]>>;
}

export interface ReportClientDeps {
  readonly settings: ReportClientSettings;
  readonly clock: Clock;
  /** Told before each wait, for people who watch. */
  readonly onWait?: (waitMs: number, reason: string) => void;
}

/** A report takes a second or so to execute: the first wait lets one finish, later ones give the queue room. */
const BUSY_BACKOFF = { firstMs: 500, maxMs: 15_000 };
/** Faults by HTTP status, each with its words. */
const FAULTS: Readonly<Record<number, readonly [AnalyticsFault, string]>> = {
  403: ['forbidden', 'this user may not run the view, or its token is not taken (403)'],
  404: ['refused', 'there is no such view, or analytics.basePath is another (404)'],
  415: ['media-type', 'the service does not take JSON (415): is a proxy changing the request?'],
  429: ['too-many-requests', 'the service is at its limits (429)'],
  502: ['unreachable', 'the service is not there at the moment (502)'],
  503: ['unreachable', 'the service is not there at the moment (503)'],
  504: ['unreachable', 'the service is not there at the moment (504)'],
};

/** An answer that has begun, and the time that it has. */
interface Exchange {
  readonly answer: AnalyticsAnswer;
  readonly deadline: ExchangeDeadline;
}

export class ReportClient {
  readonly #deps: ReportClientDeps;
  readonly #http: AnalyticsHttp;
  readonly #session: AnalyticsSession;

  /** Connects at the first call. */
  constructor(deps: ReportClientDeps) {
    const { settings, clock } = deps;
    this.#deps = deps;
    this.#http = new AnalyticsHttp(settings);
    this.#session = new AnalyticsSession({
      ...settings,
      http: this.#http,
      clock,
      authUrl: settings.authUrl ?? settings.url,
    });
  }

  /**
   * The parts of a report as they arrive: its labels once, its rows in batches. Leaving the loop ends the request.
   * @throws AnalyticsError as named in `AnalyticsFault`.
   */
  async *buildReport(request: ReportRequest, signal: AbortSignal): AsyncGenerator<ReportPart> {
    const { answer, deadline } = await this.#ask(request, signal);
    const reader = new ReportReader();
    try {
      for await (const piece of answer.body) {
        const parts = reader.readPiece(piece);
        if (parts.length === 0) continue;
        // Whoever takes the rows has all the time they need.
        deadline.end();
        yield* parts;
        deadline.putOff();
      }
    } catch (error) {
      throw unreachable(error, this.#session.secrets);
    } finally {
      deadline.end();
      answer.body.destroy();
    }
    reader.end();
  }

  /** Ends every connection. Idempotent. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  async #ask(request: ReportRequest, signal: AbortSignal): Promise<Exchange> {
    const { clock, settings, onWait } = this.#deps;
    const backoff = new Backoff(BUSY_BACKOFF, clock);
    const giveUpAtMs = clock.monotonicMs() + settings.deadlineMs;
    let renewed = false;
    for (;;) {
      const token = await this.#session.token(signal);
      const exchange = await this.#begin(request, token, signal);
      const { answer } = exchange;
      if (answer.statusCode >= 200 && answer.statusCode < 300) return exchange;
      const said = await this.#faultOf(exchange);
      if (answer.statusCode === 403 && !renewed) {
        renewed = true;
        this.#session.forget(token);
        continue;
      }
      const fault = faultOf(answer.statusCode, said);
      if (fault.recovery !== 'retry') throw fault;
      const waitMs = backoff.nextMs(retryAfterOf(answer));
      if (clock.monotonicMs() + waitMs > giveUpAtMs) throw fault;
      onWait?.(waitMs, fault.message);
      await clock.sleep(waitMs, signal);
      if (signal.aborted) throw fault;
    }
  }

  async #begin(request: ReportRequest, token: string, signal: AbortSignal): Promise<Exchange> {
    const { clock, settings } = this.#deps;
    const deadline = new ExchangeDeadline(clock, settings.requestTimeoutMs, signal);
    try {
      return { answer: await this.#post(request, token, deadline.signal), deadline };
    } catch (error) {
      deadline.end();
      throw error;
    }
  }

  /** Reads what the service said of the fault, and ends the exchange. */
  async #faultOf({ answer, deadline }: Exchange): Promise<string> {
    try {
      return faultText(await textOf(answer, this.#session.secrets), this.#session.secrets);
    } finally {
      deadline.end();
    }
  }

  #post(
    { viewConfigId, rangeStartTs, rangeEndTs, filters }: ReportRequest,
    jwt: string,
    signal: AbortSignal,
  ): Promise<AnalyticsAnswer> {
    const { url, basePath, tokenIn } = this.#deps.settings;
    const path = `${url.replace(/\/+$/, '')}${basePath.replace(/\/+$/, '')}/publicApi/buildReport`;
    const inQuery = tokenIn === 'query';
    // Only what is given: a member that is there replaces what the view has saved.
    return this.#http.post(
      inQuery ? `${path}?jwt=${encodeURIComponent(jwt)}` : path,
      { viewConfigId, rangeStartTs, rangeEndTs, filters },
      { headers: inQuery ? {} : { jwt }, secrets: this.#session.secrets },
      signal,
    );
  }
}

function faultOf(status: number, said: string): AnalyticsError {
  const [fault, words]: readonly [AnalyticsFault, string] = FAULTS[status] ?? [
    'refused',
    `the report was refused (${status})`,
  ];
  return new AnalyticsError(fault, `${words}${said}`);
}

/** Seconds in Retry-After; dates are left to the backoff. */
function retryAfterOf(answer: AnalyticsAnswer): number {
  const given = answer.headers['retry-after'];
  return typeof given === 'string' && /^\d{1,4}$/.test(given) ? Number(given) * 1_000 : 0;
}
