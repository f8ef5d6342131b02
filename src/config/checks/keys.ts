/** Keys at the platform: each from one source, known to those who refer to it, and none that means something already. */

import { definitionOf } from '../../kinds/sensor-kinds.ts';
import { type ConfigPath, pathText } from '../fields/config-fault.ts';
import { didYouMeanWhenTold, oneOf } from '../fields/did-you-mean.ts';
import { type Finding, finding, findingAtKey, repeated } from '../fields/findings.ts';
import { acknowledgedKey, alarmKey, sensorStateKey } from '../keys/added-keys.ts';
import { readingsOf } from '../keys/rule-parts.ts';
import { keyRulesOf, keysForRules, platformKeyOf, sensorKeys } from '../keys/sensor-keys.ts';
import { configShape, type SensorConfig } from '../schema/agent-config.ts';
import { type Check, clientAttributeUses, desiredUses, type KeyUse, ownKey, stateUses, totalUses } from './draft.ts';

/** Client attributes that the agent itself sends. */
export const OWN_CLIENT_KEYS: readonly string[] = [
  ...['model', 'serial', 'mac', 'version', 'bootId', 'addresses', 'configHash', 'configFileHash', 'hostname'],
  ...['actuatorFaults', 'configurationState', 'effectiveSettings', 'sharedRefused', 'turnstoneOwner', 'units'],
];

/** Rules for keys that the sensor does not have. */
export const checkKeyRules: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) => {
    const known = sensorKeys(config);
    if (known === undefined) return [];
    const isKnown = new Set(known);
    return Object.keys(config.keys)
      .filter((key) => key !== '*' && !isKnown.has(key))
      .map((key) => ({
        ...findingAtKey([...path, 'keys', key], 'the sensor has no key', oneOf(known), { value: JSON.stringify(key) }),
        ...didYouMeanWhenTold(key, known),
      }));
  });

/** Two sources of one telemetry key would overwrite each other. */
export const checkProducedKeys: Check = (draft) => {
  // Metrics of the machine differ from machine to machine.
  const measured = draft.telemetry.filter(({ sensor }) => sensor.enabled && !varies(sensor));
  const hint = 'add a prefix to the sensor, or a rename under keys';
  return repeated([...measured, ...stateUses(draft), ...totalUses(draft)], ownKey, ({ key, path }, first) =>
    finding(path, 'key produced twice:', `a key of its own; ${itemAt(first)} gives it already`, {
      value: JSON.stringify(key),
      hint,
    }),
  );
};

/** Finds meters that may give one key, as it is known only when they speak. */
export const checkPossibleKeys: Check = ({ sensors, telemetry }) => {
  const first = new Map<string, SensorConfig>();
  const both = new Map<SensorConfig, { readonly other: SensorConfig; readonly key: string | undefined }>();
  const note = (sensor: SensorConfig, identity: string, key?: string): void => {
    const other = first.get(identity);
    if (other === undefined) first.set(identity, sensor);
    else if (other !== sensor && !both.has(sensor) && (varies(other) || varies(sensor)))
      both.set(sensor, { other, key });
  };
  for (const use of telemetry) if (use.sensor.enabled) note(use.sensor, ownKey(use), use.key);
  for (const { config } of sensors)
    if (config.enabled && varies(config) && sensorKeys(config) === undefined)
      note(config, JSON.stringify([config.device, config.kind, config.prefix]));
  return sensors.flatMap(({ config, path }) => {
    const { other, key } = both.get(config) ?? {};
    if (other === undefined) return [];
    return finding(
      [...path, 'name'],
      'two sensors may give one key:',
      `keys of its own; ${other.name} may give it too`,
      {
        value: key === undefined ? `all that a ${config.kind} meter tells` : JSON.stringify(key),
        hint: 'add a prefix to the sensor, or a device of its own',
        warning: true,
      },
    );
  });
};

function varies({ kind }: SensorConfig): boolean {
  return definitionOf(kind).keysVary === true;
}

export const checkAttributeKeys: Check = (draft) => {
  const desired = desiredUses(draft);
  const client = new Map<string, ConfigPath>([
    ...OWN_CLIENT_KEYS.map((key): [string, ConfigPath] => [ownKey({ key, path: [] }), []]),
    ...stateUses(draft).map((use): [string, ConfigPath] => [ownKey(use), [...use.path.slice(0, 2), 'stateKey']]),
    ...clientAttributeUses(draft).map((use): [string, ConfigPath] => [ownKey(use), use.path]),
  ]);
  const both = new Map(desired.map((use) => [ownKey(use), use]));
  return [
    ...repeated(desired, ownKey, ({ key, path }, first) =>
      finding(path, 'one shared attribute moves two actuators:', `a key of its own; ${itemAt(first)} has it already`, {
        value: JSON.stringify(key),
      }),
    ),
    ...[...both].flatMap(([own, { key, path }]) => {
      const other = client.get(own);
      if (other === undefined) return [];
      const expected = `two keys; ${other.length === 0 ? 'the agent itself' : pathText(other)} sends it as client attribute`;
      return [finding(path, 'key both client and shared:', expected, { value: JSON.stringify(key), warning: true })];
    }),
  ];
};

/** `sensors[2]` of a key's place. */
function itemAt({ path }: KeyUse): string {
  return pathText(path.slice(0, 2));
}

const LIKE_NUMBER = 'a number, or a text with a letter in it; the platform makes a number of it';

const AS_TEXT = '`asText: json` or `asText: { prefix: "No " }` under keys';

/** The platform stores what looks like a number as one: "007" arrives as 7. */
export const checkFixedAttributes: Check = ({ sections }) =>
  Object.entries(sections.attributes?.client ?? {})
    .filter(([, value]) => typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)))
    .map(([key]) =>
      finding(['attributes', 'client', key], 'a text that looks like a number:', LIKE_NUMBER, { warning: true }),
    );

