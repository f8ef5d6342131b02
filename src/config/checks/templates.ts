/** `{words}` that are replaced: in the device's name and in arguments of programs. One that nothing replaces ends what it stands in. */

import { placesOf } from '../../kinds/actuator-kinds.ts';
import { PLACEHOLDER } from '../../values/argument-template.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { didYouMean, didYouMeanWhenTold, oneOf } from '../fields/did-you-mean.ts';
import { type Finding, finding } from '../fields/findings.ts';
import { deviceTitles } from '../keys/device-firmware.ts';
import type { FirmwareHandlerConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

/** As devices/device-name.ts fills them in. */
const BOARD_WORDS = ['serial', 'mac', 'machineId', 'hostname'] as const;
const HANDLER_WORDS = ['file', 'title', 'version'] as const;
const DEVICE_HANDLER_WORDS = [...HANDLER_WORDS, 'device'] as const;

export const checkPlaceholders: Check = ({ devices, deviceNames, actuators, sections: { rpc, firmware } }) => [
  ...Object.entries(rpc?.methods ?? {}).flatMap(([name, { command, params }]) => {
    const known = Object.keys(params?.properties ?? {});
    const path = ['rpc', 'methods', name, 'command', 'arguments'];
    return unknownIn(command?.arguments ?? [], path, known, known.length === 0 ? 'params: with properties' : undefined);
  }),
  ...actuators.flatMap(({ config, path }) =>
    unknownIn(placesOf(config).arguments ?? [], [...path, 'arguments'], ['value']),
  ),
  ...handlerWords(
    firmware?.handlers ?? [],
    devices.length < deviceNames.size ? undefined : deviceTitles(devices.map(({ config }) => config)),
  ),
];

/** A handler of the gateway is for no device. Which are, is not known where a device did not parse or names one that is not there: that is told already. */
function handlerWords(
  handlers: readonly FirmwareHandlerConfig[],
  ofDevices: ReadonlySet<string> | undefined,
): Finding[] {
  const titles = new Set(handlers.map(({ title }) => title));
  const isKnown = ofDevices !== undefined && [...ofDevices].every((title) => titles.has(title));
  return handlers.flatMap((handler, index) => {
    const known = !isKnown || ofDevices.has(handler.title) ? DEVICE_HANDLER_WORDS : HANDLER_WORDS;
    return unknownIn(handler.arguments, ['firmware', 'handlers', index, 'arguments'], known);
  });
}

export const checkDeviceName: Check = ({ sections: { provisioning } }) =>
  provisioning === undefined ? [] : deviceNameFindings(provisioning.deviceName);

export function deviceNameFindings(deviceName: string): Finding[] {
  const path = ['provisioning', 'deviceName'];
  if (deviceName.trim() === '') return [finding(path, 'a name of blanks:', 'a device name')];
  const words = [...deviceName.matchAll(/\{([^{}]*)\}/g)].flatMap(([, choices = '']) => choices.split('|'));
  const unknown = words.find((word) => !(BOARD_WORDS as readonly string[]).includes(word));
  if (unknown !== undefined)
    return [
      {
        ...finding(path, `nothing is known as {${unknown}} in`, inBraces(BOARD_WORDS)),
        ...didYouMean(unknown, BOARD_WORDS),
      },
    ];
  if (!/[{}]/.test(deviceName.replace(/\{[^{}]*\}/g, ''))) return [];
  return [finding(path, 'a bracket without its pair in', 'a word between { and }')];
}

function inBraces(words: readonly string[]): string {
  return oneOf(words.map((word) => `{${word}}`));
}

function unknownIn(
  templates: readonly string[],
  path: ConfigPath,
  known: readonly string[],
  expected = inBraces(known),
): Finding[] {
  const isKnown = new Set(known);
  return templates.flatMap((template, index): Finding[] => {
    // The first of them: a template may hold as many as it has letters. It is not told: arguments may be secrets, braces and all.
    const word = [...template.matchAll(PLACEHOLDER)].map(([, one = '']) => one).find((one) => !isKnown.has(one));
    if (word === undefined) return [];
    return [
      {
        ...finding([...path, index], 'nothing is given for a word in braces in', expected),
        ...didYouMeanWhenTold(word, known),
      },
    ];
  });
}
