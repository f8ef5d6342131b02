/** Names: each once, and every reference to one that exists. */
import { BUILT_IN_METHODS } from '../../methods/built-in-methods.ts';
import { type ConfigPath, pathText } from '../fields/config-fault.ts';
import { didYouMean, didYouMeanWhenTold, oneOf } from '../fields/did-you-mean.ts';
import { type Finding, finding, findingAtKey, type Placed, repeated } from '../fields/findings.ts';
import { readingsOf } from '../keys/rule-parts.ts';
import type { RpcMethodConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

export const checkNames: Check = ({ sensors, actuators, rules }) =>
  [sensors, actuators, rules].flatMap((items: readonly Placed<{ readonly name: string }>[]) =>
    repeated(
      items,
      ({ config }) => config.name,
      ({ path }, first) => finding([...path, 'name'], 'duplicate name', `a name of its own; ${pathText(first.path)} has it already`),
    ),
  );

export const checkReferences: Check = ({ actuators, rules, sections, sensorNames, actuatorNames }) => {
  const findings: Finding[] = [];
  // Put into words once: there may be thousands of wrong references.
  const known = {
    sensor: { names: sensorNames, expected: namesInWords(sensorNames, 'a sensor') },
    actuator: { names: actuatorNames, expected: namesInWords(actuatorNames, 'an actuator') },
  };
  const refer = (name: string, path: ConfigPath, noun: keyof typeof known): void => {
    const { names, expected } = known[noun];
    if (!names.has(name)) findings.push({ ...finding(path, `unknown ${noun}`, expected), ...didYouMeanWhenTold(name, names) });
  };
  for (const { config, path } of actuators) {
    for (const [index, { with: other }] of config.interlocks.entries()) {
      const at = [...path, 'interlocks', index];
      if (other === config.name) findings.push(finding(at, 'interlock with itself:', 'another actuator'));
      else refer(other, at, 'actuator');
    }
  }
  for (const { config, path } of rules) {
    for (const { sensor, path: at } of readingsOf(config, path)) refer(sensor, [...at, 'sensor'], 'sensor');
    refer(config.set.actuator, [...path, 'set', 'actuator'], 'actuator');
  }
  for (const [name, method] of Object.entries(sections.rpc?.methods ?? {})) {
    const path = ['rpc', 'methods', name];
    for (const noun of ['actuator', 'sensor'] as const) if (method[noun] !== undefined) refer(method[noun], [...path, noun], noun);
    for (const [pin, actuator] of Object.entries(method.pins ?? {})) refer(actuator, [...path, 'pins', pin], 'actuator');
    findings.push(...targetFaults(name, method, path));
  }
  return findings;
};

function namesInWords(names: ReadonlySet<string>, noun: string): string {
  return names.size === 0 ? `the name of ${noun}; none is configured` : oneOf([...names]);
}

/** A method is built in, or does exactly one thing. */
function targetFaults(name: string, method: RpcMethodConfig, path: ConfigPath): Finding[] {
  const targets = (['actuator', 'pins', 'sensor', 'command'] as const).filter((target) => method[target] !== undefined);
  if (BUILT_IN_METHODS.includes(name))
    return targets.map((target) => findingAtKey([...path, target], 'not for a built-in method:', 'another method name', { value: target }));
  if (targets.length === 1) return [];
  if (targets.length > 1) return [findingAtKey(path, `does several things at once: ${targets.join(', ')}`, 'one of them')];
  return [{ ...findingAtKey(path, 'does nothing', 'actuator, pins, sensor or command'), ...didYouMean(name, BUILT_IN_METHODS) }];
}
