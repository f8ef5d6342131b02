/** Attached devices: that each gets a name of its own on the platform, a token of its own, and a serial number that can be read. */

import { type ConfigPath, pathText } from '../fields/config-fault.ts';
import { didYouMean, didYouMeanWhenTold, oneOf } from '../fields/did-you-mean.ts';
import { type Finding, finding, findingAtKey, type Placed, repeated } from '../fields/findings.ts';
import { keysForRules } from '../keys/sensor-keys.ts';
import type { DeviceConfig } from '../schema/agent-config.ts';
import type { SerialNumberConfig } from '../schema/devices.ts';
import { isGiven } from './access.ts';
import type { Check, ConfigDraft } from './draft.ts';

const NAME_WORDS = ['gateway', 'name', 'label', 'serialNumber'] as const;
type NameWord = (typeof NAME_WORDS)[number];
const CHOICES = /\{([^{}]*)\}/g;

/** Finds what the template of a name asks for and nobody gives, and names that two devices would have. */
export const checkDeviceNames: Check = ({ devices }) => {
  const wrong = devices.flatMap(({ config, path }) => templateFindings(config, [...path, 'deviceName']));
  const isWrong = new Set(wrong.filter(({ warning }) => warning !== true).map(({ path }) => pathText(path)));
  const named = devices
    .map(({ config, path }) => ({ template: filledAsFarAsKnown(config), path, at: [...path, 'deviceName'] }))
    .filter(({ template, at }) => !template.includes('{serialNumber}') && !isWrong.has(pathText(at)));
  const ofGateway = named.filter(({ template }) => template === '{gateway}');
  return [
    ...wrong,
    ...ofGateway.map(({ at }) =>
      finding(at, 'the name of the gateway itself:', 'a name of its own, such as {gateway} {name}'),
    ),
    ...repeated(
      named.filter((one) => !ofGateway.includes(one)),
      ({ template }) => template,
      ({ at }, first) =>
        finding(at, 'the name of another device:', `a name of its own; ${pathText(first.path)} has it already`),
    ),
  ];
};

function templateFindings(config: DeviceConfig, path: ConfigPath): Finding[] {
  const { deviceName, label, serialNumber } = config;
  if (deviceName.trim() === '') return [finding(path, 'a name of blanks:', 'a device name')];
  const choices = [...deviceName.matchAll(CHOICES)].map(([, words = '']) => words.split('|'));
  const unknown = choices.flat().find((word) => !isNameWord(word));
  if (unknown !== undefined)
    return [
      {
        ...finding(path, `nothing is known as {${unknown}} in`, oneOf(NAME_WORDS.map(braced))),
        ...didYouMean(unknown, NAME_WORDS),
      },
    ];
  if (/[{}]/.test(deviceName.replace(CHOICES, '')))
    return [finding(path, 'a bracket without its pair in', 'a word between { and }')];
  const given: Readonly<Record<string, unknown>> = { gateway: true, name: true, label, serialNumber };
  const [empty] = choices.find((words) => words.every((word) => given[word] === undefined)) ?? [];
  if (empty !== undefined)
    return [finding(path, `the device has no ${empty}, which is asked for in`, `${empty}: beside it`)];
  if (serialNumber === undefined || choices.flat().includes('serialNumber')) return [];
  return [finding(path, 'a swapped one would have the same name:', 'a name with {serialNumber}', { warning: true })];
}

/** The name with what the configuration itself knows; of a choice the first that the device has. */
function filledAsFarAsKnown({ deviceName, name, label, serialNumber }: DeviceConfig): string {
  const known: Readonly<Record<NameWord, string | undefined>> = {
    gateway: '{gateway}',
    name,
    label,
    serialNumber: serialNumber && '{serialNumber}',
  };
  const filled = deviceName.replace(CHOICES, (whole, words: string) => {
    return (
      words
        .split('|')
        .filter(isNameWord)
        .map((word) => known[word])
        .find((one) => one !== undefined) ?? whole
    );
  });
  return filled.trim();
}

function isNameWord(word: string): word is NameWord {
  return (NAME_WORDS as readonly string[]).includes(word);
}

function braced(word: string): string {
  return `{${word}}`;
}

