/** Checks that the service can write its state folder, and everything in it. */
import { configCheck, fault, good, may } from './checkup.ts';

export const stateFolder = configCheck('state-folder', 'the state folder can be written', async ({ stateFolder }, context) => {
  const { machine, serviceUser } = context;
  const folder = await machine.file(stateFolder);
  const owner = serviceUser === undefined ? '' : `-o ${serviceUser.name} -g ${serviceUser.name}`;
  if (folder === undefined) return fault(`${stateFolder} is not there`, `install -d -m 750 ${owner} ${stateFolder}`);
  // Below it may lie what a command left that somebody ran as root.
  for (const path of [stateFolder, ...(await machine.under(stateFolder))]) {
    const found = await machine.file(path);
    if (found === undefined || may(serviceUser, 'write', found)) continue;
    return fault(`user ${serviceUser?.name} cannot write in ${path}`, `chown -R ${serviceUser?.name}: ${stateFolder}`);
  }
  return good(`${stateFolder} belongs to ${folder.group}`);
});
