/** Files of device models and presets: those of the release, and a person's own in the folder of that name beside the configuration, which come first. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface ModelFile {
  /** Without `.yaml`. */
  readonly name: string;
  readonly path: string;
  /** Written by a person, not shipped. */
  readonly isOwn: boolean;
}

/** In a bundle they lie beside the main file; in a checkout with the sources. */
const IN_SOURCES = {
  models: '../sensors/modbus/models',
  presets: '../sensors/serial-line/presets',
  lists: '../sensors/dlms/lists',
} as const;
/** Names of the folders beside a configuration in which a person's own files are. */
export const MODEL_FOLDERS = ['models', 'presets'] as const;
const IS_BUNDLE = process.env.TURNSTONE_VERSION !== undefined;
/** More is no folder of models. */
const MAX_FILES = 1_000;
const FILE = /^([a-z0-9][a-z0-9-]{0,62})\.yaml$/;

/** The files by name, those of the person first; reads none of them. */
export async function modelFiles(
  configFile: string,
  folder: keyof typeof IN_SOURCES = 'models',
): Promise<readonly ModelFile[]> {
  return [...(await filesIn(join(dirname(configFile), folder), true)), ...(await shippedFiles(folder))];
}

/** Those of the release alone. */
export function shippedFiles(folder: keyof typeof IN_SOURCES): Promise<readonly ModelFile[]> {
  return filesIn(join(import.meta.dirname, IS_BUNDLE ? folder : IN_SOURCES[folder]), false);
}

async function filesIn(folder: string, isOwn: boolean): Promise<readonly ModelFile[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return names
    .sort()
    .slice(0, MAX_FILES)
    .flatMap((entry) => {
      const name = FILE.exec(entry)?.[1];
      return name === undefined ? [] : [{ name, path: join(folder, entry), isOwn }];
    });
}