/** Texts among telemetry become numbers in the same way. */
export const checkTextKeys: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) =>
    textKeys(config).map((key) => {
      const isWritten = config.keys[key]?.type !== undefined;
      return finding(
        isWritten ? [...path, 'keys', key, 'type'] : [...path, 'name'],
        'the platform makes 123 of the text "000123" in',
        AS_TEXT,
        { value: key, warning: true },
      );
    }),
  );

/** Keys that are sent as texts which may look like numbers. */
function textKeys(config: SensorConfig): readonly string[] {
  const { digitTexts } = definitionOf(config.kind);
  const written = Object.entries(config.keys).flatMap(([key, { type }]) => (type === 'text' ? [key] : []));
  return [...new Set([...written, ...(digitTexts?.(config) ?? [])])].filter((key) => {
    const { report = true, asText, map, type = 'text' } = keyRulesOf(config, key) ?? {};
    return report && asText === undefined && map === undefined && type === 'text';
  });
}

/** Keys that methods read: as the driver calls them. */
export const checkMethodKeys: Check = ({ sensors, sections }) =>
  Object.entries(sections.rpc?.methods ?? {}).flatMap(([name, { sensor, key }]) => {
    const read = key === undefined ? undefined : sensors.find(({ config }) => config.name === sensor)?.config;
    const known = read && sensorKeys(read);
    if (key === undefined || known === undefined || known.includes(key)) return [];
    const path = ['rpc', 'methods', name, 'key'];
    return [{ ...finding(path, 'the sensor has no key', oneOf(known)), ...didYouMeanWhenTold(key, new Set(known)) }];
  });

/** A rule waits for a key that its sensor never gives. */
export const checkRuleKeys: Check = ({ sensors, rules }) => {
  const readings = rules.flatMap(({ config, path }) => readingsOf(config, path));
  const watched = new Set(readings.map(({ sensor }) => sensor));
  const keysOf = new Map<string, { readonly known: ReadonlySet<string>; readonly expected: string }>();
  for (const { config } of sensors) {
    const keys = watched.has(config.name) ? keysForRules(config) : undefined;
    if (keys !== undefined && !keysOf.has(config.name))
      keysOf.set(config.name, { known: new Set(keys), expected: oneOf(keys) });
  }
  return readings.flatMap(({ sensor, key, path }) => {
    const { known, expected } = keysOf.get(sensor) ?? {};
    if (known === undefined || expected === undefined || known.has(key)) return [];
    return [{ ...finding([...path, 'key'], 'the sensor has no key', expected), ...didYouMeanWhenTold(key, known) }];
  });
};

/** Offers and states of updates. */
const UPDATE_KEY = /^(?:(?:current|target)_)?[fs]w_/;

export const checkReservedKeys: Check = (draft) =>
  [...desiredUses(draft), ...stateUses(draft), ...clientAttributeUses(draft), ...draft.telemetry].flatMap(
    ({ key, path }) => {
      const meaning = UPDATE_KEY.test(key)
        ? 'the platform speaks of updates by it'
        : isSetting(key)
          ? 'it is a setting'
          : undefined;
      return meaning === undefined ? [] : [findingOf(path, 'reserved key', key, `another key; ${meaning}`)];
    },
  );

/** Two who send one client attribute would overwrite each other for ever. */
export const checkClientAttributes: Check = (draft) => {
  const uses = [...stateUses(draft), ...clientAttributeUses(draft)];
  const own = uses.filter(({ key }) => OWN_CLIENT_KEYS.includes(key));
  return [
    ...own.map(({ key, path }) => findingOf(path, 'key that the agent itself sends:', key, 'another key')),
    // Two states of one key are two of telemetry already.
    ...repeated(uses, ownKey, ({ key, path }, first) =>
      findingOf(path, 'client attribute sent twice:', key, `a key of its own; ${pathText(first.path)} has it already`),
    ).filter(({ path }) => path[0] === 'attributes'),
  ];
};

/** Finds clashes with keys that the agent adds itself: `<sensor>_state`, and `<key>_alarm` and `<key>_alarm_acknowledged` where there are alarms. */
export const checkAddedKeys: Check = (draft) => {
  const added = new Map<string, ConfigPath>(
    draft.sensors.map(({ config: { name, device }, path }) => [
      ownKey({ key: sensorStateKey(name), device, path }),
      [...path, 'name'],
    ]),
  );
  for (const { config, path } of draft.sensors)
    for (const [key, { alarms }] of Object.entries(config.keys))
      if (key !== '*' && alarms !== undefined && alarms.length > 0)
        for (const addedKey of [alarmKey, acknowledgedKey])
          added.set(ownKey({ key: addedKey(platformKeyOf(config, key)), device: config.device, path }), [
            ...path,
            'keys',
            key,
            'alarms',
          ]);
  return [...stateUses(draft), ...draft.telemetry].flatMap((use) => {
    const { key, path } = use;
    const other = added.get(ownKey(use));
    return other === undefined
      ? []
      : [findingOf(path, 'key produced twice:', key, `a key of its own; ${pathText(other)} gives it already`)];
  });
};

function isSetting(key: string): boolean {
  const [section] = key.split('.');
  // None of a device can be set, and "devices.open" was a good key before there were any.
  return section !== key && section !== undefined && section !== 'devices' && Object.hasOwn(configShape, section);
}

function findingOf(path: ConfigPath, problem: string, key: string, expected: string): Finding {
  return finding(path, problem, expected, {
    value: JSON.stringify(key),
    ...(path[0] === 'attributes' ? { atKey: true } : {}),
  });
}
