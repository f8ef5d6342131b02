/** What each kind of sensor says of its own options: those that need each other, and what several of one kind cannot have together. */
import { definitionOf, SENSOR_KINDS } from '../../sensors/kinds.ts';
import type { Check } from './draft.ts';

export const checkKinds: Check = ({ sensors }) => [
  ...sensors.flatMap(({ config, path }) => definitionOf(config.kind).faults?.(config, path) ?? []),
  ...SENSOR_KINDS.flatMap(({ kind }) => {
    const all = sensors.filter(({ config }) => config.kind === kind);
    return (all.length > 1 && definitionOf(kind).faultsAmong?.(all)) || [];
  }),
];
