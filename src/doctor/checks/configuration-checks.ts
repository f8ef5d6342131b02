/** Checks of the configuration, and of the folders and files that go with it. */
import { join, resolve } from 'node:path';
import { formatDuration } from '../../config/fields/quantity.ts';
import { restorePlanPath } from '../../config/restore-plan-path.ts';
import { check, configCheck, fault, good, may, unknown, warning } from './checkup.ts';

export const configuration = check(
  'configuration',
  'the configuration is right',
  ({ read, configFile, isForbidden }) => {
    if (isForbidden) return fault(`this user may not read ${configFile}`, 'sudo turnstone doctor');
    const [first, ...others] = read.faults;
    if (first === undefined) return good(`${configFile} has no fault`);
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    const place = first.path === '' ? '' : `${first.path}: `;
    const value = first.value === undefined ? '' : ` ${first.value}`;
    const remedy = `turnstone check-config ${configFile} lists every fault`;
    return fault(`line ${first.line}: ${place}${first.problem}${value}${more}`, remedy);
  },
);

export const configurationWarnings = check(
  'configuration-warnings',
  'the configuration has no weak spot',
  ({ read, configFile }) => {
    const [first] = read.warnings;
    if (read.config === undefined || first === undefined) return undefined;
    const remedy = `change it, then turnstone check-config ${configFile}`;
    return warning(`line ${first.line}: ${first.problem}, expected ${first.expected}`, remedy);
  },
);

export const stateFolder = configCheck(
  'state-folder',
  'the state folder can be written',
  async ({ stateFolder }, context) => {
    const { machine, serviceUser } = context;
    const folder = await machine.file(stateFolder);
    const owner = serviceUser === undefined ? '' : `-o ${serviceUser.name} -g ${serviceUser.name}`;
    if (folder === undefined) return fault(`${stateFolder} is not there`, `install -d -m 750 ${owner} ${stateFolder}`);
    // Below it may lie what a command left that somebody ran as root.
    for (const path of [stateFolder, ...(await machine.under(stateFolder))]) {
      const found = await machine.file(path);
      if (found === undefined || may(serviceUser, 'write', found)) continue;
      return fault(
        `user ${serviceUser?.name} cannot write in ${path}`,
        `chown -R ${serviceUser?.name}: ${stateFolder}`,
      );
    }
    return good(`${stateFolder} belongs to ${folder.group}`);
  },
);

const OTHERS = 0o077;
const SECRET_FILES = ['credentials.json', 'credentials.backup.json'] as const;

export const secrets = configCheck(
  'secrets',
  'nobody else can read the credentials',
  async ({ stateFolder }, { machine }) => {
    for (const name of SECRET_FILES) {
      const path = join(stateFolder, name);
      const file = await machine.file(path);
      if (file !== undefined && (file.mode & OTHERS) !== 0)
        return fault(`${path} can be read by others (mode ${file.mode.toString(8)})`, `chmod 600 ${path}`);
    }
    return good('credentials are for the service user only');
  },
);

export const configReadable = check('config-readable', 'the service can read its configuration', async (context) => {
  const { configFile, machine, serviceUser, isForbidden } = context;
  const file = await machine.file(resolve(configFile));
  if (file === undefined && isForbidden) return unknown('only a user who may enter its folder can tell');
  if (file === undefined) return fault(`${configFile} is not there`, 'turnstone init writes one');
  if (may(serviceUser, 'read', file)) return good('yes');
  const remedy = `chgrp ${serviceUser?.name} ${configFile} && chmod 640 ${configFile}`;
  return fault(`user ${serviceUser?.name} cannot read ${configFile}`, remedy);
});

/** Unit that puts a configuration on trial into place, and brings the one of before back. */
const HELPER = 'turnstone-helper.path';

export const remoteConfiguration = configCheck(
  'remote-configuration',
  'it is clear what may be changed from afar',
  async ({ remoteConfiguration: { enabled, allow, trialMs } }, { machine }, signal) => {
    if (!enabled) return good('nothing: remoteConfiguration.enabled is false');
    const helper = await machine.unit(HELPER, signal);
    if (helper === undefined) return unknown('systemd does not tell whether the helper of root is there');
    if (helper.active !== 'active')
      return warning(
        `nothing, as ${HELPER} is not active: only root's helper changes the file`,
        `systemctl enable --now ${HELPER}; where it is not installed, run install.sh of the release`,
      );
    const more = allow.length === 0 ? '' : `, and by remoteConfiguration.allow also ${allow.join(', ')}`;
    return good(
      `settings that guard neither people nor machines${more}; each change has ${formatDuration(trialMs)} to prove itself`,
    );
  },
);

export const cutRestore = check('restore', 'no restore was cut off', async ({ configFile, machine }) => {
  const plan = restorePlanPath(resolve(configFile));
  if ((await machine.file(plan)) === undefined) return undefined;
  return fault(`${plan} is not written out yet, and no agent starts until it is`, 'sudo turnstone restore --finish');
});
