/** The example that an installation makes a first configuration of: as long as nobody has changed it, it configures nothing. */
import { basename, dirname, join } from 'node:path';
import type { Files } from '../host/files.ts';
import { readWhole } from '../host/whole-file.ts';

const NAMES = ['provisioning.example.yaml', 'turnstone.example.yaml'];
/** Folders in which the package and the installer keep what they shipped, beside that of the configuration. */
const FOLDERS = ['/usr/share/turnstone', '/opt/turnstone/current/config'];

/** Tells if a configuration is a shipped example, byte for byte; the example itself, under its own name, is none. */
export async function isShippedExample(
  configFile: string,
  files: Files,
  folders: readonly string[] = FOLDERS,
): Promise<boolean> {
  if (NAMES.includes(basename(configFile))) return false;
  const read = (path: string) => readWhole(files, path, { follow: true }).catch(() => undefined);
  const present = await read(configFile);
  if (present === undefined) return false;
  const shipped = [dirname(configFile), ...folders].flatMap((folder) => NAMES.map((name) => join(folder, name)));
  for (const path of shipped) if ((await read(path))?.equals(present) === true) return true;
  return false;
}
