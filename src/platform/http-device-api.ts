/**
 * The platform's device HTTP API (wire-facts.md): the endpoints with their paths, and the shapes of what they take and answer. How a call is
 * made is platform-calls.ts, what an answer means is answer-or-portal.ts. Several calls may run at once; one poll of each kind.
 */
import type { JsonObject, JsonValue } from '../values/json.ts';
import { expectObject, expectValue, uploadAnswer } from './answer-or-portal.ts';
import { attributeAnswer, attributeQuery, attributeUpdate, rpcRequest } from './attribute-and-rpc-shapes.ts';
import type { Traffic } from './connections.ts';
import type {
  AttributeAnswer,
  AttributeUpdate,
  DeviceApi,
  FirmwareBody,
  RpcRequest,
  TelemetryRows,
  UnsendableRow,
  UploadAnswer,
} from './device-api.ts';
import { jsonCodec, type PayloadCodec } from './payload-codec.ts';
import { PlatformCalls, type PlatformCallsDeps } from './platform-calls.ts';
import { PlatformError } from './platform-error.ts';
import { keyFault, SendableKeys, timeFault, valueFault } from './wire-values.ts';

export interface HttpDeviceApiDeps extends Omit<PlatformCallsDeps, 'codec'> {
  /** Default JSON. */
  readonly codec?: PayloadCodec;
}

/** The body of an upload and how many of its rows have another key on the wire; or which rows the server would lose. */
type Upload =
  | { readonly body: string | Uint8Array; readonly renamed: number; readonly unsendable?: undefined }
  | { readonly body?: undefined; readonly unsendable: readonly [UnsendableRow, ...UnsendableRow[]] };

/** Answers to uploads are empty, or the text of a fault. */
const MAX_UPLOAD_ANSWER = 64 * 1024;

/** Servers refuse request lines past 8 KiB; with more keys than this everything is asked for. */
const MAX_QUERY_LENGTH = 4096;

export class HttpDeviceApi implements DeviceApi {
  readonly #calls: PlatformCalls;
  readonly #codec: PayloadCodec;
  readonly #keys = new SendableKeys();
  #renamedEntries = 0;
  #prepared: { readonly rows: TelemetryRows; readonly upload: Upload } | undefined;

  /** Connects at the first call. @throws PlatformError `platform/settings` (stop) for an address that is none. */
  constructor(deps: HttpDeviceApiDeps) {
    this.#codec = deps.codec ?? jsonCodec;
    this.#calls = new PlatformCalls({ ...deps, codec: this.#codec });
  }

  /** HTTP bytes since start, for budgets of metered links. */
  get traffic(): Traffic {
    return this.#calls.traffic;
  }

  /** Entries that were accepted under another key since start: they were written down before keys were looked at. */
  get renamedEntries(): number {
    return this.#renamedEntries;
  }

