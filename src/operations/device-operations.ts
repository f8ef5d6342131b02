/** Operations on attached devices, each named as a person calls it: by its id, its name or its slot. */

import type { ClaimRequest, OpenClaim } from '../devices/claim-device.ts';
import type { ArrivedDevice, DeviceArrival } from '../devices/move-device.ts';
import type { DeviceStatus } from '../status/shape/device-status.ts';
import { badRequest } from '../values/bad-request.ts';
import type { JsonValue } from '../values/json.ts';
import type { ValueShape } from '../values/value-shape.ts';
import type { NamedDevice } from './answers.ts';
import { CLAIM_REQUEST, claimRequestOf } from './identity-operations.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, SITE_CHANGE, textOf } from './operation.ts';

/** Requests about attached devices, each by its id. */
export interface DevicesControl {
  /** All of them, in the order of the configuration, then those that were taken out of it. */
  list(): readonly DeviceStatus[];
  /** The one that a person means. @throws AgentError as `namedDevice`. */
  named(text: string): DeviceStatus;
  /** Lets a user of the platform claim it. @throws AgentError as `claimDevice`. */
  claim(id: string, request: ClaimRequest, signal: AbortSignal): Promise<OpenClaim>;
  /**
   * Puts the next token beside the present one; either works until the platform has changed over. A blocked device is tried again with it at once.
   * @throws AgentError `provisioning/bad-token` (drop).
   */
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

const DEVICE: ValueShape = { type: 'string', description: 'the device: its name, slot or id, or a beginning of one' };
const TEXT: ValueShape = { type: 'string' };
/** As long as the platform's database column for names. */
const MAX_NAME_LENGTH = 255;

export const DEVICE_OPERATIONS: OperationsOn<DevicesControl> = {
  listDevices: (devices) => ({
    ...QUESTION,
    description: 'Attached devices, and how each is.',
    askers: ['viewer'],
    run: () => devices.list(),
  }),
  showDevice: (devices) => ({
    ...QUESTION,
    description: 'How one attached device is.',
    askers: ['viewer'],
    params: objectOf({ device: DEVICE }),
    run: (params) => deviceIn(devices, params),
  }),
  claimDevice: (devices) => ({
    ...SITE_CHANGE,
    description: 'Lets a user of the platform claim an attached device.',
    params: objectOf({ device: DEVICE, ...CLAIM_REQUEST }, ['device']),
    run: async (params, { signal }) => {
      const { id, name } = deviceIn(devices, params);
      return { deviceName: name, ...(await devices.claim(id, claimRequestOf(params), signal)) };
    },
  }),
  rotateDeviceToken: (devices) => ({
    ...SITE_CHANGE,
    description: 'Announces the access token that an attached device is about to be given.',
    params: objectOf({ device: DEVICE, accessToken: TEXT }),
    run: async (params) => {
      const device = deviceIn(devices, params);
      await devices.rotate(device.id, textOf(params, 'accessToken'));
      return told(device);
    },
  }),
  renameDevice: (devices) => ({
    ...SITE_CHANGE,
    description: 'Calls an attached device as it is called on the platform.',
    params: objectOf({ device: DEVICE, name: TEXT }),
    run: async (params) => {
      const { id } = deviceIn(devices, params);
      const name = textOf(params, 'name').trim();
      if (name === '' || name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name))
        throw badRequest(`a name has 1 to ${MAX_NAME_LENGTH} characters, on one line`);
      const other = devices.list().find((one) => one.id !== id && one.name === name);
      if (other !== undefined) throw badRequest(`another device is called so: ${other.id}`);
      await devices.rename(id, name);
      return { id, name };
    },
  }),
  removeDevice: (devices) => ({
    ...SITE_CHANGE,
    description: 'Forgets the credentials of an attached device, and what waits of it.',
    params: objectOf({ device: DEVICE }),
    run: async (params) => {
      const device = deviceIn(devices, params);
      await devices.remove(device.id);
      return { ...told(device), heldEntries: device.heldEntries, isConfigured: device.slots.length > 0 };
    },
  }),
  packDevice: (devices) => ({
    ...SITE_CHANGE,
    description: 'Packs the identity of an attached device under a passphrase, for another gateway.',
    params: objectOf({ device: DEVICE, passphrase: TEXT }),
    run: async (params) => {
      const device = deviceIn(devices, params);
      return { ...told(device), text: await devices.pack(device.id, textOf(params, 'passphrase')) };
    },
  }),
  leaveDevice: (devices) => ({
    ...SITE_CHANGE,
    description: 'Lets an attached device go to another gateway; what waits of it is delivered from here.',
    params: objectOf({ device: DEVICE }),
    run: async (params) => {
      const device = deviceIn(devices, params);
      await devices.leave(device.id);
      return { ...told(device), heldEntries: device.heldEntries, slots: device.slots };
    },
  }),
  takeDevice: (devices) => ({
    ...SITE_CHANGE,
    description: 'Makes what is in a slot the device that another gateway packed.',
    params: objectOf(
      {
        slot: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'a name under devices:' },
        text: TEXT,
        passphrase: TEXT,
        replace: { type: 'boolean' },
      },
      ['slot', 'text', 'passphrase'],
    ),
    run: (params) =>
      devices.take({
        slot: textOf(params, 'slot'),
        text: textOf(params, 'text'),
        passphrase: textOf(params, 'passphrase'),
        replace: memberOf(params, 'replace') === true,
      }),
  }),
};

function deviceIn(devices: DevicesControl, params: JsonValue): DeviceStatus {
  return devices.named(textOf(params, 'device'));
}

function told({ id, name }: DeviceStatus): NamedDevice {
  return { id, name };
}
