/** The methods that every agent has: what the rooms declare, joined to what it works on. */
import { ACTUATOR_METHODS } from './actuator-methods.ts';
import { CREDENTIAL_METHODS } from './credential-methods.ts';
import { OUTBOX_METHODS } from './outbox-methods.ts';
import { RESTART_METHODS } from './restart-methods.ts';
import { type MethodsOn, methodsOn, type RpcMethod, TABLE_METHODS } from './rpc-method.ts';
import { SENSOR_METHODS } from './sensor-methods.ts';
import { SETTING_METHODS } from './setting-methods.ts';
import { STATUS_METHODS } from './status-methods.ts';

const ROOMS = {
  status: STATUS_METHODS,
  sensors: SENSOR_METHODS,
  outbox: OUTBOX_METHODS,
  settings: SETTING_METHODS,
  restarts: RESTART_METHODS,
  actuators: ACTUATOR_METHODS,
  credentials: CREDENTIAL_METHODS,
};

/** Parts that each room's methods work on. */
export type MethodParts = {
  readonly [Room in keyof typeof ROOMS]: (typeof ROOMS)[Room] extends MethodsOn<infer Part> ? Part : never;
};

/** Their names; the method table adds its own. */
export const BUILT_IN_METHODS: readonly string[] = [...Object.values(ROOMS), TABLE_METHODS].flatMap((methods) =>
  Object.keys(methods),
);

export function builtInMethods(parts: MethodParts): readonly RpcMethod[] {
  const rooms = Object.keys(ROOMS) as (keyof typeof ROOMS)[];
  // Each room's methods are given that room's part, as `MethodParts` pairs them.
  return rooms.flatMap((room) => methodsOn(ROOMS[room] as MethodsOn<unknown>, parts[room]));
}
