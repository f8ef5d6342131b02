/** Every check of the doctor, each of a file of its own, in the order in which a person would look. */

import { actuators } from './checks/actuators.ts';
import { agent } from './checks/agent.ts';
import { alerts } from './checks/alerts.ts';
import type { Check } from './checks/checkup.ts';
import { clock } from './checks/clock.ts';
import { configReadable } from './checks/config-readable.ts';
import { configuration } from './checks/configuration.ts';
import { configurationWarnings } from './checks/configuration-warnings.ts';
import { devices } from './checks/devices.ts';
import { diskHealth } from './checks/disk-health.ts';
import { diskSpace } from './checks/disk-space.ts';
import { dns } from './checks/dns.ts';
import { firmware } from './checks/firmware.ts';
import { lockout } from './checks/lockout.ts';
import { memory } from './checks/memory.ts';
import { outbox } from './checks/outbox.ts';
import { permissions } from './checks/permissions.ts';
import { proxy } from './checks/proxy.ts';
import { reachable } from './checks/reachable.ts';
import { route } from './checks/route.ts';
import { secrets } from './checks/secrets.ts';
import { sensors } from './checks/sensors.ts';
import { stateFolder } from './checks/state-folder.ts';
import { storageLife } from './checks/storage-life.ts';
import { tls } from './checks/tls.ts';
import { token } from './checks/token.ts';
import { unit } from './checks/unit.ts';
import { uploads } from './checks/uploads.ts';
import { watchdog } from './checks/watchdog.ts';
import { wear } from './checks/wear.ts';

const CONFIGURATION = [configuration, configurationWarnings, stateFolder, secrets, configReadable];
const HARDWARE = [devices, permissions, sensors, actuators];
const NETWORK = [dns, route, proxy, reachable, tls, token];
const MACHINE = [clock, diskSpace, diskHealth, storageLife, wear, memory];
const SERVICE = [unit, watchdog, agent, uploads, outbox, firmware, lockout, alerts];

export const CHECKS: readonly Check[] = [...CONFIGURATION, ...HARDWARE, ...NETWORK, ...MACHINE, ...SERVICE];
