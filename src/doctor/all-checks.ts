/** Every check of the doctor, in the order in which a person would look. */

import type { Check } from './checks/checkup.ts';
import {
  configReadable,
  configuration,
  configurationWarnings,
  cutRestore,
  remoteConfiguration,
  secrets,
  stateFolder,
} from './checks/configuration-checks.ts';
import { otherDevices } from './checks/devices-check.ts';
import { dropIns } from './checks/drop-in-check.ts';
import { actuators, devices, permissions, sensors, sharedPorts } from './checks/hardware-checks.ts';
import { kernelDrivers } from './checks/kernel-checks.ts';
import { clock, diskHealth, diskSpace, memory, storageLife, wear } from './checks/machine-checks.ts';
import { dns, proxy, reachable, route, tls, token } from './checks/network-checks.ts';
import { page } from './checks/page-check.ts';
import { agent, alerts, firmware, link, lockout, outbox, unit, uploads, watchdog } from './checks/service-checks.ts';

const CONFIGURATION = [
  cutRestore,
  configuration,
  configurationWarnings,
  stateFolder,
  secrets,
  configReadable,
  remoteConfiguration,
];
const HARDWARE = [devices, permissions, sharedPorts, kernelDrivers, dropIns, sensors, actuators];
const NETWORK = [dns, route, proxy, reachable, tls, token];
const MACHINE = [clock, diskSpace, diskHealth, storageLife, wear, memory];
const SERVICE = [unit, watchdog, agent, uploads, otherDevices, outbox, link, firmware, lockout, page, alerts];

export const CHECKS: readonly Check[] = [...CONFIGURATION, ...HARDWARE, ...NETWORK, ...MACHINE, ...SERVICE];
