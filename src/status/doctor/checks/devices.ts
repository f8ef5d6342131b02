/** Checks that every bus and port that the configuration names is there. */
import { configCheck, fault, good } from './checkup.ts';
import { neededDevices } from './needed-devices.ts';

export const devices = configCheck('devices', 'every bus and port is there', async (config, { machine }) => {
  const needed = neededDevices(config);
  if (needed.length === 0) return undefined;
  for (const { path, enable } of needed) if ((await machine.file(path)) === undefined) return fault(`${path} is not there`, enable);
  return good(needed.map(({ path }) => path).join(', '));
});
