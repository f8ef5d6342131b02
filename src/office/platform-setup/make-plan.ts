/** Reads all that is there at the platform, and makes the plan that follows from it. Nothing is changed here. */

import { CommandError } from '../../cli/exit-code.ts';
import type { AgentConfig } from '../../config/schema/agent-config.ts';
import type { RandomBytes } from '../../host/random.ts';
import { isJsonObject, type JsonObject } from '../../values/json.ts';
import { alarmKeysIn, alarmRules } from './alarm-rules.ts';
import { dashboardStep } from './dashboard-step.ts';
import { gatewayDashboard } from './gateway-dashboard.ts';
import { alarmLabelsIn, labelsIn } from './labels.ts';
import { type Api, idIn, type Made, type Step } from './plan.ts';
import { assignStep, devicesProfile, profileStep, provisioningIn } from './profile-step.ts';
import { type Release, releaseStep } from './release-step.ts';
import { alarmRulesOf, ruleSteps } from './rule-steps.ts';
import { sensorDashboard } from './sensor-dashboard.ts';
import { toldUnits } from './told-units.ts';
import { type Units, unitsIn, unitsOf, usualUnits } from './units.ts';

export interface Wish {
  readonly profile: string;
  readonly customer?: string;
  readonly release?: Release;
  readonly assign: boolean;
  /** A gateway's, by which its sensors, units and alarms are known. */
  readonly config?: AgentConfig;
}

export interface Plan {
  readonly steps: readonly Step[];
  readonly made: Made;
}

/** Keys of each unit where no gateway has sent anything yet. */
export const USUAL_KEYS_PER_UNIT = 6;
const MAX_KEYS = 2_000;

/** @throws CommandError for a user who may not, or what stands in the way; PlatformError. */
export async function makePlan(api: Api, wish: Wish, randomBytes: RandomBytes): Promise<Plan> {
  await checkUser(api);
  const { profile: name, config, release } = wish;
  const profile = await named(api, '/api/deviceProfiles', 'name', name);
  const profileId = profile === undefined ? undefined : idIn(profile);
  const hasDevices = config?.devices.some(({ accessToken }) => accessToken === undefined) === true;
  const apart = hasDevices ? await named(api, '/api/deviceProfiles', 'name', devicesProfile(name)) : undefined;
  const keys = profileId === undefined ? [] : await keysOf(api, profileId);
  const rules = await alarmRulesOf(api, profileId);
  const units = unitsFor(keys, profile === undefined ? new Map() : await toldUnits(api, name), config);
  const [health, sensors] = [
    gatewayDashboard(name, { output: config && onlyOutputIn(config) }),
    sensorDashboard(name, units, config === undefined ? new Map() : labelsIn(config)),
  ];
  const [foundHealth, foundSensors] = [await dashboardOf(api, health), await dashboardOf(api, sensors)];
  const packages = release === undefined ? [] : ((await api.list('/api/otaPackages', release.title)) ?? []);
  const [held, heldOfDevices] = [provisioningIn(profile), provisioningIn(apart)];
  const made: Made = {
    ...(profile !== undefined && { profile }),
    ...(foundHealth !== undefined && { gatewayDashboardId: idIn(foundHealth) }),
    ...(foundSensors !== undefined && { sensorDashboardId: idIn(foundSensors) }),
    ...(held !== undefined && { provisioning: { ...held, isNew: false } }),
    ...(heldOfDevices !== undefined && { devicesProvisioning: { ...heldOfDevices, isNew: false } }),
  };
  const steps: Step[] = [
    dashboardStep(api, health, foundHealth, (each, id) => {
      each.gatewayDashboardId = id;
    }),
    dashboardStep(api, sensors, foundSensors, (each, id) => {
      each.sensorDashboardId = id;
    }),
    profileStep(api, name, profile, randomBytes),
    ...(hasDevices ? [profileStep(api, devicesProfile(name), apart, randomBytes, 'devices')] : []),
    ...ruleSteps(api, rulesFor(keys, config), rules),
  ];
  if (release !== undefined) {
    steps.push(releaseStep(api, release, packages, profileId));
    const there = packages.find(
      (one) => one.type === 'FIRMWARE' && one.title === release.title && one.version === release.version,
    );
    if (there !== undefined) made.packageId = idIn(there);
    if (wish.assign) steps.push(assignStep(api, name, profile, made.packageId, `${release.title} ${release.version}`));
  }
  if (wish.customer !== undefined)
    steps.push(...(await customerSteps(api, wish.customer, [foundHealth, foundSensors])));
  return { steps, made };
}

