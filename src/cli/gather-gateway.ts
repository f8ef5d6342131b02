/** Gathers what makes a gateway: its configuration with what lies beside it, and what its state folder knows of who it is. */
import { basename, dirname, join, relative, resolve } from 'node:path';
import { ENVIRONMENT_NAME } from '../config/environment-file.ts';
import { expandTemplates } from '../config/expand-templates.ts';
import { foldersIn, readConfigBytes } from '../config/peek-config.ts';
import { configSchema } from '../config/schema/agent-config.ts';
import { visitFields } from '../config/schema/schema-walk.ts';
import { withEnvironment } from '../config/secret-sources.ts';
import { readYaml } from '../config/yaml/yaml-source.ts';
import { CREDENTIALS_FILES } from '../devices/credentials-files.ts';
import { parseCredentials } from '../devices/credentials-record.ts';
import { KNOWN_DEVICES } from '../devices/forget-devices.ts';
import { refusal, systemCode } from '../errors/agent-error.ts';
import type { Environment } from '../host/environment.ts';
import { type Files, isMissing } from '../host/files.ts';
import { readWhole } from '../host/whole-file.ts';
import { asOwnerOf } from './as-owner.ts';
import {
  type ArchivedFile,
  type ArchivePlace,
  CREDENTIALS_NAME,
  isArchivable,
  MAX_ARCHIVED_BYTES,
  MAX_ARCHIVED_FILES,
} from './gateway-archive.ts';

export interface GatheredGateway {
  readonly configFolder: string;
  readonly configName: string;
  readonly stateFolder: string;
  readonly files: readonly ArchivedFile[];
  /** Files that the configuration names and that lie elsewhere, or whose names an archive does not hold. */
  readonly left: readonly string[];
  /** Folders whose credentials are there and cannot be understood. */
  readonly spoilt: readonly string[];
}

/** Folders beside the configuration that are of it. */
const CONFIG_FOLDERS = ['models', 'presets', 'drivers', 'credentials', 'trusted-keys'];
/** Variables of `${…}`. */
const CONFIG_FILES = [ENVIRONMENT_NAME];
/** Settings from afar, and names that only this gateway knows; how outputs are now belongs to the moment. */
const STATE_FILES = ['device-names.json', 'shared-attributes.json'];
const STATE_FOLDERS = ['counters'];
/** Beside the credentials of an attached device. */
const DEVICE_FILES = ['shared-attributes.json'];
const MAX_DEPTH = 4;
const MODE_BITS = 0o755;

interface Found {
  readonly files: Files;
  readonly archived: Map<string, ArchivedFile>;
  readonly left: Set<string>;
  readonly spoilt: string[];
  readonly onFile: (count: number) => void;
}

/**
 * Tells how many files it has after each.
 * @throws AgentError `config/unreadable`, `host/read-failed`; what the system says of a folder that may not be read.
 */
export async function gatherGateway(
  configFile: string,
  environment: Environment,
  files: Files,
  onFile: (count: number) => void = () => {},
): Promise<GatheredGateway> {
  const file = resolve(configFile);
  const [configFolder, configName] = [dirname(file), basename(file)];
  const found: Found = { files, archived: new Map(), left: new Set(), spoilt: [], onFile };
  const { stateFolder } = foldersIn(await readConfigBytes(file), environment);
  await asOwnerOf(configFolder, () => gatherConfig(found, file, environment));
  await asOwnerOf(stateFolder, () => gatherState(found, stateFolder));
  const { archived, left, spoilt } = found;
  return { configFolder, configName, stateFolder, files: [...archived.values()], left: [...left], spoilt };
}

async function gatherConfig(found: Found, file: string, environment: Environment): Promise<void> {
  const folder = dirname(file);
  const bytes = await readConfigBytes(file);
  await take(found, 'configuration', folder, basename(file));
  for (const name of CONFIG_FILES) await take(found, 'configuration', folder, name);
  for (const name of CONFIG_FOLDERS) await takeFolder(found, 'configuration', folder, name);
  for (const named of namedFiles(bytes, environment)) {
    const path = relative(folder, named);
    if (/^\.\.(\/|$)/.test(path)) found.left.add(named);
    else await take(found, 'configuration', folder, path);
  }
}

