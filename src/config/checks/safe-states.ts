/** Safe states that are on although their interlocks cannot let them be: they would never be set, and nobody would expect it. */
import { type ActuatorValue, isActive } from '../../actuators/kind/actuator.ts';
import { actuatorDefinition } from '../../kinds/actuator-kinds.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding, type Placed } from '../fields/findings.ts';
import type { ActuatorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

const OCCASIONS = ['start', 'stop', 'crash', 'noContact'] as const;
type Occasion = (typeof OCCASIONS)[number];

/** At these a process knows only what it sets itself, then or before, and what the hardware says. */
const SETS: Readonly<Partial<Record<Occasion, readonly Occasion[]>>> = { start: ['start'], stop: ['stop', 'start'], crash: ['crash'] };

/** Finds interlocked actuators whose safe states are on together: at most one may be on, and only when the others are known to be off then. */
export const checkSafeStates: Check = ({ actuators }) => {
  const enabled = actuators.filter(({ config }) => config.enabled);
  const byName = new Map(enabled.map((one) => [one.config.name, one]));
  const partners = new Map(enabled.map((one) => [one, new Set<Placed<ActuatorConfig>>()]));
  for (const one of enabled) {
    for (const { with: name } of one.config.interlocks) {
      const other = byName.get(name);
      if (other === undefined || other === one) continue;
      partners.get(one)?.add(other);
      partners.get(other)?.add(one);
    }
  }
  const before = new Set<Placed<ActuatorConfig>>();
  return enabled.flatMap((one) => {
    before.add(one);
    const findings = OCCASIONS.map((occasion) => findingFor(one, occasion, [...(partners.get(one) ?? [])], before));
    return findings.filter((finding) => finding !== undefined);
  });
};

function findingFor(
  { config, path }: Placed<ActuatorConfig>,
  occasion: Occasion,
  partners: readonly Placed<ActuatorConfig>[],
  before: ReadonlySet<Placed<ActuatorConfig>>,
): Finding | undefined {
  if (!isOn(stateAt(config, occasion))) return undefined;
  const at: ConfigPath = [...path, 'safe', occasion, ...(occasion === 'noContact' ? ['value'] : [])];
  // Told at the second of the two.
  const other = partners.find((one) => before.has(one) && isOn(stateAt(one.config, occasion)));
  if (other !== undefined) return finding(at, 'two that exclude each other are set on:', `off, as ${other.config.name} is set on then`);
  const set = SETS[occasion];
  const unknown = partners.find((one) => set?.every((when) => stateAt(one.config, when) === undefined) && !isReadable(one.config));
  if (unknown === undefined) return undefined;
  const expected = `off, or safe.${occasion}: for ${unknown.config.name}, whose state cannot be read`;
  return finding(at, 'never set on, as nobody knows whether what it excludes is off:', expected);
}

function stateAt({ safe }: ActuatorConfig, occasion: Occasion): ActuatorValue | undefined {
  return occasion === 'noContact' ? safe.noContact?.value : safe[occasion];
}

function isOn(value: ActuatorValue | undefined): boolean {
  return value !== undefined && isActive(value);
}

function isReadable(actuator: ActuatorConfig): boolean {
  return actuatorDefinition(actuator.kind).isReadable(actuator);
}