async function checkUser(api: Api): Promise<void> {
  const user = await api.get('/api/auth/user');
  const authority = isJsonObject(user) ? user.authority : undefined;
  if (authority !== 'TENANT_ADMIN')
    throw new CommandError(
      `this user is no tenant administrator, but ${typeof authority === 'string' ? authority : 'unknown'}`,
      {
        nextStep: 'log in as one with --user',
      },
    );
}

function rulesFor(keys: readonly string[], config: AgentConfig | undefined): readonly JsonObject[] {
  return config === undefined ? alarmRules(keys) : alarmRules([...keys, ...alarmKeysIn(config)], alarmLabelsIn(config));
}

/** As the gateways tell them, then as the configuration says, then by the names of keys. */
function unitsFor(keys: readonly string[], told: Units, config: AgentConfig | undefined): Units {
  const configured: Units = config === undefined ? new Map() : unitsIn(config);
  const units = unitsOf([...new Set([...configured.keys(), ...keys])], new Map([...configured, ...told]));
  return units.size === 0 ? usualUnits(USUAL_KEYS_PER_UNIT) : units;
}

/** The attribute that tells the state of a gateway's output, where it has one output alone. */
function onlyOutputIn({ actuators }: AgentConfig): string | undefined {
  const own = actuators.filter(({ enabled, device }) => enabled && device === undefined);
  return own.length === 1 ? own[0]?.stateKey : undefined;
}

/** Keys of all devices of the profile, in one order. */
async function keysOf(api: Api, profileId: string): Promise<readonly string[]> {
  const keys = await api.get(`/api/deviceProfile/devices/keys/timeseries?deviceProfileId=${profileId}`);
  if (!Array.isArray(keys)) return [];
  return keys
    .filter((key): key is string => typeof key === 'string')
    .sort()
    .slice(0, MAX_KEYS);
}

async function named(api: Api, path: string, member: string, name: string): Promise<JsonObject | undefined> {
  return (await api.list(path, name))?.find((one) => one[member] === name);
}

async function dashboardOf(api: Api, { title }: JsonObject): Promise<JsonObject | undefined> {
  const found = await named(api, '/api/tenant/dashboards', 'title', String(title));
  if (found === undefined) return undefined;
  const whole = await api.get(`/api/dashboard/${idIn(found)}`);
  return isJsonObject(whole) ? whole : undefined;
}

/** A customer, and the dashboards that its users see: without them a claimed gateway has nothing to show. */
async function customerSteps(
  api: Api,
  title: string,
  dashboards: readonly (JsonObject | undefined)[],
): Promise<readonly Step[]> {
  const found = await api.get(`/api/tenant/customers?${new URLSearchParams({ customerTitle: title })}`);
  const foundId = isJsonObject(found) ? idIn(found) : undefined;
  let customerId = foundId;
  const makeIt = async (): Promise<void> => {
    customerId = idIn(await api.post('/api/customer', { title }));
  };
  const show = async ({ gatewayDashboardId, sensorDashboardId }: Made): Promise<void> => {
    for (const id of [gatewayDashboardId, sensorDashboardId])
      if (id !== undefined && customerId !== undefined)
        await api.post(`/api/customer/${customerId}/dashboard/${id}`, {});
  };
  const isShown =
    foundId !== undefined && dashboards.every((dashboard) => dashboard !== undefined && isFor(dashboard, foundId));
  const customer = { what: 'customer', name: title };
  const access = { what: 'dashboards for', name: title };
  return [
    foundId === undefined
      ? { ...customer, verdict: 'make', why: 'its users may claim gateways', carryOut: makeIt }
      : { ...customer, verdict: 'keep' },
    isShown
      ? { ...access, verdict: 'keep' }
      : { ...access, verdict: 'make', why: 'its users see both, with their own gateways', carryOut: show },
  ];
}

function isFor({ assignedCustomers }: JsonObject, customerId: string): boolean {
  if (!Array.isArray(assignedCustomers)) return false;
  return assignedCustomers.some(
    (one) => isJsonObject(one) && isJsonObject(one.customerId) && one.customerId.id === customerId,
  );
}
