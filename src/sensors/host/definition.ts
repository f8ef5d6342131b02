/** The gateway itself. Keys such as `cpuPercent`, `load1`, `memoryUsedPercent`, `diskUsedPercent`, `networkReceivedBytes`, `uptimeS`. */
import { z } from 'zod';
import { filePath, list, text } from '../../config/fields/fields.ts';
import { doubled } from '../../config/fields/findings.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const GROUPS = ['cpu', 'load', 'memory', 'disk', 'temperature', 'network', 'uptime'] as const;

const schema = sensorSection('host', () => ({
  groups: list(z.enum(GROUPS), { min: 1 }).default([...GROUPS]),
  /** Mount points. */
  disks: list(filePath(), { max: 32 }).default(['/']),
  /** Network interfaces; all but the loopback one when not given. */
  interfaces: list(text(/^[^\s/]{1,15}$/, 'the name of a network interface such as eth0'), { max: 32 }).optional(),
}));

export type HostConfig = ConfigOf<typeof schema>;

export const host = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  keys: hostKeys,
  keysVary: true,
  faults: ({ groups, disks, interfaces }, path) => [
    ...doubled(groups, [...path, 'groups']),
    ...doubled(disks, [...path, 'disks']),
    ...doubled(interfaces ?? [], [...path, 'interfaces']),
  ],
  // Chips beside it have a temperature of their own.
  everywhere: '{ name: machine, kind: host, period: 1m, keys: { temperature: { rename: machineTemperature } } }',
});

/** As host/host-metrics.ts names them; a group that the machine does not show gives none of its keys. */
export function hostKeys({
  groups,
  disks,
  interfaces,
}: Pick<HostConfig, 'groups' | 'disks' | 'interfaces'>): readonly string[] {
  const suffixes = (names: readonly string[]): readonly string[] => [...new Set(names)].map((name) => `_${name}`);
  const diskSuffixes = ['', ...suffixes(disks.slice(1))].slice(0, disks.length);
  const networkSuffixes = interfaces === undefined ? [''] : suffixes(interfaces);
  const keys: Readonly<Record<(typeof groups)[number], readonly string[]>> = {
    cpu: ['cpuPercent'],
    load: ['load1', 'load5', 'load15'],
    memory: ['memoryUsedPercent', 'memoryAvailableBytes'],
    disk: diskSuffixes.flatMap((suffix) => [`diskUsedPercent${suffix}`, `diskFreeBytes${suffix}`]),
    temperature: ['temperature'],
    network: networkSuffixes.flatMap((suffix) => [`networkReceivedBytes${suffix}`, `networkSentBytes${suffix}`]),
    uptime: ['uptimeS'],
  };
  return [...new Set(groups)].flatMap((group) => keys[group]);
}
