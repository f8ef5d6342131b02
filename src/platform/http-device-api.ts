/**
 * The platform's device HTTP API (device-http-api.md, filled in by wire-facts.md) over kept-alive connections. Knows paths, the token's
 * place in them, and the shapes of answers; what an answer means is answer.ts. Several calls may run at once; one poll of each kind.
 */

import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import { expectObject, expectValue, judge, uploadAnswer, type Verdict } from './answer.ts';
import { type ConnectionSettings, Connections, type Lane, type Traffic } from './connections.ts';
import type { AttributeAnswer, AttributeUpdate, DeviceApi, FirmwareBody, RpcRequest, TelemetryRows, UploadAnswer } from './device-api.ts';
import { openFirmware } from './firmware-request.ts';
import { type Exchange, type ExchangeDeps, exchange } from './http-exchange.ts';
import { jsonCodec, type PayloadCodec } from './payload-codec.ts';
import { PlatformError } from './platform-error.ts';
import { TelemetryCheck } from './telemetry-check.ts';
import { keyFault, valueFault } from './wire-values.ts';

export interface HttpDeviceApiSettings extends ConnectionSettings {
  /** For one call as a whole; polls have their own time, downloads too. Default 15 s. */
  readonly requestTimeoutMs?: number;
  /** For one chunk, or one whole file where the server has no chunks. Default 30 min. */
  readonly downloadTimeoutMs?: number;
}

export interface HttpDeviceApiDeps {
  readonly settings: HttpDeviceApiSettings;
  /** Asked for at every call, so that a rotated token counts from the next call on. */
  readonly token: () => string;
  readonly clock: Clock;
  /** Told the server's own time, UTC epoch ms, with each call that it has accepted: a login page in between has no say. */
  readonly onPlatformDate?: (platformMs: number) => void;
  /** Default JSON. */
  readonly codec?: PayloadCodec;
}

/** The body of an upload, or why the server would lose part of it. */
type Upload = { readonly body: string | Uint8Array; readonly fault?: undefined } | { readonly body?: undefined; readonly fault: string };

const REQUEST_TIMEOUT_MS = 15_000;
const DOWNLOAD_TIMEOUT_MS = 30 * 60 * 1000;

/** A poll whose connection died is noticed this long after the server should have answered. */
const POLL_MARGIN_MS = 10_000;

/** Nothing but attributes, an RPC's params or a fault's text ever comes back; a firmware file is streamed. */
const LARGEST_ANSWER = 4 * 1024 * 1024;

/** Answers to uploads are empty, or the text of a fault. */
const LARGEST_UPLOAD_ANSWER = 64 * 1024;

/** Servers refuse request lines past 8 KiB; with more keys than this everything is asked for. */
const LONGEST_QUERY = 4096;

/** "Nothing happened": time-out, and a cut by the server's or a proxy's own limit (wire-facts.md, "Long polls"). */
const NOTHING_YET: ReadonlySet<number> = new Set([408, 503, 504]);

export class HttpDeviceApi implements DeviceApi {
  readonly #connections: Connections;
  readonly #codec: PayloadCodec;
  readonly #deps: HttpDeviceApiDeps;
  readonly #exchangeDeps: ExchangeDeps;
  readonly #check = new TelemetryCheck();
  #prepared: { readonly rows: TelemetryRows; readonly upload: Upload } | undefined;

  /** Connects at the first call. @throws PlatformError `platform/settings` (stop) for an address that is none. */
  constructor(deps: HttpDeviceApiDeps) {
    this.#deps = deps;
    this.#codec = deps.codec ?? jsonCodec;
    this.#connections = new Connections(deps.settings);
    this.#exchangeDeps = { connections: this.#connections, clock: deps.clock, secrets: () => this.#secrets() };
  }

  /** HTTP bytes since start, for budgets of metered links. */
  get traffic(): Traffic {
    return this.#connections.traffic;
  }

