/**
 * The way between the agent and the platform: requests and answers take their time by latency and rate, and may be lost on either way.
 *
 *   agent ── request ──► (lost: nothing happened) ── platform ── answer ──► (lost: it happened, and nobody says so) ── agent
 */
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type {
  Connect,
  ConnectionSettings,
  Lane,
  PlatformConnections,
  Traffic,
} from '../../src/platform/connections.ts';
import type { Reply } from '../../src/stand-ins/local-platform/http-reply.ts';
import type { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { RateLimits } from '../../src/stand-ins/local-platform/rate-limit.ts';
import { WORLD_BEGINS_MS } from './board-clock.ts';
import type { Chance } from './chance.ts';
import { Requests } from './requests.ts';
import type { Timeline } from './timeline.ts';

/** How the line is at present. */
export interface LineState {
  /** One way, ms. */
  readonly latencyMs: number;
  readonly bytesPerSecond: number;
  /** Shares of exchanges whose request, or whose answer, is lost. */
  readonly lostRequests: number;
  readonly lostAnswers: number;
  /** Share of answers of which only a part comes before the connection is reset. */
  readonly cutAnswers: number;
  /** Nothing passes at all. */
  readonly isDown: boolean;
}

const GOOD_LINE: LineState = {
  latencyMs: 20,
  bytesPerSecond: 1_000_000,
  lostRequests: 0,
  lostAnswers: 0,
  cutAnswers: 0,
  isDown: false,
};

/** Why the platform need not answer any more; one for all, as each of its own costs a stack. */
const OVER = new Error('the exchange is over');

/** Bytes of headers and framing, each way. */
const OVERHEAD_BYTES = 300;

interface Life {
  readonly isDead: boolean;
}

/** Answer in place of the platform's: by somebody on the way, or by the platform when it is not itself. */
export interface Stranger {
  readonly status: number;
  readonly body: string | Uint8Array;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** It has the form of the platform's own answer to what was asked: nobody could tell. */
  readonly isPlatforms?: boolean;
  /** The platform has done what it was asked for all the same. */
  readonly afterDoing?: boolean;
}
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly bodyBytes: number;
  readonly body: Buffer;
}

/** Statuses by which the platform itself speaks, be it of a fault. */
const SPOKEN: ReadonlySet<number> = new Set([400, 408, 413, 425, 429, 500]);
/** Answers to a long poll that say that nothing has happened. */
const NOTHING_YET: ReadonlySet<number> = new Set([408, 503, 504]);

/** First character of a page. */
const LESS_THAN = 0x3c;

/** Host that no resolver knows. */
export const NOBODY = 'nobody.example';
/** A resolver says so. */
const NO_HOST_MS = 30;

interface NotedOutcome {
  /** It is empty, or starts as no page does. */
  readonly isJsonLike: boolean;
  readonly isPlatforms: boolean;
  readonly status: number;
  readonly method: string;
  readonly path: string;
}

export class Network {
  readonly #troubles = new Set<Partial<LineState>>();
  readonly #strangers = new Set<(asked: Asked) => Stranger | undefined>();
  /** Undefined while the server is gone. */
  platform: LocalPlatform | undefined;
  readonly requests = new Requests();
  /** When the agent last heard a good answer of the platform's own, one to an upload, one that could be the platform's, and anything else. */
  readonly outcomes = {
    answeredAtMs: Number.NEGATIVE_INFINITY,
    spokeAtMs: Number.NEGATIVE_INFINITY,
    uploadedAtMs: Number.NEGATIVE_INFINITY,
    failedAtMs: Number.NEGATIVE_INFINITY,
  };
  /** Standing limits of the platform. */
  limits: RateLimits = {};
  readonly #timeline: Timeline;
  readonly #chance: Chance;
  /** Requests that the platform has answered and stores once the answer is written: while that is on its way. */
  readonly #storing = new Set<() => void>();

