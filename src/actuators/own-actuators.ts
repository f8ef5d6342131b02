/**
 * Actuators of one device alone: of an attached one, or the gateway's own, which are those without a device. Commands, widgets and shared
 * attributes of a device work on this view; what names another device's actuator is answered as for one that is not there.
 */
import type { ActuatorConfig } from '../config/schema/agent-config.ts';
import type { ActuatorControl } from './actuator-control.ts';
import type { Actuators } from './actuators.ts';
import type { Contact } from './contact-watches.ts';
import { unknownActuator } from './unknown-actuator.ts';

/** Calls that name an actuator. */
type NamedCalls = Pick<
  ActuatorControl,
  'set' | 'release' | 'pulse' | 'check' | 'checkPulse' | 'state' | 'read' | 'settings' | 'foundAtStart' | 'movements'
>;

export type OwnControl = NamedCalls & Pick<ActuatorControl, 'find' | 'onState'> & { readonly contact: Contact };

export interface OwnActuators {
  /** Those of the device that were opened. */
  readonly configs: readonly ActuatorConfig[];
  readonly control: OwnControl;
}

/** @param device slot in the configuration; undefined for the gateway. */
export function ownActuators(
  { configs, control }: Pick<Actuators, 'configs' | 'control'>,
  device?: string,
): OwnActuators {
  const own = configs.filter((one) => one.device === device);
  const names = new Set(own.map(({ name }) => name));
  const checked = (name: string): string => {
    if (!names.has(name)) throw unknownActuator(name, names);
    return name;
  };
  return {
    configs: own,
    control: {
      contact: control.contact.of(device),
      set: async (name, ...rest) => await control.set(checked(name), ...rest),
      pulse: async (name, ...rest) => await control.pulse(checked(name), ...rest),
      read: async (name, ...rest) => await control.read(checked(name), ...rest),
      release: async (name, ...rest) => await control.release(checked(name), ...rest),
      check: (name, ...rest) => control.check(checked(name), ...rest),
      checkPulse: (name, ...rest) => control.checkPulse(checked(name), ...rest),
      state: (name) => control.state(checked(name)),
      settings: (name) => control.settings(checked(name)),
      movements: (name) => control.movements(checked(name)),
      foundAtStart: (name) => control.foundAtStart(checked(name)),
      find: (name) => (names.has(name) ? control.find(name) : undefined),
      onState: (listener) => control.onState((state) => void (names.has(state.name) && listener(state))),
    },
  };
}
