/** All planted faults. */
import { AFAR_FAULTS } from './afar.ts';
import { ATTACHED_FAULTS } from './attached.ts';
import { DELIVERY_FAULTS } from './delivery.ts';
import { DISK_FAULTS } from './disk.ts';
import type { PlantedFault } from './fault.ts';
import { LIFE_FAULTS } from './life.ts';
import { LINK_FAULTS } from './link.ts';
import { MODBUS_FAULTS } from './modbus.ts';
import { MOVEMENT_FAULTS } from './movement.ts';
import { RECORD_FAULTS } from './record.ts';
import { RPC_FAULTS } from './rpc.ts';
import { TIME_FAULTS } from './time.ts';
import { VALUES_FAULTS } from './values.ts';
import { WISH_COUNTER_AND_IDENTITY_FAULTS } from './wishes-and-identity.ts';
import { WORDS_FAULTS } from './words.ts';

export const FAULTS: readonly PlantedFault[] = [
  ...MOVEMENT_FAULTS,
  ...RPC_FAULTS,
  ...DELIVERY_FAULTS,
  ...ATTACHED_FAULTS,
  ...TIME_FAULTS,
  ...DISK_FAULTS,
  ...LIFE_FAULTS,
  ...LINK_FAULTS,
  ...MODBUS_FAULTS,
  ...WISH_COUNTER_AND_IDENTITY_FAULTS,
  ...VALUES_FAULTS,
  ...RECORD_FAULTS,
  ...WORDS_FAULTS,
  ...AFAR_FAULTS,
];
