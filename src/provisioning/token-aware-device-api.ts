/**
 * The device API with the token's fate attached: what the platform accepts or refuses is told to the DeviceToken, and a request that met
 * a change-over of tokens is repeated once with the new one, so that no caller notices a rotation.
 */
import type { JsonObject, JsonValue } from '../host/json.ts';
import type {
  AttributeAnswer,
  AttributeUpdate,
  DeviceApi,
  FirmwareBody,
  RpcRequest,
  TelemetryRows,
  UploadAnswer,
} from '../platform/device-api.ts';
import { PlatformError } from '../platform/platform-error.ts';
import type { DeviceToken } from './device-token.ts';

export interface TokenAwareDeps {
  readonly deviceApi: DeviceApi;
  readonly token: Pick<DeviceToken, 'accessToken' | 'noteAccepted' | 'noteRefused'>;
  /** Why these credentials must not be used now, in words; asked before every call. */
  readonly held: () => string | undefined;
}

const REFUSED = 401;

export class TokenAwareDeviceApi implements DeviceApi {
  readonly #deps: TokenAwareDeps;

  constructor(deps: TokenAwareDeps) {
    this.#deps = deps;
  }

  async postTelemetry(rows: TelemetryRows, signal: AbortSignal): Promise<UploadAnswer> {
    const { deviceApi, token } = this.#deps;
    const held = this.#deps.held();
    if (held !== undefined) return { kind: 'unauthorised', status: 0, text: held };
    const used = token.accessToken;
    const answer = await deviceApi.postTelemetry(rows, signal);
    if (answer.kind === 'accepted') token.noteAccepted(used);
    if (answer.kind !== 'unauthorised' || answer.status !== REFUSED) return answer;
    return (await token.noteRefused(used, signal)) ? deviceApi.postTelemetry(rows, signal) : answer;
  }

  prepareTelemetry(rows: TelemetryRows): void {
    this.#deps.deviceApi.prepareTelemetry(rows);
  }

  postAttributes(attributes: JsonObject, signal: AbortSignal): Promise<void> {
    return this.#call((deviceApi) => deviceApi.postAttributes(attributes, signal), signal);
  }

  getAttributes(keys: Parameters<DeviceApi['getAttributes']>[0], signal: AbortSignal): Promise<AttributeAnswer> {
    return this.#call((deviceApi) => deviceApi.getAttributes(keys, signal), signal);
  }

  pollAttributes(timeoutMs: number, signal: AbortSignal): Promise<AttributeUpdate | undefined> {
    return this.#call((deviceApi) => deviceApi.pollAttributes(timeoutMs, signal), signal);
  }

  pollRpc(timeoutMs: number, signal: AbortSignal): Promise<RpcRequest | undefined> {
    return this.#call((deviceApi) => deviceApi.pollRpc(timeoutMs, signal), signal);
  }

  replyRpc(id: number, reply: JsonValue, signal: AbortSignal): Promise<void> {
    return this.#call((deviceApi) => deviceApi.replyRpc(id, reply, signal), signal);
  }

  clientRpc(method: string, params: JsonValue, signal: AbortSignal): Promise<JsonValue> {
    return this.#call((deviceApi) => deviceApi.clientRpc(method, params, signal), signal);
  }

  claim(claim: Parameters<DeviceApi['claim']>[0], signal: AbortSignal): Promise<void> {
    return this.#call((deviceApi) => deviceApi.claim(claim, signal), signal);
  }

  getFirmware(image: Parameters<DeviceApi['getFirmware']>[0], signal: AbortSignal): Promise<FirmwareBody> {
    return this.#call((deviceApi) => deviceApi.getFirmware(image, signal), signal);
  }

  close(): Promise<void> {
    return this.#deps.deviceApi.close();
  }

  async #call<Answer>(call: (deviceApi: DeviceApi) => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    const { deviceApi, token } = this.#deps;
    const held = this.#deps.held();
    if (held !== undefined) throw new PlatformError('unauthorised', held);
    const used = token.accessToken;
    try {
      return await call(deviceApi);
    } catch (error) {
      if (!(error instanceof PlatformError) || error.status !== REFUSED) throw error;
      if (!(await token.noteRefused(used, signal))) throw error;
      return call(deviceApi);
    }
  }
}
