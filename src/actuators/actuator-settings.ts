/** From the configuration's words to what every actuator is, whatever its kind. */
import type { ActuatorConfig } from '../config/agent-config.ts';
import type { ActuatorSettings } from './actuator.ts';
import { actuatorDefinition } from './kinds.ts';

/** For one movement, where the kind does not say more. */
const DEADLINE_MS = 5_000;

export function actuatorSettings(config: ActuatorConfig): ActuatorSettings {
  const { name, limits, interlocks: neverWith, safe, restore, operatorUntil } = config;
  const kind = actuatorDefinition(config.kind);
  const valueType = kind.valueType(config);
  const range = kind.holds === undefined ? kind.range?.(config) : undefined;
  const maxPulseMs = kind.maxPulseMs?.(config);
  return {
    ...{ name, valueType, neverWith, safe, restore, operatorUntil },
    limits: { ...(range && { min: range[0], max: range[1] }), ...limits, ...(maxPulseMs !== undefined && { maxPulseMs }) },
    ...(kind.holds && valueType === 'number' && { holds: (value: number) => kind.holds?.(config, value) ?? true }),
    deadlineMs: kind.deadlineMs?.(config, DEADLINE_MS) ?? DEADLINE_MS,
    idempotent: kind.isIdempotent,
    ownSupply: kind.hasOwnSupply,
  };
}
