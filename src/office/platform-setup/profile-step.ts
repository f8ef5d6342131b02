/** The device profile: made where there is none; of one that is there only what devices need in order to make themselves known is changed. */

import { CommandError } from '../../cli/exit-code.ts';
import { makeAccessToken } from '../../devices/access-token.ts';
import type { RandomBytes } from '../../host/random.ts';
import { isJsonObject, type JsonObject } from '../../values/json.ts';
import { type Api, idIn, type Made, type Provisioning, reference, type Step } from './plan.ts';

/** As the platform's own form makes them. */
const KEY_LENGTH = 20;
const ALLOWED = 'ALLOW_CREATE_NEW_DEVICES';
const WHAT = 'device profile';

/** Devices of a profile: gateways, or what is attached to them, which has no place in tables and rules of gateways. */
export type ProfileOf = 'gateways' | 'devices';

const DESCRIPTIONS: Readonly<Record<ProfileOf, string>> = {
  gateways: 'Gateways with the Turnstone agent',
  devices: 'Devices attached to gateways with the Turnstone agent',
};

/** Name of the profile of what is attached to the gateways of a profile. */
export function devicesProfile(name: string): string {
  return `${name} devices`;
}

/** A profile that can be imported by hand: its key and secret are made by the platform's form. */
export function profileJson(name: string, of: ProfileOf = 'gateways'): JsonObject {
  return {
    name,
    description: DESCRIPTIONS[of],
    image: null,
    default: false,
    type: 'DEFAULT',
    transportType: 'DEFAULT',
    provisionType: 'DISABLED',
    provisionDeviceKey: null,
    defaultRuleChainId: null,
    defaultDashboardId: null,
    defaultQueueName: null,
    firmwareId: null,
    softwareId: null,
    profileData: {
      configuration: { type: 'DEFAULT' },
      transportConfiguration: { type: 'DEFAULT' },
      provisionConfiguration: { type: 'DISABLED', provisionDeviceSecret: null },
      alarms: null,
    },
  };
}

/** @throws CommandError for a profile of this name that is of another sort. */
export function profileStep(
  api: Api,
  name: string,
  found: JsonObject | undefined,
  randomBytes: RandomBytes,
  of: ProfileOf = 'gateways',
): Step {
  const keep = async (body: JsonObject, made: Made): Promise<void> => {
    const { profile, provisioning } = allowed(body, randomBytes);
    if (of === 'gateways') made.provisioning = provisioning;
    else made.devicesProvisioning = provisioning;
    const saved = await save(api, profile);
    if (of === 'gateways') made.profile = saved;
  };
  if (found === undefined) {
    const carryOut = async (made: Made): Promise<void> => {
      const id = of === 'gateways' ? made.gatewayDashboardId : undefined;
      const dashboard = id === undefined ? {} : { defaultDashboardId: reference('DASHBOARD', id) };
      await keep({ ...profileJson(name, of), ...dashboard }, made);
    };
    return {
      what: WHAT,
      name,
      verdict: 'make',
      why: 'devices may make themselves known with a key and a secret',
      carryOut,
    };
  }
  checkSort(name, found);
  const held = provisioningIn(found);
  if (found.provisionType !== 'DISABLED' && held !== undefined) {
    const isChecked = found.provisionType !== ALLOWED;
    return {
      what: WHAT,
      name,
      verdict: 'keep',
      ...(isChecked && { why: 'it takes only devices that somebody has made beforehand' }),
    };
  }
  const why =
    held === undefined
      ? 'it gets a key and a secret; the rest stays'
      : 'devices may make themselves known; key and secret stay';
  return {
    what: WHAT,
    name,
    verdict: 'change',
    why,
    carryOut: (made) => keep(found, made),
  };
}

/** Key and secret of a profile; undefined unless it has both. */
export function provisioningIn(profile: JsonObject | undefined): Omit<Provisioning, 'isNew'> | undefined {
  const [key, secret] = [profile?.provisionDeviceKey, configurationIn(profile).provisionDeviceSecret];
  return isText(key) && isText(secret) ? { deviceKey: key, deviceSecret: secret } : undefined;
}

/** The profile's default firmware is this package from now on. */
export function assignStep(
  api: Api,
  name: string,
  found: JsonObject | undefined,
  packageId: string | undefined,
  version: string,
): Step {
  const now = isJsonObject(found?.firmwareId) ? found.firmwareId.id : undefined;
  const step = { what: 'assignment', name: `${version} to ${name}` };
  if (packageId !== undefined && now === packageId) return { ...step, verdict: 'keep' };
  return {
    ...step,
    verdict: now === undefined ? 'make' : 'change',
    why: 'every gateway of the profile without a package of its own is updated',
    carryOut: async (made) => {
      if (made.packageId === undefined || made.profile === undefined)
        throw new CommandError('there is no package to assign');
      made.profile = await save(api, { ...made.profile, firmwareId: reference('OTA_PACKAGE', made.packageId) });
    },
  };
}

async function save(api: Api, body: JsonObject): Promise<JsonObject> {
  const saved = await api.post('/api/deviceProfile', body);
  idIn(saved);
  return saved;
}

function allowed(
  profile: JsonObject,
  randomBytes: RandomBytes,
): { readonly profile: JsonObject; readonly provisioning: Provisioning } {
  const held = provisioningIn(profile);
  const { deviceKey, deviceSecret } = held ?? {
    deviceKey: isText(profile.provisionDeviceKey)
      ? profile.provisionDeviceKey
      : makeAccessToken(randomBytes, KEY_LENGTH),
    deviceSecret: makeAccessToken(randomBytes, KEY_LENGTH),
  };
  const type = isText(profile.provisionType) && profile.provisionType !== 'DISABLED' ? profile.provisionType : ALLOWED;
  const provisionConfiguration = { type, provisionDeviceSecret: deviceSecret };
  const profileData = { ...(isJsonObject(profile.profileData) ? profile.profileData : {}), provisionConfiguration };
  return {
    profile: { ...profile, provisionType: type, provisionDeviceKey: deviceKey, profileData },
    provisioning: { deviceKey, deviceSecret, isNew: held === undefined },
  };
}

function checkSort(name: string, { transportType, provisionType }: JsonObject): void {
  const nextStep = 'choose another name with --profile';
  if (transportType !== 'DEFAULT')
    throw new CommandError(`the profile "${name}" has the transport ${String(transportType)}`, { nextStep });
  if (
    ![ALLOWED, 'CHECK_PRE_PROVISIONED_DEVICES', 'DISABLED', null, undefined].includes(
      provisionType as string | null | undefined,
    )
  )
    throw new CommandError(`the profile "${name}" provisions by ${String(provisionType)}`, { nextStep });
}

function configurationIn(profile: JsonObject | undefined): JsonObject {
  const { profileData } = profile ?? {};
  return isJsonObject(profileData) && isJsonObject(profileData.provisionConfiguration)
    ? profileData.provisionConfiguration
    : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
