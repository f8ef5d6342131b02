/** Expressions of derived values: that they can be compiled, that a sensor gives each of their keys, and that none is made of itself. */
import { messageOf } from '../../errors/agent-error.ts';
import { ranksByDependence } from '../../values/dependence.ts';
import { type Expression, loadExpressions } from '../../values/expression.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { didYouMean } from '../fields/did-you-mean.ts';
import { type Finding, finding } from '../fields/findings.ts';
import { type KeyOwner, meantOwners, ownedKey, ownersOfKeys } from '../keys/key-owners.ts';
import { keysForRules, namesForRules } from '../keys/sensor-keys.ts';
import type { ConfigDraft } from './draft.ts';

const SINGLE_KEY = 'device: beside the expression, for its own device’s, or a prefix for one of the sensors';

interface Derived {
  /** The platform's keys: one, or one for each statistic. */
  readonly names: readonly string[];
  readonly path: ConfigPath;
  readonly inputs: readonly string[];
  readonly device: KeyOwner;
}

/** The engine is loaded only where there is an expression. */
export async function checkExpressions({ sensors, sensorNames }: ConfigDraft): Promise<Finding[]> {
  const written = sensors.flatMap(({ config, path }) =>
    config.kind === 'derived'
      ? Object.entries(config.values).map(([key, source]) => ({
          names: namesForRules(config, key),
          source,
          path: [...path, 'values', key],
          device: config.device,
        }))
      : [],
  );
  if (written.length === 0) return [];
  const compile = await loadExpressions();
  const findings: Finding[] = [];
  const derived = written.flatMap(({ names, source, path, device }): Derived[] => {
    try {
      const { inputs }: Expression = compile(source);
      return [{ names, path, inputs, device }];
    } catch (error) {
      findings.push(
        finding(path, `no expression (${messageOf(error)}):`, 'an expression of other keys, such as voltage * current'),
      );
      return [];
    }
  });
  const given = sensors.map(({ config }) => keysForRules(config));
  const owners = ownersOfKeys(sensors.map(({ config }) => config));
  const known = new Set(owners.keys());
  // A line, a program or a driver of a user's own may give any key, and so may a sensor that is told to be wrong.
  const isSure = sensors.length === sensorNames.size && given.every((keys) => keys !== undefined);
  const openOwners = new Set(sensors.flatMap(({ config }, at) => (given[at] === undefined ? [config.device] : [])));
  for (const { path, inputs, device } of derived) {
    if (inputs.length === 0) findings.push(finding(path, 'made of no key:', 'an expression of other keys'));
    for (const input of inputs) {
      if (meantOwners(owners.get(input), device).length > 1)
        findings.push(
          finding(path, `${input} is a key of several devices:`, SINGLE_KEY, {
            warning: openOwners.has(device) || openOwners.has(undefined),
          }),
        );
      if (!known.has(input))
        findings.push(
          finding(path, `no sensor gives ${input}:`, 'keys of other sensors', {
            ...didYouMean(input, known),
            warning: !isSure,
          }),
        );
    }
  }
  const circle = circleIn(derived, owners);
  if (circle !== undefined) findings.push(finding(circle.path, 'made of itself:', 'keys that do not depend on it'));
  return findings;
}

/** The first value that is made of itself, by any number of others. */
function circleIn(
  derived: readonly Derived[],
  owners: ReadonlyMap<string, ReadonlySet<KeyOwner>>,
): Derived | undefined {
  const byName = new Map(derived.flatMap((one) => one.names.map((name) => [ownedKey(one.device, name), one] as const)));
  const ranks = ranksByDependence(derived, ({ inputs, device }) =>
    inputs.flatMap((input) =>
      meantOwners(owners.get(input), device).flatMap((owner) => byName.get(ownedKey(owner, input)) ?? []),
    ),
  );
  return derived.find((one) => !ranks.has(one));
}
