/** Checks that each kind makes of its own options: those that need each other, and those that several of one kind cannot share. */
import { ACTUATOR_KINDS, actuatorDefinition } from '../../kinds/actuator-kinds.ts';
import { definitionOf, SENSOR_KINDS } from '../../kinds/sensor-kinds.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import type { Finding, Placed } from '../fields/findings.ts';
import { scaleFaults } from '../fields/registers.ts';
import type { SensorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

export const checkKinds: Check = ({ sensors, actuators }) => [
  ...faultsOf(SENSOR_KINDS, definitionOf, sensors),
  ...sensors.flatMap(({ config, path }) => scalesOfKeys(config, path)),
  ...faultsOf(ACTUATOR_KINDS, actuatorDefinition, actuators),
];

interface Judge<C> {
  faults?(config: C, path: ConfigPath): Finding[];
  faultsAmong?(all: readonly Placed<C>[]): Finding[];
}

function faultsOf<K extends string, C extends { readonly kind: K }>(
  kinds: readonly { readonly kind: K }[],
  definition: (kind: K) => Judge<C>,
  configured: readonly Placed<C>[],
): Finding[] {
  return [
    ...configured.flatMap(({ config, path }) => definition(config.kind).faults?.(config, path) ?? []),
    ...kinds.flatMap(({ kind }) => {
      const all = configured.filter(({ config }) => config.kind === kind);
      return (all.length > 0 && definition(kind).faultsAmong?.(all)) || [];
    }),
  ];
}

/** Only a warning: somebody may want a constant at the platform. */
function scalesOfKeys({ keys }: SensorConfig, path: ConfigPath): Finding[] {
  const faults = Object.entries(keys).flatMap(([key, rules]) => scaleFaults(rules, [...path, 'keys', key]));
  return faults.map((fault) => ({ ...fault, warning: true }));
}
