/** All that may befall a world. */
import { AFAR_TROUBLES } from './troubles/afar.ts';
import { CLOCK_TROUBLES } from './troubles/clock.ts';
import { DISK_TROUBLES } from './troubles/disk.ts';
import { FIELD_TROUBLES, RARE_FIELD_TROUBLES } from './troubles/field.ts';
import { FIRMWARE_TROUBLES } from './troubles/firmware.ts';
import { IDENTITY_TROUBLES } from './troubles/identity.ts';
import { LASTING_NETWORK_TROUBLES, NETWORK_TROUBLES } from './troubles/network.ts';
import { LASTING_PLATFORM_TROUBLES, PLATFORM_TROUBLES } from './troubles/platform.ts';
import { POWER_TROUBLES } from './troubles/power.ts';
import type { Trouble } from './troubles/stroke.ts';
import { TECHNICIAN_TROUBLES } from './troubles/technician.ts';

export const TROUBLES: readonly Trouble[] = [
  ...POWER_TROUBLES,
  ...DISK_TROUBLES,
  ...CLOCK_TROUBLES,
  ...NETWORK_TROUBLES,
  ...PLATFORM_TROUBLES,
  ...FIELD_TROUBLES,
  ...TECHNICIAN_TROUBLES,
];

/** Each comes in some worlds only, and is drawn by itself. */
export const RARE_TROUBLES: readonly Trouble[] = [
  ...IDENTITY_TROUBLES,
  ...FIRMWARE_TROUBLES,
  ...LASTING_NETWORK_TROUBLES,
  ...LASTING_PLATFORM_TROUBLES,
  ...RARE_FIELD_TROUBLES,
];

/** Planned apart, in worlds that have what they need. */
export const TROUBLES_APART: readonly Trouble[] = AFAR_TROUBLES;
