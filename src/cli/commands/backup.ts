/** Commands that put a whole gateway into one file, and take it out again. */

import { argument, type Call, CONFIG, command, PASSPHRASE_FILE, toggle } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const FILE = { file: argument('') };
const BACKUP_OPTIONS = { config: CONFIG, passphraseFile: PASSPHRASE_FILE };
const RESTORE_OPTIONS = {
  config: CONFIG,
  passphraseFile: PASSPHRASE_FILE,
  replace: toggle('give up the identity and the configuration that are here'),
  finish: toggle('go on with a restore that was cut off; without FILE'),
};
const RESTORE_FILE = { file: argument('', { byDefault: '' }) };
export type BackupCall = Call<typeof BACKUP_OPTIONS, typeof FILE>;
export type RestoreCall = Call<typeof RESTORE_OPTIONS, typeof RESTORE_FILE>;

export const BACKUP = command('backup', {
  says: SENTENCES.backup,
  arguments: FILE,
  options: BACKUP_OPTIONS,
  examples: ['backup gateway-7.backup', 'backup gateway-7.backup --passphrase-file /root/passphrase'],
  notes: `\
In it: the configuration with what lies beside it (models, presets, drivers, credentials, certificates), the identity, the devices that are
attached with their tokens, settings from afar, and totals of counters. The agent may run meanwhile.
Not in it: readings that wait for delivery (turnstone outbox export), how outputs are, and the log.`,
  run: async (call) => (await import('../backup.ts')).backup(call),
});

export const RESTORE = command('restore', {
  says: SENTENCES.restore,
  arguments: RESTORE_FILE,
  options: RESTORE_OPTIONS,
  examples: ['restore gateway-7.backup', 'restore gateway-7.backup --replace', 'restore --finish'],
  notes: `\
The agent is to be stopped (systemctl stop turnstone). The file is checked before anything is written. A power cut leaves what was, or a
restore that sudo turnstone restore --finish ends; until then the service does not start, and the doctor says so.
With --replace of another device, what that one kept is set aside, in names with of-former-device.
The board that was this gateway stands back when it returns, as after turnstone identity import.`,
  run: async (call) => (await import('../restore.ts')).restore(call),
});
