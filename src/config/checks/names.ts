/** Names: each once, and every reference to one that exists. */

import { BUILT_IN_METHODS } from '../../rpc/built-in-methods.ts';
import type { ConfigPath } from '../config-fault.ts';
import { pathText } from '../config-fault.ts';
import { didYouMean, didYouMeanWhenTold, oneOf } from '../did-you-mean.ts';
import type { Finding, Placed } from '../fields/findings.ts';
import { repeated } from '../fields/findings.ts';
import type { Check } from './draft.ts';

export const checkNames: Check = ({ sensors, actuators, rules }) =>
  [sensors, actuators, rules].flatMap((items: readonly Placed<{ readonly name: string }>[]) =>
    repeated(
      items.map(({ config, path }) => ({ identity: config.name, item: config, path: [...path, 'name'] })),
      (_again, first) => ({
        problem: 'duplicate name',
        expected: `a name of its own; ${pathText(first.path.slice(0, -1))} has it already`,
      }),
    ),
  );

export const checkReferences: Check = ({ actuators, rules, sections, sensorNames, actuatorNames }) => {
  const findings: Finding[] = [];
  const expectedOf = (known: ReadonlySet<string>, noun: string): string =>
    known.size === 0 ? `the name of ${noun}; none is configured` : oneOf([...known]);
  // Put into words once: there may be thousands of wrong references.
  const words = new Map(
    [actuatorNames, sensorNames].map((known) => [known, expectedOf(known, known === sensorNames ? 'a sensor' : 'an actuator')]),
  );
  const refer = (name: string, path: ConfigPath, known: ReadonlySet<string>, noun: string): void => {
    if (known.has(name)) return;
    const expected = words.get(known) ?? '';
    findings.push({ path, problem: `unknown ${noun.split(' ')[1]}`, expected, ...didYouMeanWhenTold(name, known) });
  };
  for (const { config, path } of actuators) {
    for (const [index, other] of config.interlocks.entries()) {
      if (other === config.name)
        findings.push({ path: [...path, 'interlocks', index], problem: 'interlock with itself:', expected: 'another actuator' });
      else refer(other, [...path, 'interlocks', index], actuatorNames, 'an actuator');
    }
  }
  for (const { config, path } of rules) {
    refer(config.when.sensor, [...path, 'when', 'sensor'], sensorNames, 'a sensor');
    refer(config.set.actuator, [...path, 'set', 'actuator'], actuatorNames, 'an actuator');
  }
  for (const [name, method] of Object.entries(sections.rpc?.methods ?? {})) {
    const path = ['rpc', 'methods', name];
    if (method.actuator !== undefined) refer(method.actuator, [...path, 'actuator'], actuatorNames, 'an actuator');
    if (method.sensor !== undefined) refer(method.sensor, [...path, 'sensor'], sensorNames, 'a sensor');
    findings.push(...targetFaults(name, method, path));
  }
  return findings;
};

/** A method is built in, or does exactly one thing. */
function targetFaults(
  name: string,
  method: { readonly actuator?: unknown; readonly sensor?: unknown; readonly command?: unknown },
  path: ConfigPath,
): Finding[] {
  const targets = (['actuator', 'sensor', 'command'] as const).filter((target) => method[target] !== undefined);
  if (BUILT_IN_METHODS.includes(name)) {
    return targets.map((target) => ({
      path: [...path, target],
      atKey: true,
      problem: 'not for a built-in method:',
      value: target,
      expected: 'another method name',
    }));
  }
  if (targets.length === 1) return [];
  if (targets.length > 1)
    return [{ path, atKey: true, problem: `does several things at once: ${targets.join(', ')}`, expected: 'one of them' }];
  return [{ path, atKey: true, problem: 'does nothing', expected: 'actuator, sensor or command', ...didYouMean(name, BUILT_IN_METHODS) }];
}