  async postTelemetry(rows: TelemetryRows, signal: AbortSignal): Promise<UploadAnswer> {
    if (rows.keys.length === 0) return { kind: 'refused', status: 0, text: 'there is nothing in it' };
    const upload = this.#prepared?.rows === rows ? this.#prepared.upload : this.#encode(rows);
    this.#prepared = undefined;
    if (upload.unsendable !== undefined) return refusal(rows, upload.unsendable);
    const { body, renamed } = upload;
    try {
      const verdict = await this.#calls.call('POST', 'telemetry', signal, {
        lane: 'upload',
        body,
        limitBytes: MAX_UPLOAD_ANSWER,
      });
      const answer = uploadAnswer(verdict);
      if (answer.kind === 'accepted') this.#renamedEntries += renamed;
      return answer;
    } catch (error) {
      if (error instanceof PlatformError)
        return { kind: 'busy', text: error.message, ...(error.cut ? { cut: true } : {}) };
      throw error;
    }
  }

  prepareTelemetry(rows: TelemetryRows): void {
    this.#prepared = { rows, upload: this.#encode(rows) };
  }

  async postAttributes(attributes: JsonObject, signal: AbortSignal): Promise<void> {
    for (const [key, value] of Object.entries(attributes)) {
      const fault = keyFault(key) ?? (value === undefined ? undefined : valueFault(value));
      if (fault !== undefined)
        throw new PlatformError('refused', `attribute ${JSON.stringify(key.slice(0, 80))}: ${fault}`);
    }
    const body = this.#codec.encodeAttributes(attributes);
    expectValue(
      await this.#calls.call('POST', 'attributes', signal, { body, limitBytes: MAX_UPLOAD_ANSWER }),
      'sending attributes',
    );
  }

  async getAttributes(keys: Parameters<DeviceApi['getAttributes']>[0], signal: AbortSignal): Promise<AttributeAnswer> {
    const { clientKeys = [], sharedKeys = [] } = keys;
    const asked = [...clientKeys, ...sharedKeys];
    const all = keys.clientKeys === undefined && keys.sharedKeys === undefined;
    if (!all && asked.length === 0) return { client: {}, shared: {}, empty: true };
    const query = all ? '' : attributeQuery(clientKeys, sharedKeys);
    // The server splits lists at every comma; such keys, and lists that no request line holds, can only be had with all the others.
    const plain = query.length <= MAX_QUERY_LENGTH && !asked.some((key) => key.includes(','));
    const path = `attributes${plain ? query : ''}`;
    const wanted = all ? undefined : { clientKeys, sharedKeys };
    return await this.#calls.ask(
      path,
      (verdict) => attributeAnswer(expectValue(verdict, 'reading attributes'), wanted),
      signal,
    );
  }

  pollAttributes(timeoutMs: number, signal: AbortSignal): Promise<AttributeUpdate | undefined> {
    const read = (value: JsonValue): AttributeUpdate => attributeUpdate(expectObject(value, 'waiting for attributes'));
    return this.#calls.poll('attribute-poll', { what: 'attributes/updates', timeoutMs, read }, signal);
  }

  pollRpc(timeoutMs: number, signal: AbortSignal): Promise<RpcRequest | undefined> {
    const read = (value: JsonValue): RpcRequest | undefined => rpcRequest(expectObject(value, 'waiting for RPC'));
    return this.#calls.poll('rpc-poll', { what: 'rpc', timeoutMs, read }, signal);
  }

  async replyRpc(id: number, reply: JsonValue, signal: AbortSignal): Promise<void> {
    await this.#reply(id, this.#codec.encode(reply), signal);
  }

  async failRpc(id: number, text: string, signal: AbortSignal): Promise<void> {
    await this.#reply(id, text, signal);
  }

  async clientRpc(method: string, params: JsonValue, signal: AbortSignal): Promise<JsonValue> {
    const verdict = await this.#calls.call('POST', 'rpc', signal, { body: this.#codec.encode({ method, params }) });
    return expectValue(verdict, `client RPC ${method}`) ?? null;
  }

  async claim(
    claim: { readonly secretKey?: string; readonly durationMs?: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { secretKey, durationMs } = claim;
    const body = this.#codec.encode({
      ...(secretKey !== undefined && { secretKey }),
      ...(durationMs !== undefined && { durationMs: Math.ceil(durationMs) }),
    });
    expectValue(await this.#calls.call('POST', 'claim', signal, { body }), 'claiming');
  }

  getFirmware(image: Parameters<DeviceApi['getFirmware']>[0], signal: AbortSignal): Promise<FirmwareBody> {
    return this.#calls.download(image.kind ?? 'firmware', image, signal);
  }

  /** Ends every connection; calls under way fail with `platform/busy`. Idempotent. */
  async close(): Promise<void> {
    await this.#calls.close();
  }

  async #reply(id: number, body: string | Uint8Array, signal: AbortSignal): Promise<void> {
    expectValue(await this.#calls.call('POST', `rpc/${id}`, signal, { body, way: 'replies' }), 'replying to an RPC');
  }

  /** Looks first for what the server would take with a 200 and then lose: a key gets a name that is kept, or the row is named with its reason. */
  #encode({ keys, values, ts }: TelemetryRows): Upload {
    const unsendable: UnsendableRow[] = [];
    /** As the server takes them; the keys themselves until one has another name. */
    let names: string[] | undefined;
    let renamed = 0;
    for (let row = 0; row < keys.length; row += 1) {
      const key = keys[row] as string;
      const value = values[row] as JsonValue;
      // Nearly all are plain numbers, and those need no look at what else a value could be.
      const isPlain = typeof value === 'number' && value - value === 0;
      const reason =
        (isPlain ? undefined : valueFault(value)) ??
        (ts === undefined ? timelessFault(key) : timeFault(ts[row] as number));
      if (reason !== undefined) unsendable.push({ row, reason });
      const name = this.#keys.of(key);
      if (name === key) continue;
      names ??= [...keys];
      names[row] = name;
      renamed += 1;
    }
    const [first, ...others] = unsendable;
    if (first !== undefined) return { unsendable: [first, ...others] };
    return {
      body: this.#codec.encodeTelemetry({ keys: names ?? keys, values, ...(ts === undefined ? {} : { ts }) }),
      renamed,
    };
  }
}

function refusal(rows: TelemetryRows, unsendable: readonly [UnsendableRow, ...UnsendableRow[]]): UploadAnswer {
  const [{ row, reason }] = unsendable;
  return {
    kind: 'refused',
    status: 0,
    text: `key ${JSON.stringify(rows.keys[row]?.slice(0, 80))}: ${reason}`,
    unsendable,
  };
}

function timelessFault(key: string): string | undefined {
  return key === 'ts' ? 'in a record without time the server takes "ts" for its time' : undefined;
}
