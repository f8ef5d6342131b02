/** Finds names that stand twice where only one can be meant. */

import type { ConfigPath } from '../fields/config-fault.ts';
import { doubled, type Finding, finding, repeated } from '../fields/findings.ts';
import { keyRulesOf, sensorKeys } from '../keys/sensor-keys.ts';
import type { SensorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

export const checkDoubled: Check = ({ sensors, actuators, sections }) => [
  ...sensors.flatMap(({ config, path }) => [
    ...doubled(config.window?.statistics ?? [], [...path, 'window', 'statistics']),
    ...renamesOfAll(config, path),
  ]),
  ...actuators.flatMap(({ config, path }) =>
    doubled(
      config.interlocks.map((one) => one.with),
      [...path, 'interlocks'],
    ),
  ),
  ...handlerFaults(sections.firmware),
];

/** One name for every key of a sensor. */
function renamesOfAll(config: SensorConfig, path: ConfigPath): Finding[] {
  if (config.keys['*']?.rename === undefined) return [];
  const renamed = sensorKeys(config)?.filter((key) => keyRulesOf(config, key) === config.keys['*']);
  if (renamed?.length === 1) return [];
  return [finding([...path, 'keys', '*', 'rename'], 'one name for several keys:', 'rename under each key')];
}

/** Finds second handlers for one package, which would never be asked, and handlers for the agent's own package. */
function handlerFaults(firmware: Parameters<Check>[0]['sections']['firmware']): Finding[] {
  if (firmware === undefined) return [];
  const titles = firmware.handlers.map((handler, index) => ({ ...handler, path: ['firmware', 'handlers', index, 'title'] }));
  const own = titles.filter((one) => one.package === 'firmware' && one.title === firmware.title);
  const another = 'another title; updates of this one never reach a handler';
  return [
    ...own.map(({ path }) => finding(path, 'the title of the agent itself:', another)),
    ...repeated(
      titles,
      (one) => `${one.package} ${one.title}`,
      ({ path }) => finding(path, 'two handlers of one title:', 'a title of its own'),
    ),
  ];
}
