/** Endpoint 9: a device asks for credentials of its own. Needs no token; a refusal comes with status 200 and is a value. */
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../values/json.ts';
import { expectObject, expectValue, judge } from './answer-or-portal.ts';
import { type Connect, connectOverNetwork } from './connections.ts';
import type { ContactObserver } from './contact.ts';
import type { ProvisionAnswer, ProvisionRequest } from './device-api.ts';
import { exchange } from './http-exchange.ts';
import { jsonCodec } from './payload-codec.ts';
import { type HttpDeviceApiSettings, REQUEST_TIMEOUT_MS } from './platform-calls.ts';
import { PlatformError, safeText } from './platform-error.ts';

export interface ProvisionDeps {
  readonly settings: HttpDeviceApiSettings;
  readonly clock: Clock;
  /** Default: over this machine's network. */
  readonly connect?: Connect;
  readonly contact?: ContactObserver;
}

const MAX_ANSWER = 64 * 1024;

/** Over a connection of its own. After an error it is unknown whether the server made the device. @throws PlatformError as DeviceApi. */
export async function requestProvisioning(
  request: ProvisionRequest,
  deps: ProvisionDeps,
  signal: AbortSignal,
): Promise<ProvisionAnswer> {
  const connections = (deps.connect ?? connectOverNetwork(deps.clock))(deps.settings);
  const secrets = [
    request.provisionDeviceSecret,
    request.provisionDeviceKey,
    request.token ?? '',
    ...connections.secrets,
  ];
  try {
    const answer = await exchange(
      {
        lane: 'calls',
        method: 'POST',
        path: '/api/v1/provision',
        // The contract knows only JSON here: whoever has no token yet has not agreed on a codec either.
        body: jsonCodec.encode(payloadOf(request)),
        contentType: jsonCodec.contentType,
        deadlineMs: deps.settings.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
        limitBytes: MAX_ANSWER,
      },
      { connections, clock: deps.clock, secrets: () => secrets },
      signal,
    ).catch((error: unknown) => {
      if (error instanceof PlatformError) deps.contact?.failed(error, connections);
      throw error;
    });
    const verdict = judge(answer, { codec: jsonCodec, secrets, wallMs: deps.clock.wallMs() });
    deps.contact?.answered(verdict, answer, connections);
    return provisionAnswer(expectObject(expectValue(verdict, 'provisioning'), 'provisioning'), secrets);
  } finally {
    await connections.close();
  }
}

function payloadOf({ deviceName, provisionDeviceKey, provisionDeviceSecret, token }: ProvisionRequest): JsonObject {
  const own = token === undefined ? {} : { credentialsType: 'ACCESS_TOKEN', token };
  return { deviceName, provisionDeviceKey, provisionDeviceSecret, ...own };
}

function provisionAnswer(body: JsonObject, secrets: readonly string[]): ProvisionAnswer {
  // Older servers spell the fields `provisionDeviceStatus` and `accessToken`.
  const status = body.status ?? body.provisionDeviceStatus;
  if (status === 'NOT_FOUND' || status === 'FAILURE')
    return { status, errorMsg: typeof body.errorMsg === 'string' ? safeText(body.errorMsg, secrets) : '' };
  const credentialsValue = body.credentialsValue ?? body.accessToken;
  if (status !== 'SUCCESS' || typeof credentialsValue !== 'string' || credentialsValue === '')
    throw new PlatformError('bad-answer', 'provisioning: the answer holds neither credentials nor a refusal');
  return {
    status,
    credentialsType: typeof body.credentialsType === 'string' ? body.credentialsType : 'ACCESS_TOKEN',
    credentialsValue,
  };
}
