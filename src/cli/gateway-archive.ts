/**
 * A whole gateway in one text under a passphrase: the files of its configuration and of its state, each with its place. What comes out of
 * a text is checked before anybody uses it: how much it is, where it wants to go, and that its credentials can be read.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { parseCredentials } from '../devices/credentials-record.ts';
import {
  type BoxFormat,
  expectStrongPassphrase,
  openUnderPassphrase,
  sealUnderPassphrase,
} from '../devices/passphrase-box.ts';
import { refusal } from '../errors/agent-error.ts';
import type { EpochMs } from '../host/clock.ts';
import type { RandomBytes } from '../host/random.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson, stringifyJson } from '../values/json.ts';
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
/** Base64 twice, and names. */
const MAX_PLAIN_BYTES = 3 * MAX_ARCHIVED_BYTES;
/** Letters, digits and a few signs; a step never begins with a dot. */
const PATH = /^[A-Za-z0-9_][\w.@+ -]{0,127}(\/[A-Za-z0-9_][\w.@+ -]{0,127}){0,5}$/;
const CONTENT_VERSION = 1;
const TEXT: ValueShape = { type: 'string', maxLength: 4_096 };
const CONTENT: ValueShape = {
  type: 'object',
  required: ['version', 'madeAtMs', 'release', 'configFolder', 'configName', 'files'],
  properties: {
    version: { type: 'integer', minimum: 1 },
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
const BACKUP_FILE: BoxFormat = {
  format: 'turnstone/gateway',
  version: 1,
  noun: 'backup of a gateway',
  gives: 'this gateway',
  maxLength: 2 * MAX_PLAIN_BYTES,
};

/** Longest file that is looked at. */
export const MAX_BACKUP_BYTES = BACKUP_FILE.maxLength;

/** Before anything is gathered. @throws AgentError `provisioning/weak-passphrase` (drop). */
export function expectBackupPassphrase(passphrase: string): void {
  expectStrongPassphrase(passphrase, BACKUP_FILE);
}

/** @throws AgentError `provisioning/weak-passphrase` (drop), and `provisioning/not-a-backup` (drop) where `openGateway` would not take it. */
export async function sealGateway(
  archive: GatewayArchive,
  passphrase: string,
  randomBytes: RandomBytes,
): Promise<string> {
  const text = gatewayText(archive);
  gatewayOf(text);
  return sealUnderPassphrase(BACKUP_FILE, await promisify(gzip)(text), passphrase, randomBytes);
}

/** @throws AgentError `provisioning/not-an-archive` (drop), `provisioning/not-a-backup` (drop), `provisioning/wrong-passphrase` (drop), those of `parseCredentials`. */
export async function openGateway(text: string, passphrase: string): Promise<GatewayArchive> {
  const content = await openUnderPassphrase(BACKUP_FILE, text, passphrase);
  const options = { maxOutputLength: MAX_PLAIN_BYTES };
  const plain = await new Promise<Buffer>((resolve, reject) =>
    gunzip(content, options, (error, bytes) =>
      error === null
        ? resolve(bytes)
        : reject(refusal('provisioning/not-a-backup', 'this backup does not unpack', error)),
    ),
  );
  return gatewayOf(plain.toString('utf8'));
}

/** The archive in the clear. */
export function gatewayText({ files, ...rest }: GatewayArchive): string {
  const written = files.map((file) => ({ ...file, content: file.content.toString('base64') }));
  return stringifyJson({ version: CONTENT_VERSION, ...rest, files: written });
}

/** @throws as `openGateway`. */
export function gatewayOf(text: string): GatewayArchive {
  const json = parsed(text);
  const mismatch = isJsonObject(json) ? mismatchOf(CONTENT, { ...json, files: [] }, 'backup') : 'it is no object';
  if (!isJsonObject(json) || mismatch !== undefined)
    throw refusal('provisioning/not-a-backup', `this backup cannot be used: ${mismatch}`);
  const { version, files: listed } = json;
  if (typeof version === 'number' && version > CONTENT_VERSION)
    throw refusal(
      'provisioning/not-a-backup',
      `this backup was written by a later release (content version ${version})`,
    );
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

function parsed(text: string): JsonValue {
  try {
    return parseJson(text, { length: MAX_PLAIN_BYTES, depth: 4 });
  } catch {
    // Not as cause: the parser quotes the text.
    throw refusal('provisioning/not-a-backup', 'this backup cannot be used: it is not whole');
  }
}
