/** Every kind of actuator there is, in the order in which editors offer them: one line for each. */
import type { z } from 'zod';
import { command } from '../actuators/command/definition.ts';
import { gpioOutput } from '../actuators/gpio-output/definition.ts';
import type { ActuatorDefinition, ConfigOf, Places } from '../actuators/kind/definition.ts';
import { modbusWrite } from '../actuators/modbus-write/definition.ts';
import { mqttOutput } from '../actuators/mqtt/definition.ts';
import { processOutput } from '../actuators/process/definition.ts';
import { pwm } from '../actuators/pwm/definition.ts';
import { serialWrite } from '../actuators/serial-write/definition.ts';

export const ACTUATOR_KINDS = [gpioOutput, pwm, serialWrite, modbusWrite, mqttOutput, command, processOutput] as const;

export type ActuatorKind = (typeof ACTUATOR_KINDS)[number]['kind'];
type AnyConfig = ConfigOf<(typeof ACTUATOR_KINDS)[number]['schema']>;
/** Definition of any kind: it is asked about configurations of that kind only. */
type AnyDefinition = ActuatorDefinition<z.ZodType, AnyConfig> & { readonly kind: ActuatorKind };

const BY_KIND: ReadonlyMap<string, AnyDefinition> = new Map(
  ACTUATOR_KINDS.map((definition) => [definition.kind, definition]),
);

export function actuatorDefinition(kind: ActuatorKind): AnyDefinition {
  return BY_KIND.get(kind) as AnyDefinition; // the list has every kind there is
}

/** Returns the places of the machine that an actuator is on, and what its program is told, without loading its kind. */
export function placesOf(config: AnyConfig): Places {
  return config;
}
