/** Checks that the service can read its configuration. */
import { resolve } from 'node:path';
import { check, fault, good, may } from './checkup.ts';

export const configReadable = check('config-readable', 'the service can read its configuration', async (context) => {
  const { configFile, machine, serviceUser } = context;
  const file = await machine.file(resolve(configFile));
  if (file === undefined) return fault(`${configFile} is not there`, 'turnstone init writes one');
  if (may(serviceUser, 'read', file)) return good('yes');
  const remedy = `chgrp ${serviceUser?.name} ${configFile} && chmod 640 ${configFile}`;
  return fault(`user ${serviceUser?.name} cannot read ${configFile}`, remedy);
});
