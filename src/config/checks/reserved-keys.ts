/** Keys that mean something already: to the platform, to live settings, or because the agent itself sends them. */
import { configShape } from '../agent-config.ts';
import { type ConfigPath, pathText } from '../config-fault.ts';
import { type Finding, repeated } from '../fields/findings.ts';
import type { Check, ConfigDraft, KeyUse } from './draft.ts';
import { OWN_CLIENT_KEYS } from './keys.ts';

/** Offers and states of updates. */
const UPDATE_KEY = /^(?:(?:current|target)_)?[fs]w_/;

export const checkReservedKeys: Check = (draft) =>
  [...desired(draft), ...states(draft), ...clientAttributes(draft), ...draft.telemetry].flatMap(({ key, path }) => {
    const meaning = UPDATE_KEY.test(key) ? 'the platform speaks of updates by it' : isSetting(key) ? 'it is a setting' : undefined;
    return meaning === undefined ? [] : [finding('reserved key', key, path, `another key; ${meaning}`)];
  });

/** Two who send one client attribute would overwrite each other for ever. */
export const checkClientAttributes: Check = (draft) => {
  const uses = [...states(draft), ...clientAttributes(draft)];
  const own = uses.filter(({ key }) => OWN_CLIENT_KEYS.includes(key) || key.endsWith('.effective'));
  return [
    ...own.map(({ key, path }) => finding('key that the agent itself sends:', key, path, 'another key')),
    // Two states of one key are two of telemetry already.
    ...repeated(
      uses.map(({ key, path }) => ({ identity: key, item: key, path })),
      (again, first) =>
        finding('client attribute sent twice:', again.item, again.path, `a key of its own; ${pathText(first.path)} has it already`),
    ).filter(({ path }) => path[0] === 'attributes'),
  ];
};

/** What the agent adds of its own: `<sensor>_state`, and `<key>_alarm` where there are alarms. */
export const checkAddedKeys: Check = (draft) => {
  const added = new Map<string, ConfigPath>(draft.sensors.map(({ config, path }) => [`${config.name}_state`, [...path, 'name']]));
  for (const { config, path } of draft.sensors)
    for (const [key, { alarms, rename }] of Object.entries(config.keys))
      if (key !== '*' && alarms !== undefined && alarms.length > 0) added.set(`${rename ?? key}_alarm`, [...path, 'keys', key, 'alarms']);
  return [...states(draft), ...draft.telemetry].flatMap(({ key, path }) => {
    const other = added.get(key);
    return other === undefined ? [] : [finding('key produced twice:', key, path, `a key of its own; ${pathText(other)} gives it already`)];
  });
};

function desired({ actuators }: ConfigDraft): readonly KeyUse[] {
  return actuators.map(({ config, path }) => ({
    key: config.desiredKey,
    path: [...path, config.desiredKey === config.name ? 'name' : 'desiredKey'],
  }));
}

function states({ actuators }: ConfigDraft): readonly KeyUse[] {
  return actuators.map(({ config, path }) => ({
    key: config.stateKey,
    path: [...path, config.stateKey === `${config.name}State` ? 'name' : 'stateKey'],
  }));
}

function clientAttributes({ sections }: ConfigDraft): readonly KeyUse[] {
  return Object.keys(sections.attributes?.client ?? {}).map((key) => ({ key, path: ['attributes', 'client', key] }));
}

function isSetting(key: string): boolean {
  const [section] = key.split('.');
  return section !== key && section !== undefined && Object.hasOwn(configShape, section);
}

function finding(problem: string, key: string, path: ConfigPath, expected: string): Finding {
  const atKey = path[0] === 'attributes';
  return { path, ...(atKey ? { atKey } : {}), problem, value: JSON.stringify(key), expected };
}
