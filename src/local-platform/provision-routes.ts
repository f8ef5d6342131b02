/** Endpoint 9: devices that provision themselves by a profile's key and secret. Refusals come with status 200 (wire-facts.md). */
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { DeviceProfile, PlatformDevice } from './device-registry.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Route } from './http-service.ts';
import { PayloadFault, readDocument } from './payload.ts';
import type { PlatformState } from './platform-state.ts';

export interface ProvisionRoutesDeps {
  readonly state: PlatformState;
  readonly clock: Clock;
  /** Knows only the contract's fields: makes every token itself. */
  readonly legacy: boolean;
}

/** Server-side attribute by which the real platform remembers that a device was provisioned. */
const PROVISION_STATE = 'provisionState';

export function provisionRoutes(deps: ProvisionRoutesDeps): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/provision',
      handler: (call) => {
        try {
          const body = readDocument(call.body, call.headers['content-type']);
          if (!isJsonObject(body)) throw new PayloadFault('Invalid provision request: not a JSON object');
          return provision(body, deps);
        } catch (error) {
          if (error instanceof PayloadFault) return errorReply(500, error.message, deps.clock, 2);
          throw error;
        }
      },
    },
  ];
}

function provision(body: JsonObject, deps: ProvisionRoutesDeps): Reply {
  const { state } = deps;
  const deviceName = text(body, 'deviceName');
  const profile = state.registry.profileByKey(text(body, 'provisionDeviceKey'));
  const secret = text(body, 'provisionDeviceSecret');
  if (profile === undefined || profile.provisionType === 'DISABLED' || profile.provisionDeviceSecret !== secret)
    return refusal('NOT_FOUND', 'Provision data was not found!');
  const known = state.registry.byName(deviceName);
  if (profile.provisionType === 'CHECK_PRE_PROVISIONED_DEVICES') return checkPreProvisioned(known, profile, deps);
  if (known !== undefined) return refusal('FAILURE', 'Failed to provision device!');
  const proposed = deps.legacy || body.credentialsType !== 'ACCESS_TOKEN' ? undefined : text(body, 'token');
  if (proposed !== undefined && state.registry.byToken(proposed) !== undefined) return refusal('FAILURE', 'Failed to provision device!');
  const device = state.registry.draft(
    {
      name: deviceName,
      profileId: profile.id,
      type: profile.name,
      gateway: !deps.legacy && body.gateway === true,
      ...(proposed === undefined ? {} : { accessToken: proposed }),
    },
    deps.clock.wallMs(),
  );
  state.saveDevice(device);
  return success(device, deps);
}

/** A device that exists already, once: its token is the one that it has. */
function checkPreProvisioned(known: PlatformDevice | undefined, profile: DeviceProfile, deps: ProvisionRoutesDeps): Reply {
  if (known === undefined || known.profileId !== profile.id) return refusal('FAILURE', 'Failed to provision device!');
  const [provisioned] = deps.state.attributes.read(known.id, 'SERVER_SCOPE', [PROVISION_STATE]);
  if (provisioned?.value === 'provisioned') return refusal('FAILURE', 'Failed to provision device!');
  return success(known, deps);
}

function success(device: PlatformDevice, deps: ProvisionRoutesDeps): Reply {
  deps.state.setAttributes(device.id, 'SERVER_SCOPE', { [PROVISION_STATE]: 'provisioned' });
  return jsonReply({ credentialsType: 'ACCESS_TOKEN', credentialsValue: device.accessToken, status: 'SUCCESS' });
}

function refusal(status: 'NOT_FOUND' | 'FAILURE', errorMsg: string): Reply {
  return jsonReply({ errorMsg, status });
}

function text(body: JsonObject, name: string): string {
  const value = body[name];
  if (typeof value !== 'string' || value === '') throw new PayloadFault(`Invalid provision request: ${name} is required`);
  return value;
}