  async postTelemetry(rows: TelemetryRows, signal: AbortSignal): Promise<UploadAnswer> {
    if (rows.keys.length === 0) return { kind: 'accepted' };
    const { fault, body } = this.#prepared?.rows === rows ? this.#prepared.upload : this.#encode(rows);
    this.#prepared = undefined;
    if (fault !== undefined) return { kind: 'refused', status: 0, text: fault };
    try {
      return uploadAnswer(await this.#call('POST', 'telemetry', signal, { lane: 'upload', body, limitBytes: LARGEST_UPLOAD_ANSWER }));
    } catch (error) {
      if (error instanceof PlatformError) return { kind: 'busy', text: error.message };
      throw error;
    }
  }

  prepareTelemetry(rows: TelemetryRows): void {
    this.#prepared = { rows, upload: this.#encode(rows) };
  }

  async postAttributes(attributes: JsonObject, signal: AbortSignal): Promise<void> {
    for (const [key, value] of Object.entries(attributes)) {
      const fault = keyFault(key) ?? valueFault(value);
      if (fault !== undefined) throw new PlatformError('refused', `attribute ${JSON.stringify(key.slice(0, 80))}: ${fault}`);
    }
    const body = this.#codec.encodeAttributes(attributes);
    expectValue(await this.#call('POST', 'attributes', signal, { body, limitBytes: LARGEST_UPLOAD_ANSWER }), 'sending attributes');
  }

  async getAttributes(
    keys: { readonly clientKeys?: readonly string[]; readonly sharedKeys?: readonly string[] },
    signal: AbortSignal,
  ): Promise<AttributeAnswer> {
    const { clientKeys, sharedKeys } = keys;
    const asked = [...(clientKeys ?? []), ...(sharedKeys ?? [])];
    const all = clientKeys === undefined && sharedKeys === undefined;
    if (!all && asked.length === 0) return { client: {}, shared: {}, empty: true };
    const query = all ? '' : attributeQuery(clientKeys ?? [], sharedKeys ?? []);
    // The server splits lists at every comma; such keys, and lists that no request line holds, can only be had with all the others.
    const plain = query.length <= LONGEST_QUERY && !asked.some((key) => key.includes(','));
    const answer = expectValue(await this.#call('GET', `attributes${plain ? query : ''}`, signal), 'reading attributes');
    const found = answer === undefined ? {} : expectObject(answer, 'reading attributes');
    const client = scopeOf(found, 'client');
    const shared = scopeOf(found, 'shared');
    return {
      client: all ? client : only(client, clientKeys ?? []),
      shared: all ? shared : only(shared, sharedKeys ?? []),
      empty: Object.keys(found).length === 0,
    };
  }

  async pollAttributes(timeoutMs: number, signal: AbortSignal): Promise<AttributeUpdate | undefined> {
    const answer = await this.#poll('attribute-poll', 'attributes/updates', timeoutMs, signal);
    return answer === undefined ? undefined : attributeUpdate(expectObject(answer, 'waiting for attributes'));
  }

  async pollRpc(timeoutMs: number, signal: AbortSignal): Promise<RpcRequest | undefined> {
    const answer = await this.#poll('rpc-poll', 'rpc', timeoutMs, signal);
    return answer === undefined ? undefined : rpcRequest(expectObject(answer, 'waiting for RPC'));
  }

  async replyRpc(id: number, reply: JsonValue, signal: AbortSignal): Promise<void> {
    expectValue(await this.#call('POST', `rpc/${id}`, signal, { body: this.#codec.encode(reply) }), 'replying to an RPC');
  }

  async clientRpc(method: string, params: JsonValue, signal: AbortSignal): Promise<JsonValue> {
    return (
      expectValue(await this.#call('POST', 'rpc', signal, { body: this.#codec.encode({ method, params }) }), `client RPC ${method}`) ?? null
    );
  }

  async claim(claim: { readonly secretKey?: string; readonly durationMs?: number }, signal: AbortSignal): Promise<void> {
    expectValue(await this.#call('POST', 'claim', signal, { body: this.#codec.encode({ ...claim }) }), 'claiming');
  }

  getFirmware(image: Parameters<DeviceApi['getFirmware']>[0], signal: AbortSignal): Promise<FirmwareBody> {
    const path = this.#path(image.kind ?? 'firmware');
    const deadlineMs = this.#deps.settings.downloadTimeoutMs ?? DOWNLOAD_TIMEOUT_MS;
    return openFirmware({ path, image, deadlineMs }, { ...this.#exchangeDeps, judge: (answer) => this.#judge(answer) }, signal);
  }

  /** Ends every connection; calls under way fail with `platform/busy`. Idempotent. */
  async close(): Promise<void> {
    await this.#connections.close();
  }

  #encode(rows: TelemetryRows): Upload {
    const fault = this.#check.fault(rows);
    return fault === undefined ? { body: this.#codec.encodeTelemetry(rows) } : { fault };
  }

  async #call(
    method: 'GET' | 'POST',
    what: string,
    signal: AbortSignal,
    options: { readonly body?: string | Uint8Array; readonly limitBytes?: number; readonly lane?: Lane; readonly deadlineMs?: number } = {},
  ): Promise<Verdict> {
    const request: Exchange = {
      lane: options.lane ?? 'calls',
      method,
      path: this.#path(what),
      contentType: this.#codec.contentType,
      deadlineMs: options.deadlineMs ?? this.#deps.settings.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      limitBytes: options.limitBytes ?? LARGEST_ANSWER,
      ...(options.body === undefined ? {} : { body: options.body }),
    };
    const answer = await exchange(request, this.#exchangeDeps, signal);
    const verdict = this.#judge(answer);
    const platformMs = Date.parse(answer.date ?? '');
    if (verdict.kind === 'done' && Number.isFinite(platformMs)) this.#deps.onPlatformDate?.(platformMs);
    return verdict;
  }

  async #poll(lane: Lane, what: string, timeoutMs: number, signal: AbortSignal): Promise<JsonValue | undefined> {
    try {
      const verdict = await this.#call('GET', `${what}?timeout=${timeoutMs}`, signal, { lane, deadlineMs: timeoutMs + POLL_MARGIN_MS });
      if (verdict.kind === 'busy' && verdict.status !== undefined && NOTHING_YET.has(verdict.status)) return undefined;
      return expectValue(verdict, lane === 'rpc-poll' ? 'waiting for RPC' : 'waiting for attributes');
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  #judge(answer: Parameters<typeof judge>[0]): Verdict {
    return judge(answer, { codec: this.#codec, secrets: this.#secrets(), wallMs: this.#deps.clock.wallMs() });
  }

  #path(what: string): string {
    return `/api/v1/${encodeURIComponent(this.#deps.token())}/${what}`;
  }

  #secrets(): readonly string[] {
    return [this.#deps.token(), ...this.#connections.secrets];
  }
}

function attributeQuery(clientKeys: readonly string[], sharedKeys: readonly string[]): string {
  const list = (name: string, keys: readonly string[]): string[] =>
    keys.length === 0 ? [] : [`${name}=${keys.map(encodeURIComponent).join(',')}`];
  return `?${[...list('clientKeys', clientKeys), ...list('sharedKeys', sharedKeys)].join('&')}`;
}

function scopeOf(found: JsonObject, scope: 'client' | 'shared'): JsonObject {
  return Object.hasOwn(found, scope) ? expectObject(found[scope], 'reading attributes') : {};
}

function only(attributes: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(attributes, key)).map((key) => [key, attributes[key] as JsonValue]));
}

/** Three shapes are about: flat, wrapped in `client` (the contract's sample) or in `shared`; and `{"deleted": [...]}`. */
function attributeUpdate(body: JsonObject): AttributeUpdate {
  const [key, ...others] = Object.keys(body);
  const member = key === undefined ? undefined : body[key];
  if (others.length === 0 && key === 'deleted' && Array.isArray(member))
    return { changed: {}, deleted: member.filter((name) => typeof name === 'string') };
  if (others.length === 0 && (key === 'client' || key === 'shared') && isJsonObject(member)) return { changed: member, deleted: [] };
  return { changed: body, deleted: [] };
}

/** The contract allows a "timeout message" of unknown shape: an object with neither id nor method is one. */
function rpcRequest(body: JsonObject): RpcRequest | undefined {
  const { id, method } = body;
  if (id === undefined && method === undefined) return undefined;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0)
    throw new PlatformError('bad-answer', 'waiting for RPC: the id is no whole number from 0');
  if (typeof method !== 'string') throw new PlatformError('bad-answer', `waiting for RPC: request ${id} has no method`);
  return { id, method, params: Object.hasOwn(body, 'params') ? (body.params as JsonValue) : null };
}