/** Finds devices without a way to a token, or with two. */
export const checkDeviceAccess: Check = ({ devices, sections }) => [
  ...devices.flatMap(({ config, path }) => {
    const { provisioning } = config;
    if (isGiven(config, 'accessToken'))
      return (['provisioning', 'serialNumber'] as const)
        .filter((option) => config[option] !== undefined)
        .map((option) =>
          findingAtKey(
            [...path, option],
            `${option} beside an access token, which is one device’s for good`,
            'one of them',
          ),
        );
    if (provisioning !== undefined)
      return (['key', 'secret'] as const)
        .filter((field) => !isGiven(provisioning, field))
        .map((field) =>
          findingAtKey(
            [...path, 'provisioning'],
            `${field} is missing`,
            `${field}, ${field}File or ${field}Credential`,
          ),
        );
    if (sections.provisioning !== undefined || sections.platform === undefined) return [];
    const expected =
      'a section provisioning, for all devices or in this one, or accessToken, accessTokenFile or accessTokenCredential';
    return [findingAtKey(path, 'neither an access token nor provisioning', expected)];
  }),
  ...repeated(
    tokensOf(devices, sections.platform),
    ({ token }) => token,
    ({ path }, first) =>
      finding(
        [...path, 'accessToken'],
        'the token of another device:',
        `a token of its own; ${pathText(first.path)} has it already`,
      ),
  ),
];

function tokensOf(devices: readonly Placed<DeviceConfig>[], platform: ConfigDraft['sections']['platform']) {
  return [{ config: platform, path: ['platform'] }, ...devices].flatMap(({ config, path }) =>
    config?.accessToken === undefined ? [] : [{ token: config.accessToken.reveal(), path }],
  );
}

/** Finds serial numbers that no sensor of the device gives. */
export const checkSerialNumbers: Check = (draft) =>
  draft.devices.flatMap(({ config: { name, serialNumber }, path }) =>
    serialNumber === undefined ? [] : serialFindings(name, serialNumber, [...path, 'serialNumber'], draft),
  );

function serialFindings(
  name: string,
  { sensor: read, key }: SerialNumberConfig,
  path: ConfigPath,
  { sensors, sensorNames }: ConfigDraft,
): Finding[] {
  const at = [...path, 'sensor'];
  const own = `a sensor with device: ${name}`;
  if (read === '') {
    const amount = sensors.filter(({ config }) => config.device === name && config.kind !== 'derived').length;
    // One that is told to be wrong may be the one.
    if (amount === 0)
      return sensors.length < sensorNames.size ? [] : [findingAtKey(path, 'no sensor belongs to the device', own)];
    return [
      findingAtKey(path, `${amount} sensors belong to the device`, 'sensor: with the name of the one that gives it'),
    ];
  }
  if (!sensorNames.has(read))
    return [
      {
        ...finding(at, 'unknown sensor', sensorNames.size === 0 ? own : oneOf([...sensorNames])),
        ...didYouMeanWhenTold(read, sensorNames),
      },
    ];
  const sensor = sensors.find(({ config }) => config.name === read)?.config;
  if (sensor === undefined) return [];
  if (sensor.device !== name) return [finding(at, 'a sensor that belongs to another device:', own)];
  const known = keysForRules(sensor);
  if (known !== undefined && !known.includes(key))
    return [
      {
        ...finding([...path, 'key'], 'the sensor has no key', oneOf(known)),
        ...didYouMeanWhenTold(key, new Set(known)),
      },
    ];
  const problem = 'nobody knows who the device is, as its sensor is disabled:';
  return sensor.enabled ? [] : [{ ...findingAtKey(path, problem.slice(0, -1), 'an enabled sensor'), warning: true }];
}

/** Warns of slots to which nothing belongs. */
export const checkUnusedDevices: Check = ({ devices, sensors, actuators, sensorNames, actuatorNames }) => {
  const used = new Set([...sensors, ...actuators].map(({ config }) => config.device));
  if (sensors.length < sensorNames.size || actuators.length < actuatorNames.size) return [];
  return devices
    .filter(({ config: { name } }) => !used.has(name))
    .map(({ config: { name }, path }) =>
      finding([...path, 'name'], 'nothing belongs to the device', `a sensor or an actuator with device: ${name}`, {
        warning: true,
      }),
    );
};

/** Finds methods that would be of several devices. */
export const checkDeviceCommands: Check = ({ actuators, sections: { rpc } }) => {
  if (rpc === undefined) return [];
  const deviceOf = new Map(actuators.map(({ config }) => [config.name, config.device]));
  const panels = Object.entries(rpc.methods).filter(([, { pins = {} }]) => {
    const known = Object.values(pins).filter((name) => deviceOf.has(name));
    return new Set(known.map((name) => deviceOf.get(name))).size > 1;
  });
  return panels.map(([name]) =>
    findingAtKey(['rpc', 'methods', name, 'pins'], 'actuators of several devices', 'those of one device'),
  );
};
