/**
 * The line to a platform in a virtual time: what passes costs what the counting proxy has measured, connections begin, go away and are asked by TCP
 * as those do. A poll stands as long as it asked for, or until the server cuts it.
 */
import { Readable } from 'node:stream';
import type { Connect, Lane } from '../../../src/platform/connections.ts';
import type { LaneAnswer, LaneRequest, LaneRequester } from '../../../src/platform/lane-request.ts';
import { ASK_SILENT_AFTER_MS, LANES, type LaneBytes } from '../../../src/platform/wire-count.ts';
import type { Timeline } from '../../simulation/timeline.ts';
import type { Prices } from './prices.ts';

export interface LineOptions {
  readonly prices: Prices;
  readonly timeline: Timeline;
  /** The server answers 503 to a poll that has stood for so long. */
  readonly cutMs: number;
  /** Times of outages, in the world's time. */
  readonly outages?: readonly { readonly fromMs: number; readonly untilMs: number }[];
  /** The agent's own count against this one. */
  readonly counts?: number;
}

const LATENCY_MS = 60;
/** As a stock server in front of the platform has it: then it goes away, or ends a connection on which nothing is under way. */
const REQUESTS_PER_CONNECTION = 1_000;
const SERVER_IDLE_MS = 75_000;
/** As the agent has it for HTTP/1.1. */
const CLIENT_IDLE_MS = 50_000;
const ASK_BYTES = 104;
/** Beginnings of a connection that nobody answers. */
const FAILED_BYTES = 3 * 60;
const SEGMENT = 1_448;
/** Headers of a further segment, half an acknowledgement, and its share of a record of TLS. */
const MORE_PER_SEGMENT = 52 + 26 + 2;
/** Length of a path over HTTP/2 against its characters. */
const HUFFMAN = 0.72;
/** Path of the exchanges that were measured. */
const SHORT_PATH = '/api/v1/ABCDEFGHIJ0123456789/attributes?sharedKeys=a'.length;

interface Connection {
  requests: number;
  underWay: number;
  quietSinceMs: number;
  /** Beginning of the last poll: the next may go with it. */
  pollAtMs: number;
}

export class PricedLine {
  readonly #options: LineOptions;
  readonly #lanes = new Map<Lane, number>();
  readonly #connections = new Map<Lane | 'all', Connection>();
  /** Ends of what is under way, at an outage. */
  readonly #cuts = new Set<() => void>();
  #hasSession = false;
  /** Client attributes. */
  readonly #client: Record<string, unknown> = {};
  /** Uploads that have come, and what is in them: each key of each time. */
  posts = 0;
  postedKeys = 0;
  opened = 0;

