/**
 * One call to the platform's device API: the token in its path, a lane of its own, a deadline that suits the body and the line, what the
 * answer means, and a pace that spares a host which answers with faults. Polls and downloads keep the same rules.
 */
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../values/json.ts';
import { type Answer, expectValue, judge, type Verdict } from './answer-or-portal.ts';
import {
  type Connect,
  type ConnectionSettings,
  connectOverNetwork,
  type Lane,
  type PlatformConnections,
  type Traffic,
} from './connections.ts';
import type { ContactObserver } from './contact.ts';
import type { FirmwareBody } from './device-api.ts';
import { type FirmwareRequest, openFirmware } from './firmware-request.ts';
import { type Fault, faultOfStatus, HostPace, type Way } from './host-pace.ts';
import { type ExchangeDeps, exchange } from './http-exchange.ts';
import { LineSpeed } from './line-speed.ts';
import type { PayloadCodec } from './payload-codec.ts';
import { PlatformError } from './platform-error.ts';
import { isNoNews } from './status-meaning.ts';

export interface HttpDeviceApiSettings extends ConnectionSettings {
  /** For one call as a whole, beside what its body takes on a slow line; polls have their own time. Default 15 s. */
  readonly requestTimeoutMs?: number;
  /** Longest silence within a firmware file, however long the whole takes. Default 1 min. */
  readonly downloadSilenceMs?: number;
}

export interface PlatformCallsDeps {
  readonly settings: HttpDeviceApiSettings;
  /** Asked for at every call, so that a rotated token counts from the next call on. */
  readonly token: () => string;
  readonly clock: Clock;
  readonly codec: PayloadCodec;
  /** Told the server's own time, UTC epoch ms, with each call that it has accepted: a login page in between has no say. */
  readonly onPlatformDate?: (platformMs: number, tookMs: number) => void;
  /** Default: over this machine's network. */
  readonly connect?: Connect;
  readonly contact?: ContactObserver;
  /** Shared by all who speak to this host; default its own. */
  readonly pace?: Pick<HostPace, 'paceRequest'>;
}

export interface CallOptions {
  readonly body?: string | Uint8Array;
  /** Largest size of the answer's body. */
  readonly limitBytes?: number;
  readonly lane?: Lane;
  /** How it is paced where the host fails; default by its lane. */
  readonly way?: Way;
  /** Beside what the body takes on a slow line. */
  readonly deadlineMs?: number;
}

export interface Poll<T> {
  readonly what: string;
  readonly timeoutMs: number;
  /** @throws PlatformError for what makes no sense. */
  readonly read: (value: JsonValue) => T | undefined;
}

export const REQUEST_TIMEOUT_MS = 15_000;
const DOWNLOAD_SILENCE_MS = 60_000;

/** A poll whose connection died is noticed this long after the server should have answered. */
const POLL_MARGIN_MS = 10_000;

/** Nothing but attributes, an RPC's params or a fault's text ever comes back; a firmware file is streamed. */
const MAX_ANSWER = 4 * 1024 * 1024;

/** Uploads, whose answer says that the platform has them. */
const ACKNOWLEDGED: ReadonlySet<string> = new Set(['telemetry', 'attributes']);
/** Share of its timeout that an empty poll has to stand, or this long; a shorter one backs off as a fault does, which costs a poll no more than seconds. */
const STOOD_SHARE = 0.5;
const STOOD_ENOUGH_MS = 10_000;

export class PlatformCalls {
  readonly #deps: PlatformCallsDeps;
  readonly #connections: PlatformConnections;
  readonly #exchangeDeps: ExchangeDeps;
  readonly #pace: Pick<HostPace, 'paceRequest'>;
  readonly #line = new LineSpeed();

  /** Connects at the first call. @throws PlatformError `platform/settings` (stop) for an address that is none. */
  constructor(deps: PlatformCallsDeps) {
    this.#deps = deps;
    this.#connections = (deps.connect ?? connectOverNetwork(deps.clock))(deps.settings);
    this.#exchangeDeps = { connections: this.#connections, clock: deps.clock, secrets: () => this.#secrets() };
    this.#pace = deps.pace ?? new HostPace(deps);
  }

  get traffic(): Traffic {
    return this.#connections.traffic;
  }

  /** @throws PlatformError `platform/busy` (retry) or `platform/aborted` (retry). */
  call(method: 'GET' | 'POST', what: string, signal: AbortSignal, options: CallOptions = {}): Promise<Verdict> {
    const { lane = 'calls', way = lane } = options;
    const work = (): Promise<Verdict> => this.#exchange(method, what, signal, options);
    return this.#pace.paceRequest(way, { faultIn, work }, signal);
  }

