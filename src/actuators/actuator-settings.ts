/** From the configuration's words to what every actuator is, whatever its kind. */
import type { ActuatorConfig, ActuatorKind } from '../config/agent-config.ts';
import { holdsModbus } from '../config/checks/modbus-range.ts';
import type { ActuatorSettings } from './actuator.ts';

/** For one movement, where the kind has no time-out of its own or a short one. */
const DEADLINE_MS = 5_000;
/** What a kind adds to its own time-out before the movement counts as failed. */
const DEADLINE_MARGIN_MS = 500;

/** Two for the request that is on the line already, and two for its own: the silence before and the answer. */
const MODBUS_RESPONSE_TIMES = 4;

/** Setting a program or a spoken command twice may do it twice; a level, a duty cycle and a register only ever are what they are. */
const IDEMPOTENT: Readonly<Record<ActuatorKind, boolean>> = {
  'gpio-output': true,
  pwm: true,
  'modbus-write': true,
  'serial-write': false,
  command: false,
};

export function actuatorSettings(config: ActuatorConfig): ActuatorSettings {
  const { start, stop, crash, noContact } = config.safe;
  const { min, max, step, minOnMs, minOffMs, maxOnMs, maxSwitchesPerHour } = config.limits;
  const valueType = valueTypeOf(config);
  return {
    name: config.name,
    valueType,
    limits: {
      ...given('min', min ?? (config.kind === 'pwm' ? 0 : undefined)),
      ...given('max', max ?? (config.kind === 'pwm' ? 100 : undefined)),
      ...given('step', step),
      ...given('minOnMs', minOnMs),
      ...given('minOffMs', minOffMs),
      ...given('maxOnMs', maxOnMs),
      ...given('maxSwitchesPerHour', maxSwitchesPerHour),
      ...given('maxPulseMs', config.kind === 'gpio-output' ? config.maxPulseMs : undefined),
    },
    ...(config.kind === 'modbus-write' && valueType === 'number' ? { holds: (value: number) => holdsModbus(config, value) } : {}),
    neverWith: config.interlocks,
    safe: {
      ...given('start', start),
      ...given('stop', stop),
      ...given('crash', crash),
      ...given('noContact', noContact),
    },
    restore: config.restore,
    deadlineMs: deadlineOf(config),
    idempotent: IDEMPOTENT[config.kind],
    ownSupply: config.kind !== 'gpio-output' && config.kind !== 'pwm',
  };
}

function valueTypeOf(config: ActuatorConfig): ActuatorSettings['valueType'] {
  if (config.kind === 'gpio-output') return 'boolean';
  if (config.kind === 'serial-write' || config.kind === 'command') return config.valueType;
  return config.kind === 'modbus-write' && (config.table === 'coil' || config.type === 'bool') ? 'boolean' : 'number';
}

function deadlineOf(config: ActuatorConfig): number {
  if (config.kind === 'command') return config.timeoutMs + DEADLINE_MARGIN_MS;
  if (config.kind === 'modbus-write')
    return Math.max(DEADLINE_MS, MODBUS_RESPONSE_TIMES * config.connection.responseTimeoutMs + DEADLINE_MARGIN_MS);
  return config.kind === 'serial-write' ? config.replyTimeoutMs + DEADLINE_MS : DEADLINE_MS;
}

function given<K extends string, V>(key: K, value: V | undefined): { readonly [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [key in K]: V });
}
