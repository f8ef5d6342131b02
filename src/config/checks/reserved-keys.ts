/** Keys that mean something already: to the platform, to live settings, or because the agent itself sends them. */

import { type ConfigPath, pathText } from '../fields/config-fault.ts';
import { type Finding, finding, repeated } from '../fields/findings.ts';
import { configShape } from '../schema/agent-config.ts';
import { type Check, clientAttributeUses, desiredUses, stateUses } from './draft.ts';
import { OWN_CLIENT_KEYS } from './keys.ts';

/** Offers and states of updates. */
const UPDATE_KEY = /^(?:(?:current|target)_)?[fs]w_/;

export const checkReservedKeys: Check = (draft) =>
  [...desiredUses(draft), ...stateUses(draft), ...clientAttributeUses(draft), ...draft.telemetry].flatMap(({ key, path }) => {
    const meaning = UPDATE_KEY.test(key) ? 'the platform speaks of updates by it' : isSetting(key) ? 'it is a setting' : undefined;
    return meaning === undefined ? [] : [findingOf(path, 'reserved key', key, `another key; ${meaning}`)];
  });

/** Two who send one client attribute would overwrite each other for ever. */
export const checkClientAttributes: Check = (draft) => {
  const uses = [...stateUses(draft), ...clientAttributeUses(draft)];
  const own = uses.filter(({ key }) => OWN_CLIENT_KEYS.includes(key));
  return [
    ...own.map(({ key, path }) => findingOf(path, 'key that the agent itself sends:', key, 'another key')),
    // Two states of one key are two of telemetry already.
    ...repeated(
      uses,
      ({ key }) => key,
      ({ key, path }, first) =>
        findingOf(path, 'client attribute sent twice:', key, `a key of its own; ${pathText(first.path)} has it already`),
    ).filter(({ path }) => path[0] === 'attributes'),
  ];
};

/** Finds clashes with keys that the agent adds itself: `<sensor>_state`, and `<key>_alarm` where there are alarms. */
export const checkAddedKeys: Check = (draft) => {
  const added = new Map<string, ConfigPath>(draft.sensors.map(({ config, path }) => [`${config.name}_state`, [...path, 'name']]));
  for (const { config, path } of draft.sensors)
    for (const [key, { alarms, rename }] of Object.entries(config.keys))
      if (key !== '*' && alarms !== undefined && alarms.length > 0) added.set(`${rename ?? key}_alarm`, [...path, 'keys', key, 'alarms']);
  return [...stateUses(draft), ...draft.telemetry].flatMap(({ key, path }) => {
    const other = added.get(key);
    return other === undefined
      ? []
      : [findingOf(path, 'key produced twice:', key, `a key of its own; ${pathText(other)} gives it already`)];
  });
};

function isSetting(key: string): boolean {
  const [section] = key.split('.');
  return section !== key && section !== undefined && Object.hasOwn(configShape, section);
}

function findingOf(path: ConfigPath, problem: string, key: string, expected: string): Finding {
  return finding(path, problem, expected, { value: JSON.stringify(key), ...(path[0] === 'attributes' ? { atKey: true } : {}) });
}