  constructor(timeline: Timeline, chance: Chance, attached = 0) {
    this.requests.attached = attached;
    this.#timeline = timeline;
    this.#chance = chance;
  }

  /** The worst of all that is wrong with it now. */
  get line(): LineState {
    return [...this.#troubles].reduce<LineState>(
      (line, one) => ({
        latencyMs: Math.max(line.latencyMs, one.latencyMs ?? 0),
        bytesPerSecond: Math.min(line.bytesPerSecond, one.bytesPerSecond ?? Number.POSITIVE_INFINITY),
        lostRequests: Math.max(line.lostRequests, one.lostRequests ?? 0),
        lostAnswers: Math.max(line.lostAnswers, one.lostAnswers ?? 0),
        cutAnswers: Math.max(line.cutAnswers, one.cutAnswers ?? 0),
        isDown: line.isDown || one.isDown === true,
      }),
      GOOD_LINE,
    );
  }

  /** This is wrong with it too, until the returned function is called. */
  worsen(trouble: Partial<LineState>): () => void {
    this.#troubles.add(trouble);
    return () => this.#troubles.delete(trouble);
  }

  /** Is asked for an answer in place of the platform's, until the returned function is called. */
  intercept(stranger: (asked: Asked) => Stranger | undefined): () => void {
    this.#strangers.add(stranger);
    return () => this.#strangers.delete(stranger);
  }

