/** Targets of shared attributes: the desired state of an actuator, or a live setting. One target for one key. */

import type { ActuatorControl } from '../actuators/actuator-control.ts';
import { isOff } from '../actuators/kind/actuator.ts';
import { valueFor } from '../actuators/kind/actuator-value.ts';
import type { ChangeableSetting } from '../config/live-config.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import type { ValueShape } from '../values/value-shape.ts';

export interface SharedTarget {
  readonly key: string;
  /** Shape of a value; one that does not fit is refused before `apply` sees it. */
  readonly shape: ValueShape;
  /** True when the value only ever ends something. */
  readonly switchesOff: (value: JsonValue) => boolean;
  /** @throws AgentError; with recovery `retry` it is tried again soon, otherwise the value is refused. */
  readonly apply: (value: JsonValue, signal: AbortSignal) => Promise<void> | void;
  /** The attribute was deleted at the platform, or set to null; its last value may never have been applied. */
  readonly clear: (wasApplied: boolean) => Promise<void> | void;
  /** True when the last applied value is applied again at the agent's start, before there is any contact. */
  readonly restored: boolean;
  /** True when the value would move something that moves again each time the value is applied. */
  readonly isMovement?: (value: JsonValue) => boolean;
  /** Counts every writer's writes: a value that had to wait is dropped when someone else has written since. */
  readonly writes: () => number;
}

export function settingTarget({ key, shape, apply }: ChangeableSetting): SharedTarget {
  return {
    key,
    shape,
    apply,
    switchesOff: () => false,
    clear: () => apply(undefined),
    restored: true,
    writes: () => 0,
  };
}

/** A command of an operator; deleting it releases what an operator has said. */
export function actuatorTarget(
  key: string,
  name: string,
  actuators: Pick<ActuatorControl, 'set' | 'release' | 'check' | 'settings' | 'movements'>,
): SharedTarget {
  const isAllowed = (value: JsonValue): boolean => {
    try {
      actuators.check(name, value, 'shared');
      return true;
    } catch {
      return false;
    }
  };
  return {
    key,
    // The actuator says itself what it takes.
    shape: {},
    switchesOff: (value) => isOff(valueFor(actuators.settings(name), value) ?? null),
    apply: async (value, signal) => void (await actuators.set(name, value, { by: 'shared' }, signal)),
    clear: async (wasApplied) => {
      if (wasApplied) await actuators.release(name, 'shared');
    },
    isMovement: (value) => {
      const settings = actuators.settings(name);
      return !settings.idempotent && !isOff(valueFor(settings, value) ?? value) && isAllowed(value);
    },
    // The actuator's own option (`restore`) decides on its state after a restart, not the platform's last value.
    restored: false,
    writes: () => actuators.movements(name),
  };
}

/** The value of a key in the platform's answer; undefined when it was deleted. */
export function sharedValue(shared: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(shared, key) ? shared[key] : undefined;
}
