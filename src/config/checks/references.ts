/** Names: each once, and every reference to one that exists and is switched on. */

import { PLATFORM_OPERATIONS } from '../../operations/operation-table.ts';
import { type ConfigPath, pathText } from '../fields/config-fault.ts';
import { didYouMean, didYouMeanWhenTold, oneOf } from '../fields/did-you-mean.ts';
import { doubled, type Finding, finding, findingAtKey, type Placed, repeated } from '../fields/findings.ts';
import { deviceTitles } from '../keys/device-firmware.ts';
import { readingsOf } from '../keys/rule-parts.ts';
import { keyRulesOf, sensorKeys } from '../keys/sensor-keys.ts';
import type { RpcMethodConfig, SensorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

export const checkNames: Check = ({ devices, sensors, actuators, rules }) =>
  [devices, sensors, actuators, rules].flatMap((items: readonly Placed<{ readonly name: string }>[]) =>
    repeated(
      items,
      ({ config }) => config.name,
      ({ path }, first) =>
        finding([...path, 'name'], 'duplicate name', `a name of its own; ${pathText(first.path)} has it already`),
    ),
  );

export const checkReferences: Check = ({
  sensors,
  actuators,
  rules,
  sections,
  deviceNames,
  sensorNames,
  actuatorNames,
  brokerNames,
}) => {
  const findings: Finding[] = [];
  // Put into words once: there may be thousands of wrong references.
  const known = {
    device: { names: deviceNames, expected: namesInWords(deviceNames, 'a device under devices:') },
    sensor: { names: sensorNames, expected: namesInWords(sensorNames, 'a sensor') },
    actuator: { names: actuatorNames, expected: namesInWords(actuatorNames, 'an actuator') },
    broker: { names: brokerNames, expected: namesInWords(brokerNames, 'a broker under brokers:') },
  };
  const refer = (name: string, path: ConfigPath, noun: keyof typeof known): void => {
    const { names, expected } = known[noun];
    if (!names.has(name))
      findings.push({ ...finding(path, `unknown ${noun}`, expected), ...didYouMeanWhenTold(name, names) });
  };
  for (const { config, path } of [...sensors, ...actuators])
    if (config.device !== undefined) refer(config.device, [...path, 'device'], 'device');
  for (const { config, path } of [...sensors, ...actuators])
    if (config.kind === 'mqtt') refer(config.broker, [...path, 'broker'], 'broker');
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
    for (const noun of ['actuator', 'sensor'] as const)
      if (method[noun] !== undefined) refer(method[noun], [...path, noun], noun);
    for (const [pin, actuator] of Object.entries(method.pins ?? {}))
      refer(actuator, [...path, 'pins', pin], 'actuator');
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
  if (PLATFORM_OPERATIONS.includes(name))
    return targets.map((target) =>
      findingAtKey([...path, target], 'not for a built-in method:', 'another method name', { value: target }),
    );
  if (targets.length === 1) return [];
  if (targets.length > 1)
    return [findingAtKey(path, `does several things at once: ${targets.join(', ')}`, 'one of them')];
  return [
    {
      ...findingAtKey(path, 'does nothing', 'actuator, pins, sensor or command'),
      ...didYouMean(name, PLATFORM_OPERATIONS),
    },
  ];
}

export const checkDoubled: Check = ({ devices, sensors, actuators, sections }) => [
  ...sensors.flatMap(({ config, path }) => [
    ...doubled(config.window?.statistics ?? [], [...path, 'window', 'statistics']),
    ...namesOfAll(config, path),
  ]),
  ...actuators.flatMap(({ config, path }) =>
    doubled(
      config.interlocks.map((one) => one.with),
      [...path, 'interlocks'],
    ),
  ),
  ...handlerFaults(sections, deviceTitles(devices.map(({ config }) => config))),
];

/** One name, or one label, for every key of a sensor. */
function namesOfAll(config: SensorConfig, path: ConfigPath): Finding[] {
  const { rename, label } = config.keys['*'] ?? {};
  if (rename === undefined && label === undefined) return [];
  const named = sensorKeys(config)?.filter((key) => keyRulesOf(config, key) === config.keys['*']);
  if (named?.length === 1) return [];
  const ofAll = [...path, 'keys', '*'];
  return [
    ...(rename === undefined
      ? []
      : [finding([...ofAll, 'rename'], 'one name for several keys:', 'rename under each key')]),
    ...(label === undefined
      ? []
      : [finding([...ofAll, 'label'], 'one label for several keys:', 'label under each key')]),
  ];
}

/** Finds handlers that would never be asked: second ones for one package, and those for packages that the agent itself takes. */
function handlerFaults(
  { firmware, remoteConfiguration: remote }: Parameters<Check>[0]['sections'],
  ofDevices: ReadonlySet<string>,
): Finding[] {
  if (firmware === undefined) return [];
  const titles = firmware.handlers.map((handler, index) => ({
    ...handler,
    path: ['firmware', 'handlers', index, 'title'],
  }));
  const own = titles.filter((one) => one.package === 'firmware' && one.title === firmware.title);
  const configurations =
    remote?.enabled === true
      ? titles.filter((one) => one.package === 'software' && one.title === remote.title && !ofDevices.has(one.title))
      : [];
  const another = 'another title; updates of this one never reach a handler';
  return [
    ...own.map(({ path }) => finding(path, 'the title of the agent itself:', another)),
    ...configurations.map(({ path }) =>
      finding(path, 'the title of configurations from afar:', 'another title, or another remoteConfiguration.title'),
    ),
    ...repeated(
      titles,
      (one) => `${one.package} ${one.title}`,
      ({ path }) => finding(path, 'two handlers of one title:', 'a title of its own'),
    ),
  ];
}

export const checkDisabled: Check = ({ sensors, actuators, rules, sections }) => {
  const isOff = (
    items: readonly { readonly config: { readonly name: string; readonly enabled: boolean } }[],
  ): ReadonlySet<string> => new Set(items.filter(({ config }) => !config.enabled).map(({ config }) => config.name));
  const [offSensors, offActuators] = [isOff(sensors), isOff(actuators)];
  const findings: Finding[] = [];
  const warn = (path: Finding['path'], problem: string, expected: string): void =>
    void findings.push(finding(path, problem, expected, { warning: true }));
  const onActuators = new Set(actuators.filter(({ config }) => config.enabled).map(({ config }) => config.name));
  for (const { config, path } of actuators)
    for (const [index, { with: other }] of config.interlocks.entries()) {
      const [held] = [config.name, other].filter((name) => onActuators.has(name));
      // Two that are both disabled do not hold each other back.
      if (
        held === undefined ||
        (onActuators.has(other) && config.enabled) ||
        !(offActuators.has(other) || !config.enabled)
      )
        continue;
      const problem = `${held} is never switched on, as nobody knows whether the disabled one of the two is off:`;
      warn([...path, 'interlocks', index], problem, 'both enabled, or no interlock between them');
    }
  for (const { config, path } of rules) {
    for (const { sensor, path: at } of readingsOf(config, path))
      if (offSensors.has(sensor))
        warn([...at, 'sensor'], 'the rule does nothing, as its sensor is disabled:', 'an enabled sensor');
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
    if (offSensors.has(sensor))
      warn([...path, 'sensor'], 'the method is refused, as its sensor is disabled:', 'an enabled sensor');
  }
  return findings;
};
