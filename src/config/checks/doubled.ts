/** What is named twice where once is all it can mean. */
import type { SensorConfig } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import { keyRulesOf, sensorKeys } from '../sensor-keys.ts';
import { type Check, type Finding, repeated } from './draft.ts';

export const checkDoubled: Check = ({ sensors, actuators, sections }) => [
  ...sensors.flatMap(({ config, path }) => [...sensorLists(config, path), ...renamesOfAll(config, path)]),
  ...actuators.flatMap(({ config, path }) => doubled(config.interlocks, [...path, 'interlocks'])),
  ...handlerFaults(sections.firmware),
];

function sensorLists(config: SensorConfig, path: ConfigPath): Finding[] {
  const findings = doubled(config.window?.statistics ?? [], [...path, 'window', 'statistics']);
  if (config.kind === 'host') {
    findings.push(...doubled(config.groups, [...path, 'groups']));
    findings.push(...doubled(config.disks, [...path, 'disks']));
    findings.push(...doubled(config.interfaces ?? [], [...path, 'interfaces']));
  }
  if ('columns' in config && config.format === 'csv') findings.push(...doubled(config.columns ?? [], [...path, 'columns']));
  return findings;
}

/** One name for every key of a sensor. */
function renamesOfAll(config: SensorConfig, path: ConfigPath): Finding[] {
  if (config.keys['*']?.rename === undefined) return [];
  const renamed = sensorKeys(config)?.filter((key) => keyRulesOf(config, key) === config.keys['*']);
  if (renamed?.length === 1) return [];
  return [{ path: [...path, 'keys', '*', 'rename'], problem: 'one name for several keys:', expected: 'rename under each key' }];
}

/** Of two handlers for one package only the first would ever be asked, and of the agent's own none. */
function handlerFaults(firmware: Parameters<Check>[0]['sections']['firmware']): Finding[] {
  if (firmware === undefined) return [];
  const titles = firmware.handlers.map((handler, index) => ({
    identity: `${handler.package} ${handler.title}`,
    item: handler,
    path: ['firmware', 'handlers', index, 'title'],
  }));
  const own = titles.filter(({ item }) => item.package === 'firmware' && item.title === firmware.title);
  return [
    ...own.map(({ path }) => ({
      path,
      problem: 'the title of the agent itself:',
      expected: 'another title; updates of this one never reach a handler',
    })),
    ...repeated(titles, () => ({ problem: 'two handlers of one title:', expected: 'a title of its own' })),
  ];
}

function doubled(names: readonly string[], path: ConfigPath): Finding[] {
  const items = names.map((name, index) => ({ identity: name, item: name, path: [...path, index] }));
  return repeated(
    items.filter(({ identity }) => identity !== ''),
    () => ({ problem: 'named twice:', expected: 'each once' }),
  );
}
