/** The device profile: made where there is none; of one that is there only what devices need in order to make themselves known is changed. */
import { isJsonObject, type JsonObject } from '../../host/json.ts';
import type { RandomBytes } from '../../host/random.ts';
import { makeAccessToken } from '../../provisioning/access-token.ts';
import { CommandError } from '../exit-code.ts';
import { type Api, idIn, type Made, type Provisioning, reference, type Step } from './plan.ts';

/** As the platform's own form makes them. */
const KEY_LENGTH = 20;
const ALLOWED = 'ALLOW_CREATE_NEW_DEVICES';
const WHAT = 'device profile';

/** A profile that can be imported by hand: its key and secret are made by the platform's form. */
export function profileJson(name: string): JsonObject {
  return {
    ...{ name, description: 'Gateways with the Turnstone agent', image: null, default: false },
    ...{ type: 'DEFAULT', transportType: 'DEFAULT', provisionType: 'DISABLED', provisionDeviceKey: null },
    ...{
      defaultRuleChainId: null,
      defaultDashboardId: null,
      defaultQueueName: null,
      firmwareId: null,
      softwareId: null,
    },
    profileData: {
      ...{ configuration: { type: 'DEFAULT' }, transportConfiguration: { type: 'DEFAULT' } },
      provisionConfiguration: { type: 'DISABLED', provisionDeviceSecret: null },
      alarms: null,
    },
  };
}

/** @throws CommandError for a profile of this name that is of another sort. */
export function profileStep(api: Api, name: string, found: JsonObject | undefined, randomBytes: RandomBytes): Step {
  if (found === undefined) {
    const carryOut = async (made: Made): Promise<void> => {
      const { gatewayDashboardId: id } = made;
      const body = {
        ...profileJson(name),
        ...(id !== undefined && { defaultDashboardId: reference('DASHBOARD', id) }),
      };
      await save(api, allowed(body, made, randomBytes), made);
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
    carryOut: async (made) => save(api, allowed(found, made, randomBytes), made),
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
      await save(api, { ...made.profile, firmwareId: reference('OTA_PACKAGE', made.packageId) }, made);
    },
  };
}

async function save(api: Api, body: JsonObject, made: Made): Promise<void> {
  const saved = await api.post('/api/deviceProfile', body);
  idIn(saved);
  made.profile = saved;
}

function allowed(profile: JsonObject, made: Made, randomBytes: RandomBytes): JsonObject {
  const held = provisioningIn(profile);
  const { deviceKey, deviceSecret } = held ?? {
    deviceKey: isText(profile.provisionDeviceKey)
      ? profile.provisionDeviceKey
      : makeAccessToken(randomBytes, KEY_LENGTH),
    deviceSecret: makeAccessToken(randomBytes, KEY_LENGTH),
  };
  made.provisioning = { deviceKey, deviceSecret, isNew: held === undefined };
  const type = isText(profile.provisionType) && profile.provisionType !== 'DISABLED' ? profile.provisionType : ALLOWED;
  const provisionConfiguration = { type, provisionDeviceSecret: deviceSecret };
  const profileData = { ...(isJsonObject(profile.profileData) ? profile.profileData : {}), provisionConfiguration };
  return { ...profile, provisionType: type, provisionDeviceKey: deviceKey, profileData };
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
