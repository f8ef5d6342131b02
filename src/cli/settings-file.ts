/**
 * The settings of the person who types, in the folder of their own that `conf` gives a project called turnstone. `conf` writes them; they are
 * read without it, as loading it takes over signals: a command that was interrupted would end before it has cleaned up.
 */
import { dirname, join } from 'node:path';
import { AgentError, systemCode } from '../errors/agent-error.ts';
import type { Environment } from '../host/environment.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import { readUserFile } from '../host/whole-file.ts';
import { isJsonObject, type JsonObject, parseJson } from '../values/json.ts';
import { CommandError } from './exit-code.ts';
import { SETTING_KEYS, type SettingKey, type Settings, settingValue } from './settings-keys.ts';

const MAX_FILE_BYTES = 64 * 1_024;
const FILE_MODE = 0o600;

/** Where the settings are; undefined for a process that belongs to no person, as a service does. */
export function settingsFile({ XDG_CONFIG_HOME = '', HOME = '' }: Environment): string | undefined {
  const folder = XDG_CONFIG_HOME !== '' || HOME === '' ? XDG_CONFIG_HOME : join(HOME, '.config');
  return folder === '' ? undefined : join(folder, 'turnstone-nodejs', 'config.json');
}

/** Every setting that has a value. @throws CommandError that names the file, and the key that is wrong in it. */
export async function readSettings(environment: Environment): Promise<Settings> {
  const file = settingsFile(environment);
  const bytes = file === undefined ? undefined : await readUserFile(file, MAX_FILE_BYTES);
  if (file === undefined || bytes === undefined) return {};
  const kept = parsed(bytes, file);
  return Object.fromEntries(
    SETTING_KEYS.filter((key) => Object.hasOwn(kept, key)).map((key) => [key, checked(key, kept[key], file)]),
  );
}

/** The same for a command that can do without: a home that this user may not enter, or that is none, as services have, is nobody's. */
export async function settingsAsDefaults(environment: Environment): Promise<Settings> {
  return readSettings(environment).catch((error: unknown) => {
    if (error instanceof AgentError && ['EACCES', 'ENOTDIR'].includes(systemCode(error.cause) ?? '')) return {};
    throw error;
  });
}

/** Keeps one value, or with undefined removes it; resolves to the file. @throws CommandError when it cannot be written. */
export async function changeSetting(
  key: SettingKey,
  value: string | undefined,
  environment: Environment,
): Promise<string> {
  const file = settingsFile(environment);
  if (file === undefined)
    throw new CommandError('there is no folder for settings', { nextStep: 'set HOME or XDG_CONFIG_HOME' });
  await actAsOwnerOfWay(file);
  const bytes = await readUserFile(file, MAX_FILE_BYTES);
  if (bytes === undefined && value === undefined) return file;
  if (bytes !== undefined) parsed(bytes, file);
  const { default: Conf } = await import('conf');
  try {
    const store = new Conf<Record<string, unknown>>({
      cwd: dirname(file),
      configFileMode: FILE_MODE,
      accessPropertiesByDotNotation: false,
    });
    if (value === undefined) store.delete(key);
    else store.set(key, value);
  } catch (cause) {
    throw new CommandError(`cannot write ${file}: ${systemCode(cause) ?? 'unknown fault'}`, { cause });
  }
  return file;
}

function parsed(bytes: Buffer, file: string): JsonObject {
  const tree = parseOrNothing(bytes);
  if (isJsonObject(tree)) return tree;
  throw new CommandError(`the settings in ${file} are damaged`, { nextStep: 'mend the file or delete it' });
}

function parseOrNothing(bytes: Buffer): unknown {
  try {
    return parseJson(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function checked(key: SettingKey, value: unknown, file: string): string {
  try {
    return settingValue(key, value);
  } catch (cause) {
    if (!(cause instanceof CommandError)) throw cause;
    throw new CommandError(`${file}: ${cause.message}`, { nextStep: `turnstone settings unset ${key}`, cause });
  }
}