  constructor(options: LineOptions) {
    this.#options = options;
    for (const { fromMs } of options.outages ?? []) options.timeline.after(fromMs, () => this.#goDown());
  }

  get lanes(): LaneBytes {
    return this.#counted(1);
  }

  get bytes(): number {
    return Object.values(this.lanes).reduce((sum, one) => sum + one, 0);
  }

  readonly connect: Connect = (settings) => {
    const line = this;
    return {
      origin: new URL(settings.url).origin,
      prefix: '',
      secrets: [],
      close: async () => {},
      get traffic() {
        return { sentBytes: 0, receivedBytes: 0, lanes: line.#counted(line.#options.counts ?? 1) };
      },
      lane: (lane: Lane): LaneRequester => ({ request: (request) => this.#exchange(lane, request) }),
    };
  };

  #counted(times: number): LaneBytes {
    return Object.fromEntries(
      LANES.map((lane) => [lane, Math.round((this.#lanes.get(lane) ?? 0) * times)]),
    ) as LaneBytes;
  }

  get #isDown(): boolean {
    const { nowMs } = this.#options.timeline;
    return this.#options.outages?.some(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs < untilMs) ?? false;
  }

  #goDown(): void {
    this.#connections.clear();
    for (const cut of this.#cuts) cut();
  }

  #attributesIn(path: string): string {
    const wanted = /clientKeys=([^&]*)/.exec(path)?.[1];
    const keys = wanted === undefined ? Object.keys(this.#client) : decodeURIComponent(wanted).split(',');
    const client = Object.fromEntries(keys.filter((key) => key in this.#client).map((key) => [key, this.#client[key]]));
    return JSON.stringify(Object.keys(client).length === 0 ? {} : { client });
  }

  #pay(lane: Lane, bytes: number): void {
    this.#lanes.set(lane, (this.#lanes.get(lane) ?? 0) + bytes);
  }

  #connectionFor(lane: Lane): Connection {
    const { timeline, prices } = this.#options;
    const name = prices.isHttp1 ? lane : 'all';
    const known = this.#connections.get(name);
    if (known !== undefined && known.requests < REQUESTS_PER_CONNECTION) {
      const quietMs = known.underWay > 0 ? 0 : timeline.nowMs - known.quietSinceMs;
      if (quietMs < Math.min(SERVER_IDLE_MS, prices.isHttp1 ? CLIENT_IDLE_MS : SERVER_IDLE_MS)) return known;
    }
    this.#pay(lane, this.#hasSession ? prices.resumed : prices.connection);
    this.#hasSession = true;
    this.opened += 1;
    const fresh = { requests: 0, underWay: 0, quietSinceMs: timeline.nowMs, pollAtMs: Number.NEGATIVE_INFINITY };
    this.#connections.set(name, fresh);
    return fresh;
  }

  /** TCP asks a connection that is silent while something is under way on it. */
  #wordOn(lane: Lane, connection: Connection): void {
    const { nowMs } = this.#options.timeline;
    if (connection.underWay > 0)
      this.#pay(lane, Math.floor((nowMs - connection.quietSinceMs) / ASK_SILENT_AFTER_MS) * ASK_BYTES);
    connection.quietSinceMs = nowMs;
  }

  async #exchange(lane: Lane, { method, path, body, signal }: LaneRequest): Promise<LaneAnswer> {
    const { timeline, prices, cutMs } = this.#options;
    const cut = Promise.withResolvers<never>();
    cut.promise.catch(() => {});
    const fail = (): void => cut.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    const onAbort = (): void => cut.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const passing = async (): Promise<LaneAnswer> => {
      if (this.#isDown) {
        this.#pay(lane, FAILED_BYTES);
        await timeline.wait(3_000);
        throw Object.assign(new Error('connect ETIMEDOUT'), { code: 'ECONNREFUSED' });
      }
      const connection = this.#connectionFor(lane);
      this.#wordOn(lane, connection);
      connection.requests += 1;
      connection.underWay += 1;
      this.#cuts.add(fail);
      try {
        const asked = /[?&]timeout=(\d+)/.exec(path)?.[1];
        const sent = body === null ? 0 : Buffer.byteLength(body);
        if (asked !== undefined) {
          this.#pay(lane, connection.pollAtMs === timeline.nowMs ? prices.pollTogether : prices.pollOther);
          connection.pollAtMs = timeline.nowMs;
          await timeline.wait(LATENCY_MS + Math.min(Number(asked), cutMs));
          return answer(Number(asked) > cutMs ? 503 : 408, '');
        }
        const reply = method === 'GET' ? this.#attributesIn(path) : '';
        if (method === 'POST' && path.endsWith('/attributes')) Object.assign(this.#client, JSON.parse(String(body)));
        const more =
          Math.floor(sent / SEGMENT) * MORE_PER_SEGMENT + (path.length - SHORT_PATH) * (prices.isHttp1 ? 1 : HUFFMAN);
        this.#pay(lane, (method === 'GET' ? prices.get : prices.post) + sent + reply.length + more);
        await timeline.wait(LATENCY_MS + sent / 100);
        if (path.includes('/telemetry')) {
          this.posts += 1;
          this.postedKeys += valuesIn(String(body));
        }
        return answer(200, reply);
      } finally {
        this.#cuts.delete(fail);
        this.#wordOn(lane, connection);
        connection.underWay -= 1;
      }
    };
    try {
      return await Promise.race([passing(), cut.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}

function valuesIn(body: string): number {
  const records: readonly { readonly values?: object }[] = [JSON.parse(body)].flat();
  return records.reduce((sum, { values = {} }) => sum + Object.keys(values).length, 0);
}

function answer(statusCode: number, text: string): LaneAnswer {
  const headers = {
    'content-length': String(text.length),
    ...(text === '' ? {} : { 'content-type': 'application/json' }),
  };
  return { statusCode, headers, body: Readable.from(text === '' ? [] : [Buffer.from(text)]) };
}
