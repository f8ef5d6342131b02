/** Writes config/thingsboard: what `turnstone platform-setup` makes at a platform, as files that a person imports there by hand. No secret is in them. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alarmRules } from '../src/office/platform-setup/alarm-rules.ts';
import { marked } from '../src/office/platform-setup/dashboard-step.ts';
import { gatewayDashboard } from '../src/office/platform-setup/gateway-dashboard.ts';
import { USUAL_KEYS_PER_UNIT } from '../src/office/platform-setup/make-plan.ts';
import { profileJson } from '../src/office/platform-setup/profile-step.ts';
import { markedRule } from '../src/office/platform-setup/rule-steps.ts';
import { sensorDashboard } from '../src/office/platform-setup/sensor-dashboard.ts';
import { usualUnits } from '../src/office/platform-setup/units.ts';
import type { JsonObject } from '../src/values/json.ts';
import { ROOT } from './bundle.ts';

export const PLATFORM_FOLDER = join(ROOT, 'config/thingsboard');
const PROFILE = 'Turnstone gateway';

/** By name of the file. */
export function platformFiles(): ReadonlyMap<string, string> {
  const rules = alarmRules([]).map((rule): [string, JsonObject] => [
    `alarm-rule-${slugOf(String(rule.name))}.json`,
    markedRule(rule),
  ]);
  const all: readonly [string, JsonObject][] = [
    ['device-profile.json', profileJson(PROFILE)],
    ['gateway-dashboard.json', marked(gatewayDashboard(PROFILE))],
    ['sensor-dashboard.json', marked(sensorDashboard(PROFILE, usualUnits(USUAL_KEYS_PER_UNIT), new Map()))],
    ...rules,
  ];
  return new Map(all.map(([name, json]) => [name, `${JSON.stringify(json, null, 2)}\n`]));
}

function slugOf(name: string): string {
  return name
    .replace(/^.*?: /, '')
    .replace(/[^a-z]+/gi, '-')
    .toLowerCase();
}

if (import.meta.main) {
  mkdirSync(PLATFORM_FOLDER, { recursive: true });
  const files = platformFiles();
  for (const name of readdirSync(PLATFORM_FOLDER)) if (!files.has(name)) rmSync(join(PLATFORM_FOLDER, name));
  for (const [name, text] of files) writeFileSync(join(PLATFORM_FOLDER, name), text);
}
