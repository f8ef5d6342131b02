/** The configuration, its folders, and who may read its secrets. */
import { join } from 'node:path';
import type { FileFacts, MachineUser } from '../../host/machine-facts.ts';
import { type Check, fault, good, type Patient, warning, withConfig } from './checkup.ts';

const READ = 4;
const WRITE = 2;
const OTHERS = 0o077;
const SECRET_FILES = ['credentials.json', 'credentials.backup.json'] as const;

export const CONFIG_CHECKS: readonly Check[] = [
  {
    id: 'configuration',
    title: 'the configuration is right',
    look: ({ read, configFile }) => {
      const [first, ...others] = read.faults;
      if (first === undefined) return good(`${configFile} has no fault`);
      const more = others.length === 0 ? '' : `, and ${others.length} more`;
      return fault(
        `line ${first.line}: ${first.path}: ${first.problem}${first.value === undefined ? '' : ` ${first.value}`}${more}`,
        `turnstone check-config ${configFile} lists every fault`,
      );
    },
  },
  {
    id: 'configuration-warnings',
    title: 'the configuration has no weak spot',
    look: ({ read, configFile }) => {
      const [first] = read.warnings;
      if (read.config === undefined || first === undefined) return undefined;
      return warning(
        `line ${first.line}: ${first.problem}, expected ${first.expected}`,
        `change it, then turnstone check-config ${configFile}`,
      );
    },
  },
  {
    id: 'state-folder',
    title: 'the state folder can be written',
    look: withConfig(async ({ stateFolder }, { machine, serviceUser }) => {
      const folder = await machine.file(stateFolder);
      if (folder === undefined) return fault(`${stateFolder} is not there`, `install -d -m 750 ${owner(serviceUser)} ${stateFolder}`);
      if (may(serviceUser, folder, WRITE)) {
        // What a command left that somebody ran as root.
        for (const path of await machine.under(stateFolder)) {
          const found = await machine.file(path);
          if (found === undefined || may(serviceUser, found, WRITE)) continue;
          return fault(`user ${serviceUser?.name} cannot write in ${path}`, `chown -R ${serviceUser?.name}: ${stateFolder}`);
        }
        return good(`${stateFolder} belongs to ${folder.group}`);
      }
      return fault(`user ${serviceUser?.name} cannot write in ${stateFolder}`, `chown -R ${serviceUser?.name}: ${stateFolder}`);
    }),
  },
  {
    id: 'secrets',
    title: 'nobody else can read the credentials',
    look: withConfig(async ({ stateFolder }, { machine }) => {
      for (const name of SECRET_FILES) {
        const path = join(stateFolder, name);
        const file = await machine.file(path);
        if (file !== undefined && (file.mode & OTHERS) !== 0)
          return fault(`${path} can be read by others (mode ${file.mode.toString(8)})`, `chmod 600 ${path}`);
      }
      return good('credentials are for the service user only');
    }),
  },
  {
    id: 'config-readable',
    title: 'the service can read its configuration',
    look: async ({ configFile, machine, serviceUser }: Patient) => {
      const file = await machine.file(configFile);
      if (file === undefined) return fault(`${configFile} is not there`, 'turnstone init writes one');
      if (may(serviceUser, file, READ)) return good('yes');
      return fault(
        `user ${serviceUser?.name} cannot read ${configFile}`,
        `chgrp ${serviceUser?.name} ${configFile} && chmod 640 ${configFile}`,
      );
    },
  },
];

/** Whether a user may do something with a file, by its permission bits; root may everything. */
export function may(user: MachineUser | undefined, file: FileFacts, what: number): boolean {
  if (user === undefined || user.uid === 0) return true;
  const shift = user.uid === file.uid ? 6 : user.groupIds.includes(file.gid) ? 3 : 0;
  return ((file.mode >> shift) & what) === what;
}

function owner(user: MachineUser | undefined): string {
  return user === undefined ? '' : `-o ${user.name} -g ${user.name}`;
}