  /** Returns what `read` makes of an answer; a throw in it is a fault of the host like any other. @throws PlatformError */
  ask<T>(what: string, read: (verdict: Verdict) => T, signal: AbortSignal): Promise<T> {
    const work = async (): Promise<T> => read(await this.#exchange('GET', what, signal, {}));
    return this.#pace.paceRequest('wishes', { faultIn: () => undefined, work }, signal);
  }

  /** Returns what `read` makes of a long poll's message; undefined when nothing happened. @throws PlatformError */
  async poll<T>(lane: 'rpc-poll' | 'attribute-poll', poll: Poll<T>, signal: AbortSignal): Promise<T | undefined> {
    const { what, read } = poll;
    // The server refuses a fraction (400), and whoever has the rest of a turn has one.
    const timeoutMs = Math.ceil(poll.timeoutMs);
    const { clock } = this.#deps;
    let stoodMs = 0;
    let nothing: Fault = 'answered';
    const work = async (): Promise<T | undefined> => {
      const startMs = clock.monotonicMs();
      const asked = this.#exchange('GET', `${what}?timeout=${timeoutMs}`, signal, {
        lane,
        deadlineMs: timeoutMs + POLL_MARGIN_MS,
      });
      const verdict = await asked.finally(() => {
        stoodMs = clock.monotonicMs() - startMs;
      });
      nothing = faultIn(verdict) ?? nothing;
      if (isNothingYet(verdict)) return undefined;
      const value = expectValue(verdict, lane === 'rpc-poll' ? 'waiting for RPC' : 'waiting for attributes');
      return value === undefined ? undefined : read(value);
    };
    const faultInPoll = (brought: T | undefined): Fault | undefined =>
      brought === undefined && stoodMs < stoodEnoughMs(timeoutMs) ? nothing : undefined;
    try {
      return await this.#pace.paceRequest(lane, { faultIn: faultInPoll, work }, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof PlatformError) error.stoodMs = stoodMs;
      throw error;
    }
  }

  /** A firmware file or a chunk of it. @throws PlatformError as `openFirmware`. */
  download(what: string, image: FirmwareRequest['image'], signal: AbortSignal): Promise<FirmwareBody> {
    const request = {
      path: this.#path(what),
      image,
      silenceMs: this.#deps.settings.downloadSilenceMs ?? DOWNLOAD_SILENCE_MS,
    };
    const deps = { ...this.#exchangeDeps, judge: (answer: Answer) => this.#judge(answer) };
    const open = (): Promise<FirmwareBody> =>
      openFirmware(request, deps, signal).catch((error: unknown) => {
        // An answer that brings no file is about the image.
        if (error instanceof PlatformError && error.status === undefined)
          this.#deps.contact?.failed(error, this.#connections);
        throw error;
      });
    return this.#pace.paceRequest('download', { faultIn: () => undefined, work: open }, signal);
  }

  /** Ends every connection; calls under way fail with `platform/busy`. Idempotent. */
  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #exchange(method: 'GET' | 'POST', what: string, signal: AbortSignal, options: CallOptions): Promise<Verdict> {
    const { clock, codec, settings, onPlatformDate, contact } = this.#deps;
    const {
      lane = 'calls',
      body,
      limitBytes = MAX_ANSWER,
      deadlineMs = settings.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    } = options;
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    const request = {
      lane,
      method,
      path: this.#path(what),
      contentType: codec.contentType,
      limitBytes,
      deadlineMs: deadlineMs + this.#line.extraMs(bytes),
      ...(body === undefined ? {} : { body }),
    };
    const startMs = clock.monotonicMs();
    const answer = await exchange(request, this.#exchangeDeps, signal).catch((error: unknown) => {
      if (error instanceof PlatformError && error.cut) this.#line.stuck();
      // A balancer that ends a standing poll is no loss of contact.
      if (error instanceof PlatformError && !(isPoll(lane) && isBroken(error)))
        contact?.failed(error, this.#connections);
      throw error;
    });
    const tookMs = clock.monotonicMs() - startMs;
    this.#line.passed(bytes, tookMs);
    const verdict = this.#judge(answer);
    const isPollEnd = isPoll(lane) && isNothingYet(verdict) && tookMs >= stoodEnoughMs(deadlineMs - POLL_MARGIN_MS);
    contact?.answered(isPollEnd ? { kind: 'done', value: undefined } : verdict, answer, this.#connections);
    if (verdict.kind === 'done' && method === 'POST' && ACKNOWLEDGED.has(what)) contact?.acknowledged();
    const platformMs = Date.parse(answer.date ?? '');
    if (verdict.kind === 'done' && Number.isFinite(platformMs)) onPlatformDate?.(platformMs, tookMs);
    return verdict;
  }

  #judge(answer: Answer): Verdict {
    return judge(answer, { codec: this.#deps.codec, secrets: this.#secrets(), wallMs: this.#deps.clock.wallMs() });
  }

  #path(what: string): string {
    return `/api/v1/${encodeURIComponent(this.#deps.token())}/${what}`;
  }

  #secrets(): readonly string[] {
    return [this.#deps.token(), ...this.#connections.secrets];
  }
}

function faultIn(verdict: Verdict): Fault | undefined {
  return verdict.kind === 'done' ? undefined : faultOfStatus('status' in verdict ? verdict.status : undefined);
}

function stoodEnoughMs(timeoutMs: number): number {
  return Math.min(timeoutMs * STOOD_SHARE, STOOD_ENOUGH_MS);
}

function isPoll(lane: Lane): boolean {
  return lane === 'rpc-poll' || lane === 'attribute-poll';
}

/** The connection was ended by the other side, not by the time. */
function isBroken({ cut, networkCode }: PlatformError): boolean {
  return cut && networkCode !== 'ETIMEDOUT';
}

/** A server that says when to come back is busy, and no poll of it has ended as polls do. */
function isNothingYet(verdict: Verdict): boolean {
  return (
    verdict.kind === 'busy' &&
    verdict.status !== undefined &&
    isNoNews(verdict.status) &&
    verdict.retryAfterMs === undefined
  );
}
