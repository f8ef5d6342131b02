/** Calls of the command line about attached devices, through the running agent. */
import type { ControlCalls } from '../../control-socket/control-connection.ts';
import { refusal } from '../../errors/agent-error.ts';
import type { DeviceStatus } from '../../status/shape/device-status.ts';
import { type JsonObject, jsonOf } from '../../values/json.ts';
import { badRequest, textIn } from '../../values/request-params.ts';
import { isAccessToken } from '../access-token.ts';
import type { ClaimRequest, OpenClaim } from '../claim-device.ts';
import { MAX_SECRET_LENGTH } from '../credentials-record.ts';
import type { ArrivedDevice, DeviceArrival } from './move-device.ts';
import { namedDevice } from './named-device.ts';

/** Requests about attached devices, each named by its id. */
export interface DevicesControl {
  /** All of them, in the order of the configuration, then those that were taken out of it. */
  list(): readonly DeviceStatus[];
  /** Lets a user of the platform claim it. @throws AgentError as `claimDevice`. */
  claim(id: string, request: ClaimRequest, signal: AbortSignal): Promise<OpenClaim>;
  /** Puts the next token beside the present one; either works until the platform has changed over. A blocked device is tried again with it at once. */
  rotate(id: string, accessToken: string): Promise<void>;
  /** Forgets its credentials and what it still holds; a slot that stands in the configuration is a new device after that. */
  remove(id: string): Promise<void>;
  /** Its identity under a passphrase, as a file's text. @throws AgentError as `packDevice`. */
  pack(id: string, passphrase: string): Promise<string>;
  /** Has it in no slot from now on, as it went to another gateway; what waits of it is delivered. @throws AgentError as `leaveDevice`. */
  leave(id: string): Promise<void>;
  /** Makes what is in a slot the device of a file. @throws AgentError as `takeDevice`. */
  take(arrival: DeviceArrival): Promise<ArrivedDevice>;
  /** Takes the name that somebody gave it on the platform; its id stays, and nothing is sent. */
  rename(id: string, name: string): Promise<void>;
}

const SLOT_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** As long as the platform's database column for names. */
const MAX_NAME_LENGTH = 255;

export function devicesCalls(control: DevicesControl): ControlCalls {
  const deviceIn = (params: JsonObject): DeviceStatus => namedDevice(control.list(), textIn(params, 'device'));
  const told = ({ id, name }: DeviceStatus): JsonObject => ({ id, name });
  return {
    readMethods: {
      listDevices: () => jsonOf(control.list()),
      showDevice: (params) => jsonOf(deviceIn(params)),
    },
    methods: {
      claimDevice: async (params, signal) => {
        const { id, name } = deviceIn(params);
        return { deviceName: name, ...(await control.claim(id, claimRequest(params), signal)) };
      },
      rotateDeviceToken: async (params) => {
        const device = deviceIn(params);
        const accessToken = textIn(params, 'accessToken');
        if (!isAccessToken(accessToken)) throw refusal('provisioning/bad-request', 'this cannot be an access token');
        await control.rotate(device.id, accessToken);
        return told(device);
      },
      removeDevice: async (params) => {
        const device = deviceIn(params);
        await control.remove(device.id);
        return { ...told(device), heldEntries: device.heldEntries, isConfigured: device.slots.length > 0 };
      },
      packDevice: async (params) => {
        const device = deviceIn(params);
        return { ...told(device), text: await control.pack(device.id, textIn(params, 'passphrase')) };
      },
      leaveDevice: async (params) => {
        const device = deviceIn(params);
        await control.leave(device.id);
        return { ...told(device), heldEntries: device.heldEntries, slots: [...device.slots] };
      },
      takeDevice: async (params) => {
        const [slot, text, passphrase] = ['slot', 'text', 'passphrase'].map((name) => textIn(params, name)) as [
          string,
          string,
          string,
        ];
        if (!SLOT_NAME.test(slot)) throw badRequest('a slot has 1 to 64 letters, digits, - and _');
        return { ...(await control.take({ slot, text, passphrase, replace: params.replace === true })) };
      },
      renameDevice: async (params) => {
        const device = deviceIn(params);
        const name = textIn(params, 'name').trim();
        if (name === '' || name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name))
          throw badRequest(`a name has 1 to ${MAX_NAME_LENGTH} characters, on one line`);
        const other = control.list().find((one) => one.id !== device.id && one.name === name);
        if (other !== undefined) throw badRequest(`another device is called so: ${other.id}`);
        await control.rename(device.id, name);
        return { id: device.id, name };
      },
    },
  };
}

function claimRequest({ secretKey, durationMs }: JsonObject): ClaimRequest {
  if (typeof secretKey === 'string' && (secretKey === '' || secretKey.length > MAX_SECRET_LENGTH))
    throw badRequest(`a secret has 1 to ${MAX_SECRET_LENGTH} characters`);
  return {
    secretKey: typeof secretKey === 'string' ? secretKey : undefined,
    durationMs: typeof durationMs === 'number' && durationMs > 0 ? durationMs : undefined,
  };
}
