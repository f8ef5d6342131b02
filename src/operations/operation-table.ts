/** The methods that every agent has: what the rooms declare, joined to what it works on. */

import { CREDENTIAL_OPERATIONS } from './credential-operations.ts';
import { type Operation, type OperationsOn, operationsOn, TABLE_OPERATIONS } from './operation.ts';
import { OUTBOX_OPERATIONS } from './outbox-operations.ts';
import { OUTPUT_OPERATIONS } from './output-operations.ts';
import { RESTART_OPERATIONS } from './restart-operations.ts';
import { SENSOR_OPERATIONS } from './sensor-operations.ts';
import { SETTING_OPERATIONS } from './setting-operations.ts';
import { STATUS_OPERATIONS } from './status-operations.ts';

const ROOMS = {
  status: STATUS_OPERATIONS,
  sensors: SENSOR_OPERATIONS,
  outbox: OUTBOX_OPERATIONS,
  settings: SETTING_OPERATIONS,
  restarts: RESTART_OPERATIONS,
  actuators: OUTPUT_OPERATIONS,
  credentials: CREDENTIAL_OPERATIONS,
};

/** Parts that each room's methods work on. */
export type OperationParts = {
  readonly [Room in keyof typeof ROOMS]: (typeof ROOMS)[Room] extends OperationsOn<infer Part> ? Part : never;
};

/** Their names; the method table adds its own. */
export const PLATFORM_OPERATIONS: readonly string[] = [...Object.values(ROOMS), TABLE_OPERATIONS].flatMap((methods) =>
  Object.keys(methods),
);

export function builtInOperations(parts: OperationParts): readonly Operation[] {
  const rooms = Object.keys(ROOMS) as (keyof typeof ROOMS)[];
  // Each room's methods are given that room's part, as `OperationParts` pairs them.
  return rooms.flatMap((room) => operationsOn(ROOMS[room] as OperationsOn<unknown>, parts[room]));
}
