/** Whether the service can read its configuration. */
import { check, fault, good, may } from '../checkup.ts';

const READ = 4;

export const configReadable = check(
  'config-readable',
  'the service can read its configuration',
  async ({ configFile, machine, serviceUser }) => {
    const file = await machine.file(configFile);
    if (file === undefined) return fault(`${configFile} is not there`, 'turnstone init writes one');
    if (may(serviceUser, file, READ)) return good('yes');
    return fault(
      `user ${serviceUser?.name} cannot read ${configFile}`,
      `chgrp ${serviceUser?.name} ${configFile} && chmod 640 ${configFile}`,
    );
  },
);
