/** What a shared attribute can be: the desired state of an actuator, or a live setting. One target for one key. */
import { isOff } from '../actuators/actuator.ts';
import type { ActuatorControl } from '../actuators/actuator-control.ts';
import { valueFor } from '../actuators/actuator-value.ts';
import type { ChangeableSetting } from '../config/live-config.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { ValueShape } from '../host/value-shape.ts';

export interface SharedTarget {
  readonly key: string;
  /** What does not fit is refused before `apply` sees it. */
  readonly shape: ValueShape;
  /** Whether a value only ever ends something. */
  readonly switchesOff: (value: JsonValue) => boolean;
  /** @throws AgentError; with recovery `retry` it is tried again soon, otherwise the value is refused. */
  readonly apply: (value: JsonValue, signal: AbortSignal) => Promise<void> | void;
  /** The attribute was deleted at the platform. */
  readonly clear: () => Promise<void> | void;
  /** Whether the last applied value is applied again when the agent starts, before there is any contact. */
  readonly restored: boolean;
  /** Counts every writer's writes: a value that had to wait is dropped when someone else has written since. */
  readonly writes: () => number;
}

export function settingTarget({ key, shape, apply }: ChangeableSetting): SharedTarget {
  return {
    ...{ key, shape, apply, switchesOff: () => false },
    clear: () => apply(undefined),
    restored: true,
    writes: () => 0,
  };
}

/** Deleting the wish moves nothing: the actuator stays as its last writer left it. */
export function actuatorTarget(
  key: string,
  name: string,
  actuators: Pick<ActuatorControl, 'set' | 'settings' | 'movements'>,
): SharedTarget {
  return {
    key,
    // The actuator says itself what it takes.
    shape: {},
    switchesOff: (value) => isOff(valueFor(actuators.settings(name), value) ?? null),
    apply: async (value, signal) => void (await actuators.set(name, value, { by: 'shared' }, signal)),
    clear: () => {},
    // What an actuator does after a restart is its own choice (`restore`), not the platform's last word.
    restored: false,
    writes: () => actuators.movements(name),
  };
}

/** The value of a key in the platform's answer; undefined when it was deleted. */
export function sharedValue(shared: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(shared, key) ? shared[key] : undefined;
}