  /** The platform is quicker than the line: what it has answered it stores now. */
  storeAnswered(): void {
    for (const store of this.#storing) store();
  }

  connectFor(life: Life): Connect {
    return (settings: ConnectionSettings): PlatformConnections => {
      const url = new URL(settings.url);
      const traffic: { -readonly [K in keyof Omit<Traffic, 'lanes'>]: number } = { sentBytes: 0, receivedBytes: 0 };
      const closing = new AbortController();
      return {
        origin: url.origin,
        prefix: '',
        traffic,
        secrets: [],
        // undici's type has overloads and statics that nobody here calls.
        lane: (lane: Lane) => ({
          request: ((options: Dispatcher.RequestOptions) =>
            this.#exchange(lane, options, {
              life,
              traffic,
              closing: closing.signal,
              host: url.hostname,
            })) as unknown as Dispatcher['request'],
        }),
        close: async () => closing.abort(new Error('closed')),
      };
    };
  }

  async #exchange(
    _lane: Lane,
    options: Dispatcher.RequestOptions,
    on: {
      readonly life: Life;
      readonly traffic: { sentBytes: number; receivedBytes: number };
      readonly closing: AbortSignal;
      readonly host: string;
    },
  ): Promise<Dispatcher.ResponseData> {
    const { life, traffic, closing, host } = on;
    // A dead life acts on no answer.
    if (life.isDead) return await new Promise<never>(() => {});
    const signal = AbortSignal.any([options.signal as AbortSignal, closing]);
    const what = `${options.method} ${options.path.replace(/^\/api\/v1\/[^/]*/, '').replace(/\?.*/, '')}`;
    const request = this.requests.note(what, this.#timeline.nowMs);
    const body = Buffer.from((options.body as string | Uint8Array | null) ?? '');
    const cut = Promise.withResolvers<never>();
    cut.promise.catch(() => {});
    const onAbort = (): void => cut.reject(life.isDead ? undefined : signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const lost = (): Promise<never> => new Promise(() => {});
    const gone = new AbortController();
    const passing = async (): Promise<Dispatcher.ResponseData> => {
      if (host === NOBODY) {
        await this.#timeline.wait(NO_HOST_MS);
        throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
      }
      if (this.line.isDown) {
        await this.#timeline.wait(this.line.latencyMs);
        throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      }
      traffic.sentBytes += body.length + OVERHEAD_BYTES;
      await this.#timeline.wait(this.#timeFor(body.length));
      if (life.isDead || signal.aborted || this.#chance.happens(this.line.lostRequests)) return await lost();
      const stranger = this.#strangerFor({ method: options.method, path: options.path, bodyBytes: body.length, body });
      const reply: Reply = (stranger?.afterDoing !== true && stranger) || (await this.#ask(options, body, gone.signal));
      const answer: Reply | Stranger = stranger ?? reply;
      const bytes = await wholeBody(answer.body);
      if (signal.aborted || life.isDead) return await lost();
      const store = (): void => {
        if (this.#storing.delete(store)) reply.whenDone?.();
      };
      this.#storing.add(store);
      if (this.line.isDown || this.#chance.happens(this.line.lostAnswers)) {
        store();
        return await lost();
      }
      const isCut = bytes.length > 1 && this.#chance.happens(this.line.cutAnswers);
      await this.#timeline.wait(this.#timeFor(bytes.length));
      store();
      if (life.isDead) return await lost();
      const isPlatforms = stranger === undefined || stranger.isPlatforms === true;
      const isJsonLike = answer.status === 200 && !isCut && bytes[0] !== LESS_THAN;
      this.#noteOutcome({ isPlatforms: isPlatforms && !isCut, isJsonLike, status: answer.status, ...options });
      request.failed =
        isCut || isFault(answer.status, options.path) || (stranger !== undefined && stranger.isPlatforms !== true);
      traffic.receivedBytes += bytes.length + OVERHEAD_BYTES;
      return {
        statusCode: answer.status,
        headers: {
          date: new Date(WORLD_BEGINS_MS + this.#timeline.nowMs).toUTCString(),
          'content-length': String(bytes.length),
          ...(answer.contentType === undefined ? {} : { 'content-type': answer.contentType }),
          ...answer.headers,
        },
        body: Readable.from(isCut ? halfOf(bytes) : bytes.length === 0 ? [] : [bytes]),
      } as unknown as Dispatcher.ResponseData;
    };
    try {
      return await Promise.race([passing(), cut.promise]);
    } catch (error) {
      this.outcomes.failedAtMs = this.#timeline.nowMs;
      throw error;
    } finally {
      gone.abort(OVER);
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #ask(options: Dispatcher.RequestOptions, body: Buffer, gone: AbortSignal): Promise<Reply> {
    if (this.platform === undefined) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const headers = Object.fromEntries(Object.entries((options.headers ?? {}) as Record<string, string>));
    return await this.platform.answer({ method: options.method, url: options.path, headers, body }, gone);
  }

  #noteOutcome({ isPlatforms, isJsonLike, status, method, path }: NotedOutcome): void {
    const { nowMs } = this.#timeline;
    if (!isPlatforms || isFault(status, path)) this.outcomes.failedAtMs = nowMs;
    else this.outcomes.answeredAtMs = nowMs;
    // A poll's end without news (device API, endpoint 4).
    const isEmptyPoll = method === 'GET' && NOTHING_YET.has(status) && /\/(updates|rpc)(\?|$)/.test(path);
    if (SPOKEN.has(status) || isJsonLike || isEmptyPoll) this.outcomes.spokeAtMs = nowMs;
    if (isPlatforms && status === 200 && method === 'POST' && /\/(telemetry|attributes)$/.test(path))
      this.outcomes.uploadedAtMs = nowMs;
  }

  #strangerFor(asked: Asked): Stranger | undefined {
    for (const answer of this.#strangers) {
      const stranger = answer(asked);
      if (stranger !== undefined) return stranger;
    }
    return undefined;
  }

  #timeFor(bytes: number): number {
    return this.line.latencyMs + ((bytes + OVERHEAD_BYTES) * 1_000) / this.line.bytesPerSecond;
  }
}

/** The connection is reset in the midst of it. */
/** A poll that ends without anything to tell is as it should be. */
function isFault(status: number, path: string): boolean {
  return status >= 400 && !(status === 408 && /\/(rpc|attributes\/updates)\?/.test(path));
}

async function* halfOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, bytes.length >> 1);
  throw Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
}

async function wholeBody(body: string | Uint8Array | AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body ?? '');
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}
