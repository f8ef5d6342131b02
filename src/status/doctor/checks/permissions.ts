/** Checks that the service may use every bus and port. */
import { configCheck, fault, good, may } from './checkup.ts';
import { neededDevices } from './needed-devices.ts';

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
