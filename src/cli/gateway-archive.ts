/**
 * Content of a gateway's archive: the files of its configuration and of its state, each with its place. What comes out of an archive is
 * checked before anybody uses it: how much it is, where it wants to go, and that its credentials can be read.
 */
import { openArchive, sealArchive } from '../devices/archive.ts';
import { parseCredentials } from '../devices/credentials-record.ts';
import { refusal } from '../errors/agent-error.ts';
import type { EpochMs } from '../host/clock.ts';
import type { RandomBytes } from '../host/random.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import { mismatchOf, type ValueShape } from '../values/value-shape.ts';

/** `configuration`: beside the configuration file. `state`: in the state folder. */
export type ArchivePlace = 'configuration' | 'state';

export interface ArchivedFile {
  readonly place: ArchivePlace;
  /** From the folder of its place. */
  readonly path: string;
  readonly mode: number;
  readonly content: Buffer;
}

export interface GatewayArchive {
  readonly madeAtMs: EpochMs;
  /** That made it. */
  readonly release: string;
  /** Folder that the configuration lay in, which it may name. */
  readonly configFolder: string;
  /** The configuration's own name among the files. */
  readonly configName: string;
  readonly files: readonly ArchivedFile[];
}

/** A gateway has some hundred kB; more is a folder that is none of ours. */
export const MAX_ARCHIVED_BYTES = 4 * 1024 * 1024;
export const MAX_ARCHIVED_FILES = 2_000;
export const CREDENTIALS_NAME = 'credentials.json';
/** Letters, digits and a few signs; a step never begins with a dot. */
const PATH = /^[A-Za-z0-9_][\w.@+ -]{0,127}(\/[A-Za-z0-9_][\w.@+ -]{0,127}){0,5}$/;
const TEXT: ValueShape = { type: 'string', maxLength: 4_096 };
const CONTENT: ValueShape = {
  type: 'object',
  required: ['madeAtMs', 'release', 'configFolder', 'configName', 'files'],
  properties: {
    madeAtMs: { type: 'number' },
    release: TEXT,
    configFolder: TEXT,
    configName: TEXT,
    files: { type: 'array' },
  },
};
const FILE: ValueShape = {
  type: 'object',
  required: ['place', 'path', 'mode', 'content'],
  properties: {
    place: { enum: ['configuration', 'state'] },
    path: { type: 'string', maxLength: 1_000 },
    mode: { type: 'integer', minimum: 0, maximum: 0o777 },
    content: { type: 'string' },
  },
};

/** @throws AgentError `provisioning/weak-passphrase` (drop), and `provisioning/not-a-backup` (drop) where `openGateway` would not take it. */
export async function sealGateway(
  archive: GatewayArchive,
  passphrase: string,
  randomBytes: RandomBytes,
): Promise<string> {
  const content = gatewayContent(archive);
  gatewayOf(content);
  return sealArchive('gateway', content, passphrase, randomBytes);
}

/** @throws AgentError as `openArchive`, `provisioning/not-a-backup` (drop), those of `parseCredentials`. */
export async function openGateway(text: string, passphrase: string): Promise<GatewayArchive> {
  return gatewayOf(await openArchive('gateway', text, passphrase));
}

/** Returns the archive in the clear. */
export function gatewayContent({ files, ...rest }: GatewayArchive): JsonObject {
  const written = files.map((file) => ({ ...file, content: file.content.toString('base64') }));
  return { ...rest, files: written };
}

/** @throws AgentError `provisioning/not-a-backup` (drop), those of `parseCredentials`. */
export function gatewayOf(json: JsonValue): GatewayArchive {
  const mismatch = isJsonObject(json) ? mismatchOf(CONTENT, { ...json, files: [] }, 'backup') : 'it is no object';
  if (!isJsonObject(json) || mismatch !== undefined)
    throw refusal('provisioning/not-a-backup', `this backup cannot be used: ${mismatch}`);
  const { files: listed } = json;
  if (!Array.isArray(listed) || listed.length > MAX_ARCHIVED_FILES)
    throw refusal(
      'provisioning/not-a-backup',
      `this backup cannot be used: it has more than ${MAX_ARCHIVED_FILES} files`,
    );
  const files = listed.map((file: JsonValue) => fileOf(file));
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
  if (bytes > MAX_ARCHIVED_BYTES)
    throw refusal(
      'provisioning/not-a-backup',
      `this backup cannot be used: its files have more than ${MAX_ARCHIVED_BYTES} bytes`,
    );
  const [names, { configName }] = [new Set(files.map(({ place, path }) => `${place} ${path}`)), json];
  if (names.size < files.length)
    throw refusal('provisioning/not-a-backup', 'this backup cannot be used: a file is in it twice');
  if (!names.has(`configuration ${String(configName)}`) || String(configName).includes('/'))
    throw refusal('provisioning/not-a-backup', 'this backup cannot be used: it has no configuration');
  // Credentials that cannot be read are not to take the place of some that can.
  for (const { place, path, content } of files)
    if (place === 'state' && isCredentials(path)) parseCredentials(content.toString('utf8'));
  const { madeAtMs, release, configFolder, configName: name } = json as JsonObject & Omit<GatewayArchive, 'files'>;
  return { madeAtMs, release, configFolder, configName: name, files };
}

/** True of the credentials of the gateway and of attached devices. */
export function isCredentials(path: string): boolean {
  return path.split('/').at(-1) === CREDENTIALS_NAME;
}

/** True of a path that an archive may hold. */
export function isArchivable(path: string): boolean {
  return PATH.test(path);
}

function fileOf(file: JsonValue): ArchivedFile {
  const { content = '', ...rest } = isJsonObject(file) ? file : {};
  const mismatch = mismatchOf(FILE, { ...rest, content: '' }, 'file');
  if (mismatch !== undefined || typeof content !== 'string')
    throw refusal('provisioning/not-a-backup', `this backup cannot be used: ${mismatch ?? 'a file is no text'}`);
  const { place, path, mode } = rest as JsonObject & Pick<ArchivedFile, 'place' | 'path' | 'mode'>;
  if (!isArchivable(path))
    throw refusal('provisioning/not-a-backup', 'this backup cannot be used: a file in it would lie elsewhere');
  return { place, path, mode, content: Buffer.from(content, 'base64') };
}
