/** Actuators of a device as its attributes tell of them, and wishes that are not fulfilled. */
import type { OwnActuators } from '../actuators/own-actuators.ts';
import type { ActuatorConfig } from '../config/schema/agent-config.ts';
import type { Alerts } from '../host/alert-list.ts';
import type { JsonObject } from '../values/json.ts';

/** More than a person reads at once; `sharedRefused` has them all. */
const MAX_TOLD = 5;

/** Returns each actuator's state and why it differs from the desired one. An attribute cannot be deleted, so an unknown state is named in a word. */
export function actuatorValues({ configs, control }: OwnActuators, configured: readonly ActuatorConfig[]): JsonObject {
  const states = configs.map(({ name, stateKey }) => ({ stateKey, ...control.state(name) }));
  // The platform still has what an earlier run told of one that is disabled now.
  const disabled = configured.filter(({ enabled }) => !enabled);
  return {
    ...Object.fromEntries(disabled.map(({ stateKey }) => [stateKey, 'unknown'])),
    ...Object.fromEntries(states.map(({ stateKey, value }) => [stateKey, value ?? 'unknown'])),
    actuatorFaults: Object.fromEntries(
      states.flatMap(({ name, fault }) => (fault === undefined ? [] : [[name, fault]])),
    ),
  };
}

/** In the status, and so for the doctor, until each is settled. */
export function tellRefused(refused: Readonly<Record<string, string>>, alert: string, alerts: Alerts): void {
  const reasons = Object.values(refused);
  const more = reasons.length > MAX_TOLD ? `; and ${reasons.length - MAX_TOLD} more` : '';
  const told = reasons.slice(0, MAX_TOLD).join('; ');
  if (reasons.length === 0) alerts.clear(alert);
  else
    alerts.raise(
      alert,
      `${alert} are not applied (${told}${more}): correct, save again or delete them at the platform`,
    );
}
