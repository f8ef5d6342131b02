/**
 * The device API that watches its token: the DeviceToken learns what the platform accepts or refuses, and a request that was refused during
 * a rotation is repeated once with the new token, so that no caller notices it.
 */
import type { DeviceApi } from '../platform/device-api.ts';
import { PlatformError } from '../platform/platform-error.ts';
import { meaningOf } from '../platform/status-meaning.ts';
import type { DeviceToken } from './device-token.ts';

export interface TokenAwareDeps {
  /** Each is asked for at every call: certificates and credentials may come later. */
  readonly deviceApi: () => DeviceApi;
  readonly token: () => Pick<DeviceToken, 'accessToken' | 'noteAccepted' | 'noteRefused'> | undefined;
  /** Why these credentials must not be used now, in words; asked before every call. */
  readonly held: () => string | undefined;
}

export function tokenAwareDeviceApi(deps: TokenAwareDeps): DeviceApi {
  const usedToken = (): string => deps.token()?.accessToken ?? '';
  const isChangedOver = async (used: string, signal: AbortSignal): Promise<boolean> =>
    (await deps.token()?.noteRefused(used, signal)) ?? false;
  /** Any call but an upload; the signal is the last of its parameters. */
  const aware =
    <Params extends readonly unknown[], Answer>(
      call: (deviceApi: DeviceApi, ...params: [...Params, signal: AbortSignal]) => Promise<Answer>,
    ) =>
    async (...params: [...Params, signal: AbortSignal]): Promise<Answer> => {
      const held = deps.held();
      if (held !== undefined) throw new PlatformError('unauthorised', held);
      const used = usedToken();
      try {
        return await call(deps.deviceApi(), ...params);
      } catch (error) {
        if (!(error instanceof PlatformError) || error.status === undefined || meaningOf(error.status) !== 'not-known')
          throw error;
        if (!(await isChangedOver(used, params.at(-1) as AbortSignal))) throw error;
        return call(deps.deviceApi(), ...params);
      }
    };
  return {
    postTelemetry: async (rows, signal) => {
      const held = deps.held();
      if (held !== undefined) return { kind: 'unauthorised', status: 0, text: held };
      const used = usedToken();
      const answer = await deps.deviceApi().postTelemetry(rows, signal);
      if (answer.kind === 'accepted') deps.token()?.noteAccepted(used);
      if (answer.kind !== 'unauthorised' || meaningOf(answer.status) !== 'not-known') return answer;
      return (await isChangedOver(used, signal)) ? deps.deviceApi().postTelemetry(rows, signal) : answer;
    },
    prepareTelemetry: (rows) => deps.deviceApi().prepareTelemetry(rows),
    postAttributes: aware((deviceApi, ...params) => deviceApi.postAttributes(...params)),
    getAttributes: aware((deviceApi, ...params) => deviceApi.getAttributes(...params)),
    pollAttributes: aware((deviceApi, ...params) => deviceApi.pollAttributes(...params)),
    pollRpc: aware((deviceApi, ...params) => deviceApi.pollRpc(...params)),
    replyRpc: aware((deviceApi, ...params) => deviceApi.replyRpc(...params)),
    failRpc: aware((deviceApi, ...params) => deviceApi.failRpc(...params)),
    clientRpc: aware((deviceApi, ...params) => deviceApi.clientRpc(...params)),
    claim: aware((deviceApi, ...params) => deviceApi.claim(...params)),
    getFirmware: aware((deviceApi, ...params) => deviceApi.getFirmware(...params)),
    close: () => deps.deviceApi().close(),
  };
}
