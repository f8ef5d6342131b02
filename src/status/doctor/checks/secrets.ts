/** Checks that nobody but the service can read the credentials. */
import { join } from 'node:path';
import { configCheck, fault, good } from './checkup.ts';

const OTHERS = 0o077;
const SECRET_FILES = ['credentials.json', 'credentials.backup.json'] as const;

export const secrets = configCheck('secrets', 'nobody else can read the credentials', async ({ stateFolder }, { machine }) => {
  for (const name of SECRET_FILES) {
    const path = join(stateFolder, name);
    const file = await machine.file(path);
    if (file !== undefined && (file.mode & OTHERS) !== 0)
      return fault(`${path} can be read by others (mode ${file.mode.toString(8)})`, `chmod 600 ${path}`);
  }
  return good('credentials are for the service user only');
});
