/** The port to the platform's device HTTP API (wire-facts.md, "Endpoints"); http-device-api.ts is the one that speaks it. */
import type { JsonObject, JsonValue } from '../values/json.ts';

/** Values and their timestamps side by side: row i says that `keys[i]` was `values[i]` at `ts[i]`. */
export interface TelemetryRows {
  readonly keys: readonly string[];
  readonly values: readonly JsonValue[];
  /** UTC epoch ms. Without it all rows together get the server's time, and a retry of them is a second value. */
  readonly ts?: readonly number[];
}

/** A row that the server would take with a 200 and then lose, with everything else of its timestamp. */
export interface UnsendableRow {
  /** Its place among the rows of the upload. */
  readonly row: number;
  /** In words. */
  readonly reason: string;
}

/** Meaning of an upload's answer (wire-facts.md, "Answers to an upload"); refusals are values, because the caller acts on each. */
export type UploadAnswer =
  | { readonly kind: 'accepted' }
  /**
   * 400, or 500 with text: an entry in it is at fault; bisect. `status` 0: the client itself refused it and sent nothing, and `unsendable`
   * are the rows at fault, the first in `text`: the others can be sent without them.
   */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly text: string;
      readonly unsendable?: readonly UnsendableRow[];
    }
  /** 413: the batch is too large; send a half. */
  | { readonly kind: 'too-large'; readonly status: number }
  /** 500 empty, 408, 429, 502, 503, 504 and every network fault: back off. `cut`: it had begun and took too long, or the connection broke. */
  | {
      readonly kind: 'busy';
      readonly status?: number;
      readonly text: string;
      readonly retryAfterMs?: number;
      readonly cut?: boolean;
    }
  /** A portal in between (200 with HTML, any 3xx, 511): hold. */
  | { readonly kind: 'portal'; readonly status: number }
  /** 401, 403, 404 and every 4xx that has no other meaning: hold, alert, retry slowly. */
  | { readonly kind: 'unauthorised'; readonly status: number; readonly text: string };

export interface RpcRequest {
  /** From 0; unique only until the server restarts. */
  readonly id: number;
  readonly method: string;
  readonly params: JsonValue;
}

/** A wake-up from the attribute subscription; `changed` and `deleted` are hints, never the truth (wire-facts.md, "Long polls"). */
export interface AttributeUpdate {
  readonly changed: JsonObject;
  readonly deleted: readonly string[];
}

export interface AttributeAnswer {
  readonly client: JsonObject;
  readonly shared: JsonObject;
  /** Nothing of what was asked for was found, as in `{}`: it may be a backend fault, and never means that all was deleted. */
  readonly empty: boolean;
}

export type ProvisionAnswer =
  | { readonly status: 'SUCCESS'; readonly credentialsType: string; readonly credentialsValue: string }
  | { readonly status: 'NOT_FOUND' | 'FAILURE'; readonly errorMsg: string };

export interface ProvisionRequest {
  readonly deviceName: string;
  readonly provisionDeviceKey: string;
  readonly provisionDeviceSecret: string;
  /** The token the device proposes for itself (`credentialsType` ACCESS_TOKEN). */
  readonly token?: string;
}

/** The beginning of a file that is here already, and the server's strong ETag of the file that it is of. */
export interface FileBeginning {
  readonly bytes: number;
  readonly validator: string;
}

/** Part of a firmware file, streamed; the caller reads it to the end or destroys it. */
export interface FirmwareBody {
  /** How much of the file comes before it, where the rest of a beginning was asked for and is given. */
  readonly startsAt?: number;
  /** By which the rest can be asked for when it is cut. */
  readonly validator?: string;
  /** `Content-Length`, when the server gave one. */
  readonly lengthBytes?: number;
  readonly stream: AsyncIterable<Uint8Array>;
}

/**
 * The device's side of the platform. Every call is bounded in time and size by the client's settings and ends early when `signal` aborts.
 * All but `postTelemetry` throw PlatformError, an AgentError: `platform/unauthorised` (hold), `platform/busy` (retry), `platform/portal` (hold),
 * `platform/refused` (drop), `platform/too-large` (drop), `platform/not-found` (hold), `platform/bad-answer` (retry), `platform/aborted` (retry).
 * A poll answers undefined when its signal aborts. A hostile or broken server can end every poll at once without content: the caller spaces
 * polls that end early (before half of `timeoutMs`) and bring nothing.
 */
export interface DeviceApi {
  /** Endpoint 1. Never sends an empty list, which the server would not answer: it is refused here. Keys that the server would lose go under another name. */
  postTelemetry(rows: TelemetryRows, signal: AbortSignal): Promise<UploadAnswer>;
  /** Encodes what is to be posted next while an earlier post is on its way. Only ever saves time: nothing depends on it. */
  prepareTelemetry(rows: TelemetryRows): void;
  /** Endpoint 2. What the server would lose is refused here, as `platform/refused`. */
  postAttributes(attributes: JsonObject, signal: AbortSignal): Promise<void>;
  /** Endpoint 3. No list at all asks for every client and shared key; empty lists ask for nothing. */
  getAttributes(
    keys: { readonly clientKeys?: readonly string[]; readonly sharedKeys?: readonly string[] },
    signal: AbortSignal,
  ): Promise<AttributeAnswer>;
  /** Endpoint 4; undefined when nothing happened within `timeoutMs` (408, 503, 504). */
  pollAttributes(timeoutMs: number, signal: AbortSignal): Promise<AttributeUpdate | undefined>;
  /** Endpoint 5; undefined when nothing happened within `timeoutMs`. */
  pollRpc(timeoutMs: number, signal: AbortSignal): Promise<RpcRequest | undefined>;
  /** Endpoint 6. */
  replyRpc(id: number, reply: JsonValue, signal: AbortSignal): Promise<void>;
  /** Endpoint 6 with a text that is no JSON: the platform answers its own caller with 406 then (wire-facts.md). */
  failRpc(id: number, text: string, signal: AbortSignal): Promise<void>;
  /** Endpoint 7. */
  clientRpc(method: string, params: JsonValue, signal: AbortSignal): Promise<JsonValue>;
  /** Endpoint 8. */
  claim(claim: { readonly secretKey?: string; readonly durationMs?: number }, signal: AbortSignal): Promise<void>;
  /** Endpoint 10, or its twin for `sw_*` packages. `sizeBytes` 0 or absent asks for the whole file. */
  getFirmware(
    image: {
      readonly kind?: 'firmware' | 'software';
      readonly title: string;
      readonly version: string;
      readonly sizeBytes?: number;
      readonly chunk?: number;
    },
    signal: AbortSignal,
  ): Promise<FirmwareBody>;
  close(): Promise<void>;
}
