/** References to what is switched off by `enabled: false`: they do nothing, or hold an actuator back for good. */
import { type Finding, finding } from '../fields/findings.ts';
import { readingsOf } from '../keys/rule-parts.ts';
import type { Check } from './draft.ts';

export const checkDisabled: Check = ({ sensors, actuators, rules, sections }) => {
  const isOff = (items: readonly { readonly config: { readonly name: string; readonly enabled: boolean } }[]): ReadonlySet<string> =>
    new Set(items.filter(({ config }) => !config.enabled).map(({ config }) => config.name));
  const [offSensors, offActuators] = [isOff(sensors), isOff(actuators)];
  const findings: Finding[] = [];
  const warn = (path: Finding['path'], problem: string, expected: string): void =>
    void findings.push(finding(path, problem, expected, { warning: true }));
  const onActuators = new Set(actuators.filter(({ config }) => config.enabled).map(({ config }) => config.name));
  for (const { config, path } of actuators)
    for (const [index, { with: other }] of config.interlocks.entries()) {
      const [held] = [config.name, other].filter((name) => onActuators.has(name));
      // Two that are both disabled do not hold each other back.
      if (held === undefined || (onActuators.has(other) && config.enabled) || !(offActuators.has(other) || !config.enabled)) continue;
      const problem = `${held} is never switched on, as nobody knows whether the disabled one of the two is off:`;
      warn([...path, 'interlocks', index], problem, 'both enabled, or no interlock between them');
    }
  for (const { config, path } of rules) {
    for (const { sensor, path: at } of readingsOf(config, path))
      if (offSensors.has(sensor)) warn([...at, 'sensor'], 'the rule does nothing, as its sensor is disabled:', 'an enabled sensor');
    if (offActuators.has(config.set.actuator))
      warn([...path, 'set', 'actuator'], 'the rule does nothing, as its actuator is disabled:', 'an enabled actuator');
  }
  for (const [name, { actuator = '', sensor = '', pins = {} }] of Object.entries(sections.rpc?.methods ?? {})) {
    const path = ['rpc', 'methods', name];
    if (offActuators.has(actuator))
      warn([...path, 'actuator'], 'the method is refused, as its actuator is disabled:', 'an enabled actuator');
    for (const [pin, name] of Object.entries(pins))
      if (offActuators.has(name))
        warn([...path, 'pins', pin], 'the whole panel is refused, as its actuator is disabled:', 'an enabled actuator');
    if (offSensors.has(sensor)) warn([...path, 'sensor'], 'the method is refused, as its sensor is disabled:', 'an enabled sensor');
  }
  return findings;
};
