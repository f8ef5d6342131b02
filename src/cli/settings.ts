/** Shows and changes the answers that a technician gives to every gateway. */

import { printable } from '../names/printable.ts';
import type { ChangeCall, ListSettingsCall, SetCall } from './commands/settings.ts';
import { changeSetting, readSettings, settingsFile } from './settings-file.ts';
import { SETTING_KEYS, settingKey, settingValue } from './settings-keys.ts';

export async function listSettings({ edge, print }: ListSettingsCall): Promise<void> {
  const file = settingsFile(edge.environment) ?? null;
  const settings = await readSettings(edge.environment);
  const { bold, dim } = print.style;
  print.result({ file, settings }, () => {
    const rows = SETTING_KEYS.map((key) => [
      key,
      settings[key] === undefined ? dim('not set') : bold(printable(settings[key])),
    ]);
    return `${print.table(rows)}${file === null ? '' : dim(`kept in ${file}\n`)}`;
  });
}

export async function setSetting({ args, edge, print }: SetCall): Promise<void> {
  const key = settingKey(args.key);
  const value = settingValue(key, args.value);
  const file = await changeSetting(key, value, edge.environment);
  print.result({ file, key, value }, () => `${key} is ${printable(value)}\n`);
}

export async function unsetSetting({ args, edge, print }: ChangeCall): Promise<void> {
  const key = settingKey(args.key);
  const file = await changeSetting(key, undefined, edge.environment);
  print.result({ file, key }, () => `${key} is not set\n`);
}
