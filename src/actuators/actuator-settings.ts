/** From the configuration's words to what every actuator is, whatever its kind. */
import { createHash } from 'node:crypto';
import { actuatorFields } from '../config/fields/actuator-fields.ts';
import type { ActuatorConfig } from '../config/schema/agent-config.ts';
import { actuatorDefinition } from '../kinds/actuator-kinds.ts';
import { type ActuatorSettings, type ActuatorValue, nearestValue, type SafeStates } from './kind/actuator.ts';

/** For one movement, where the kind does not say more. */
const DEADLINE_MS = 5_000;
/** Digits of a hash that tell configurations of one output apart. */
const VERSION_DIGITS = 16;
/** Options of kinds that say when it is asked or written, and not what. */
const BESIDE: ReadonlySet<string> = new Set(['readBack', 'repeatEveryMs', 'maxPulseMs']);

export function actuatorSettings(config: ActuatorConfig): ActuatorSettings {
  const { name, limits, interlocks: neverWith, operatorUntil, device } = config;
  const restore = config.restore !== false;
  const kind = actuatorDefinition(config.kind);
  const valueType = kind.valueType(config);
  const texts = kind.texts?.(config);
  const range = kind.holds === undefined ? kind.range?.(config) : undefined;
  const maxPulseMs = kind.maxPulseMs?.(config);
  const [readEveryMs, repeatEveryMs] = [kind.readEveryMs?.(config), kind.repeatEveryMs?.(config)];
  const nearest =
    kind.nearest && valueType === 'number' ? (value: number) => kind.nearest?.(config, value) ?? value : undefined;
  return {
    device,
    name,
    valueType,
    ...(texts && { texts }),
    neverWith,
    restore,
    operatorUntil,
    ...(nearest && { nearest }),
    safe: nearestStates(config.safe, (value) => nearestValue({ valueType, nearest }, value)),
    limits: {
      ...(range && { min: range[0], max: range[1] }),
      ...limits,
      ...(maxPulseMs !== undefined && { maxPulseMs }),
    },
    ...(kind.holds && valueType === 'number' && { holds: (value: number) => kind.holds?.(config, value) ?? true }),
    deadlineMs: kind.deadlineMs?.(config, DEADLINE_MS) ?? DEADLINE_MS,
    ...(readEveryMs !== undefined && { readEveryMs, version: versionOf(config) }),
    ...(repeatEveryMs !== undefined && { repeatEveryMs }),
    idempotent: kind.isIdempotent,
    ownSupply: kind.hasOwnSupply,
    ...(kind.isUnproven?.(config) === true && { unproven: true }),
    writtenOnce: config.restore !== 'repeat' && !kind.isReadable(config),
  };
}

/** Returns a text that changes with what reaches the device: a value that one register has had says nothing of another. */
function versionOf(config: ActuatorConfig): string {
  const reaching = Object.entries(config).filter(
    ([option]) => !Object.hasOwn(actuatorFields, option) && !BESIDE.has(option),
  );
  return createHash('sha256').update(JSON.stringify(reaching)).digest('hex').slice(0, VERSION_DIGITS);
}

/** Rounds safe states as the hardware does: what is read back is compared with them. */
function nearestStates(
  { noContact, ...states }: SafeStates,
  nearest: (value: ActuatorValue) => ActuatorValue,
): SafeStates {
  const each = Object.entries(states).map(([occasion, value]) => [
    occasion,
    value === undefined ? value : nearest(value),
  ]);
  return {
    ...Object.fromEntries(each),
    ...(noContact && { noContact: { ...noContact, value: nearest(noContact.value) } }),
  };
}