/** Absolute paths of files that a configuration names. */
function namedFiles(bytes: Uint8Array, environment: Environment): readonly string[] {
  const yaml = readYaml(bytes);
  const tree = withEnvironment(expandTemplates(yaml).tree, environment);
  const named = new Set<string>();
  visitFields(configSchema, tree, ({ meta, value }) => {
    if ((meta.exists === 'file' || meta.names === 'secret-file') && typeof value === 'string' && value.startsWith('/'))
      named.add(resolve(value));
  });
  return [...named];
}

async function gatherState(found: Found, folder: string): Promise<void> {
  await takeCredentials(found, folder, '');
  for (const name of STATE_FILES) await take(found, 'state', folder, name);
  for (const name of STATE_FOLDERS) await takeFolder(found, 'state', folder, name);
  for (const device of await namesIn(found.files, join(folder, KNOWN_DEVICES))) {
    const path = join(KNOWN_DEVICES, device);
    await takeCredentials(found, folder, path);
    for (const name of DEVICE_FILES) await take(found, 'state', folder, join(path, name));
  }
}

/** The first of the two that can be read. */
async function takeCredentials(found: Found, folder: string, within: string): Promise<void> {
  let isThere = false;
  for (const name of CREDENTIALS_FILES) {
    const path = join(folder, within, name);
    const content = await readWhole(found.files, path).catch(undefinedWhenNotToBeRead);
    if (content !== undefined && isUsable(content))
      return add(found, { place: 'state', path: join(within, CREDENTIALS_NAME), mode: 0o600, content });
    isThere ||= content !== undefined || (await found.files.facts(path)) !== undefined;
  }
  if (isThere) found.spoilt.push(join(folder, within));
}

function isUsable(content: Buffer): boolean {
  try {
    parseCredentials(content.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

/** A right that is missing is a fault; a link or a folder in its place is only not taken. */
function undefinedWhenNotToBeRead(error: unknown): undefined {
  if (!(error instanceof Error && 'recovery' in error && error.recovery === 'drop')) throw error;
}

async function takeFolder(found: Found, place: ArchivePlace, folder: string, path: string, depth = 1): Promise<void> {
  for (const name of await namesIn(found.files, join(folder, path))) {
    const inner = join(path, name);
    const facts = await found.files.facts(join(folder, inner));
    if (facts?.kind === 'folder' && depth < MAX_DEPTH) await takeFolder(found, place, folder, inner, depth + 1);
    else if (facts?.kind === 'file' || place === 'configuration') await take(found, place, folder, inner);
  }
}

/** A file that is there. Links are followed beside the configuration, where they are a person's own, and never in the state folder. */
async function take(found: Found, place: ArchivePlace, folder: string, path: string): Promise<void> {
  const whole = join(folder, path);
  const follow = place === 'configuration';
  const content = await readWhole(found.files, whole, { limitBytes: MAX_ARCHIVED_BYTES, follow }).catch(
    (error: unknown) => {
      undefinedWhenNotToBeRead(error);
      found.left.add(whole);
      return undefined;
    },
  );
  if (content === undefined) return;
  const facts = await found.files.facts(whole);
  const mode = facts?.kind === 'file' ? facts.mode & MODE_BITS : 0o640;
  if (isArchivable(path)) add(found, { place, path, mode, content });
  else if (!/(\.tmp|\.corrupt|~)$/.test(path)) found.left.add(whole);
}

/** Stops where it becomes more than is taken up again. */
function add({ archived, onFile }: Found, file: ArchivedFile): void {
  archived.set(`${file.place} ${file.path}`, file);
  onFile(archived.size);
  const bytes = [...archived.values()].reduce((sum, { content }) => sum + content.length, 0);
  if (archived.size <= MAX_ARCHIVED_FILES && bytes <= MAX_ARCHIVED_BYTES) return;
  throw refusal(
    'provisioning/not-a-backup',
    `no backup has more than ${MAX_ARCHIVED_FILES} files or ${MAX_ARCHIVED_BYTES} bytes; the last was ${file.path}`,
  );
}

async function namesIn(files: Files, folder: string): Promise<readonly string[]> {
  try {
    return [...(await files.list(folder))].sort();
  } catch (error) {
    if (isMissing(error) || systemCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}
