/** Keys at the platform: each from one source, known to those who refer to it, and not both client and shared. */
import { definitionOf } from '../../sensors/kinds.ts';
import { type ConfigPath, pathText } from '../config-fault.ts';
import { didYouMeanWhenTold, oneOf } from '../did-you-mean.ts';
import type { Finding } from '../fields/findings.ts';
import { repeated } from '../fields/findings.ts';
import { keysForRules, sensorKeys } from '../sensor-keys.ts';
import type { Check } from './draft.ts';

/** Client attributes that the agent itself sends. */
export const OWN_CLIENT_KEYS: readonly string[] = [
  ...['model', 'serial', 'mac', 'version', 'bootId', 'addresses', 'configHash', 'hostname'],
  ...['actuatorFaults', 'sharedRefused', 'turnstoneOwner'],
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
        path: [...path, 'keys', key],
        atKey: true,
        problem: 'the sensor has no key',
        value: JSON.stringify(key),
        expected: oneOf(known),
        ...didYouMeanWhenTold(key, known),
      }));
  });

/** Two sources of one telemetry key would overwrite each other. */
export const checkProducedKeys: Check = ({ telemetry, actuators }) => {
  const produced = [
    // What the machine shows of itself differs from machine to machine.
    ...telemetry
      .filter(({ sensor }) => sensor.enabled && definitionOf(sensor.kind).keysVary !== true)
      .map(({ key, path }) => ({ identity: key, item: key, path })),
    ...actuators.map(({ config, path }) => ({
      identity: config.stateKey,
      item: config.stateKey,
      path: [...path, config.stateKey === `${config.name}State` ? 'name' : 'stateKey'],
    })),
  ];
  return repeated(produced, (again, first) => ({
    problem: 'key produced twice:',
    value: JSON.stringify(again.item),
    expected: `a key of its own; ${pathText(first.path.slice(0, 2))} gives it already`,
    hint: 'add a rename under keys',
  }));
};

export const checkAttributeKeys: Check = ({ actuators, sections }) => {
  const shared = new Map<string, ConfigPath>(
    actuators.map(({ config, path }) => [config.desiredKey, [...path, config.desiredKey === config.name ? 'name' : 'desiredKey']]),
  );
  const client = new Map<string, ConfigPath>([
    ...OWN_CLIENT_KEYS.map((key): [string, ConfigPath] => [key, []]),
    ...actuators.map(({ config, path }): [string, ConfigPath] => [config.stateKey, [...path, 'stateKey']]),
    ...Object.keys(sections.attributes?.client ?? {}).map((key): [string, ConfigPath] => [key, ['attributes', 'client', key]]),
  ]);
  const desired = actuators.map(({ config, path }) => ({
    identity: config.desiredKey,
    item: config.desiredKey,
    path: [...path, config.desiredKey === config.name ? 'name' : 'desiredKey'],
  }));
  return [
    ...repeated(desired, (again, first) => ({
      problem: 'one shared attribute moves two actuators:',
      value: JSON.stringify(again.item),
      expected: `a key of its own; ${pathText(first.path.slice(0, 2))} has it already`,
    })),
    ...[...shared].flatMap(([key, path]): Finding[] => {
      const other = client.get(key);
      if (other === undefined) return [];
      const whose = other.length === 0 ? 'the agent itself' : pathText(other);
      return [
        {
          path,
          problem: 'key both client and shared:',
          value: JSON.stringify(key),
          expected: `two keys; ${whose} sends it as client attribute`,
          warning: true,
        },
      ];
    }),
  ];
};

/** The platform casts types by default (wire-facts.md, "Values"): "007" arrives as 7. */
export const checkFixedAttributes: Check = ({ sections }) =>
  Object.entries(sections.attributes?.client ?? {})
    .filter(([, value]) => typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)))
    .map(([key]) => ({
      path: ['attributes', 'client', key],
      problem: 'a text that looks like a number:',
      expected: 'a number, or a text with a letter in it; the platform makes a number of it',
      warning: true,
    }));

/** A rule waits for a key that its sensor never gives. */
export const checkRuleKeys: Check = ({ sensors, rules }) => {
  const watched = new Set(rules.map(({ config }) => config.when.sensor));
  const keysOf = new Map<string, { readonly known: ReadonlySet<string>; readonly expected: string }>();
  for (const { config } of sensors) {
    const keys = watched.has(config.name) ? keysForRules(config) : undefined;
    if (keys !== undefined && !keysOf.has(config.name)) keysOf.set(config.name, { known: new Set(keys), expected: oneOf(keys) });
  }
  return rules.flatMap(({ config, path }) => {
    const { known, expected } = keysOf.get(config.when.sensor) ?? {};
    if (known === undefined || expected === undefined || known.has(config.when.key)) return [];
    return [
      {
        path: [...path, 'when', 'key'],
        problem: 'the sensor has no key',
        expected,
        ...didYouMeanWhenTold(config.when.key, known),
      },
    ];
  });
};
