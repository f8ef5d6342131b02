/** The one table of what may be asked of an agent: what is declared beside it, joined to what it works on. */

import { ALARM_OPERATIONS } from './alarm-operations.ts';
import { CONFIGURATION_OPERATIONS } from './configuration-operations.ts';
import { CREDENTIAL_OPERATIONS } from './credential-operations.ts';
import { DELIVERY_OPERATIONS } from './delivery-operations.ts';
import { DEVICE_OPERATIONS } from './device-operations.ts';
import { FIRMWARE_OPERATIONS } from './firmware-operations.ts';
import { IDENTITY_OPERATIONS } from './identity-operations.ts';
import { LOCAL_OPERATIONS } from './local-operations.ts';
import { mayAsk } from './may-ask.ts';
import { type Operation, type OperationsOn, operationsOn, TABLE_OPERATIONS } from './operation.ts';
import { OUTBOX_OPERATIONS } from './outbox-operations.ts';
import { OUTPUT_OPERATIONS } from './output-operations.ts';
import { PART_OPERATIONS } from './part-operations.ts';
import { RESTART_OPERATIONS } from './restart-operations.ts';
import { SENSOR_OPERATIONS } from './sensor-operations.ts';
import { SETTING_OPERATIONS } from './setting-operations.ts';
import { STATUS_OPERATIONS } from './status-operations.ts';
import { TIMELINE_OPERATIONS } from './timeline-operations.ts';

const TABLE = {
  status: STATUS_OPERATIONS,
  sensors: SENSOR_OPERATIONS,
  parts: PART_OPERATIONS,
  alarms: ALARM_OPERATIONS,
  outbox: OUTBOX_OPERATIONS,
  deliveries: DELIVERY_OPERATIONS,
  settings: SETTING_OPERATIONS,
  restarts: RESTART_OPERATIONS,
  configurations: CONFIGURATION_OPERATIONS,
  actuators: OUTPUT_OPERATIONS,
  credentials: CREDENTIAL_OPERATIONS,
  identity: IDENTITY_OPERATIONS,
  devices: DEVICE_OPERATIONS,
  firmware: FIRMWARE_OPERATIONS,
  timeline: TIMELINE_OPERATIONS,
  local: LOCAL_OPERATIONS,
};

/** Parts that the operations work on. */
export type OperationParts = {
  readonly [Part in keyof typeof TABLE]: (typeof TABLE)[Part] extends OperationsOn<infer Given> ? Given : never;
};

/** Returns the rows on the parts that are there. */
export function operationsOf(parts: Partial<OperationParts>): readonly Operation[] {
  const present = (Object.keys(TABLE) as (keyof typeof TABLE)[]).filter((name) => parts[name] !== undefined);
  // Each group is given its own part, as `OperationParts` pairs them.
  return present.flatMap((name) => operationsOn(TABLE[name] as OperationsOn<unknown>, parts[name]));
}

/** Names of what the platform may ask for; the method table adds its own. */
export const PLATFORM_OPERATIONS: readonly string[] = [...Object.values(TABLE), TABLE_OPERATIONS]
  // Rows without their parts say who may ask, and are not run.
  .flatMap((group) => operationsOn(group as OperationsOn<unknown>, {}))
  .filter((row) => mayAsk('platform', row))
  .map(({ name }) => name);
