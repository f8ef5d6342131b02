/** What is named twice where once is all it can mean. */
import type { SensorConfig } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import { doubled, type Finding, finding, repeated } from '../fields/findings.ts';
import { keyRulesOf, sensorKeys } from '../sensor-keys.ts';
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

/** Of two handlers for one package only the first would ever be asked, and of the agent's own none. */
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
