/** Whether the service can write its state folder, and everything in it. */
import type { MachineUser } from '../../../host/machine-facts.ts';
import { configCheck, fault, good, may } from '../checkup.ts';

const WRITE = 2;

export const stateFolder = configCheck(
  'state-folder',
  'the state folder can be written',
  async ({ stateFolder }, { machine, serviceUser }) => {
    const folder = await machine.file(stateFolder);
    if (folder === undefined) return fault(`${stateFolder} is not there`, `install -d -m 750 ${owner(serviceUser)} ${stateFolder}`);
    // Below it may lie what a command left that somebody ran as root.
    for (const path of [stateFolder, ...(await machine.under(stateFolder))]) {
      const found = await machine.file(path);
      if (found === undefined || may(serviceUser, found, WRITE)) continue;
      return fault(`user ${serviceUser?.name} cannot write in ${path}`, `chown -R ${serviceUser?.name}: ${stateFolder}`);
    }
    return good(`${stateFolder} belongs to ${folder.group}`);
  },
);

function owner(user: MachineUser | undefined): string {
  return user === undefined ? '' : `-o ${user.name} -g ${user.name}`;
}
