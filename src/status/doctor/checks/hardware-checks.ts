/** Checks that every bus, port, sensor and actuator is there, and that the service may use it. */
import { agentCheck, configCheck, fault, good, may } from './checkup.ts';
import { neededDevices } from './needed-devices.ts';

export const devices = configCheck('devices', 'every bus and port is there', async (config, { machine }) => {
  const needed = neededDevices(config);
  if (needed.length === 0) return undefined;
  for (const { path, enable } of needed) if ((await machine.file(path)) === undefined) return fault(`${path} is not there`, enable);
  return good(needed.map(({ path }) => path).join(', '));
});

export const permissions = configCheck('permissions', 'the service may use every bus and port', async (config, context) => {
  const { machine, serviceUser } = context;
  const needed = neededDevices(config).filter(({ path }) => path.startsWith('/dev/'));
  if (needed.length === 0) return undefined;
  for (const { path } of needed) {
    const file = await machine.file(path);
    if (file === undefined || may(serviceUser, 'read and write', file)) continue;
    const remedy = `usermod -aG ${file.group} ${serviceUser?.name}, then systemctl restart turnstone; the installer's udev rules do the same`;
    return fault(`user ${serviceUser?.name} may not use ${path} (group ${file.group}, mode ${file.mode.toString(8)})`, remedy);
  }
  return good(serviceUser === undefined ? 'for this user' : `for user ${serviceUser.name}`);
});

export const actuators = agentCheck('actuators', 'every actuator is known to be where it should', ({ actuators: all }) => {
  const lost = all.find((actuator) => actuator.fault !== undefined);
  if (lost === undefined) return all.length === 0 ? undefined : good(`${all.length} answer`);
  const remedy = 'check its wiring and its section in the configuration; turnstone actuate tries it';
  return fault(`${lost.name} (${lost.kind}): ${lost.fault}`, remedy);
});
