/** The manifest of a release: what it is, for which machine, every file with its SHA-256, and the state formats it can read. */
import { type AgentError, refusal } from '../errors/agent-error.ts';
import { isJsonObject, parseJson } from '../values/json.ts';
import { isVersion } from './release-version.ts';

export interface ReleaseFile {
  /** Below the release folder, with `/` between names. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly executable: boolean;
}

export interface ReleaseManifest {
  readonly format: 'turnstone-release';
  readonly version: 1;
  readonly release: string;
  readonly arch: string;
  readonly node: string;
  /** By name of a state file's format: the versions that this release can read; it writes the last. */
  readonly stateFormats: Readonly<Record<string, readonly number[]>>;
  readonly files: readonly ReleaseFile[];
}

/** Its place in the release folder and in the archive, where it is the first entry. */
export const MANIFEST_NAME = 'manifest.json';
export const MAX_MANIFEST_BYTES = 256 * 1024;
/** A release is about 120 MB unpacked; a bundle that claims more than this is a bomb. */
const MAX_UNPACKED_BYTES = 400 * 1024 * 1024;
const MAX_FILES = 1_000;
const MAX_PATH_LENGTH = 100;
const FILE_NAME = /^[0-9A-Za-z_@+-][0-9A-Za-z_@.+-]*$/;

/**
 * Reads a manifest and refuses whatever root should not unpack.
 * @throws AgentError `firmware/bad-manifest` (drop) that says what is wrong.
 */
export function parseManifest(text: string): ReleaseManifest {
  const json = parseJson(text, { length: MAX_MANIFEST_BYTES, depth: 6 });
  if (!isJsonObject(json) || json.format !== 'turnstone-release') throw wrong('not a release manifest');
  if (json.version !== 1) throw wrong('a newer format than this agent reads');
  const { release, arch, node, files, stateFormats } = json;
  if (typeof release !== 'string' || !isVersion(release)) throw wrong('its version is not one');
  if (typeof arch !== 'string' || typeof node !== 'string') throw wrong('arch and node are needed');
  if (!Array.isArray(files) || files.length === 0 || files.length > MAX_FILES)
    throw wrong(`1 to ${MAX_FILES} files are taken`);
  const parsed = files.map(parseFile);
  if (new Set(parsed.map((file) => file.path)).size !== parsed.length) throw wrong('a path occurs twice');
  const unpackedBytes = parsed.reduce((sum, file) => sum + file.bytes, 0);
  if (unpackedBytes > MAX_UNPACKED_BYTES)
    throw wrong(`${unpackedBytes} bytes unpacked, at most ${MAX_UNPACKED_BYTES} are taken`);
  return {
    format: 'turnstone-release',
    version: 1,
    release,
    arch,
    node,
    stateFormats: parseStateFormats(stateFormats),
    files: parsed,
  };
}

/** True for a path that stays below the folder it is put in, as plain names only. */
export function isSafePath(path: string): boolean {
  return (
    path.length <= MAX_PATH_LENGTH && path !== MANIFEST_NAME && path.split('/').every((name) => FILE_NAME.test(name))
  );
}

/** Which state formats of `from` a release could not read; empty when it can follow it. */
export function unreadableFormats(to: ReleaseManifest, from: ReleaseManifest | undefined): string[] {
  return Object.entries(from?.stateFormats ?? {})
    .filter(([name, versions]) => !(to.stateFormats[name] ?? []).includes(versions.at(-1) ?? 0))
    .map(([name, versions]) => `${name} ${versions.at(-1)}`);
}

function parseFile(file: unknown): ReleaseFile {
  if (!isJsonObject(file)) throw wrong('a file is not an object');
  const { path, bytes, sha256, executable } = file;
  if (typeof path !== 'string' || !isSafePath(path))
    throw wrong(`the path ${JSON.stringify(path).slice(0, 80)} is refused`);
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) throw wrong(`${path} has no size`);
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) throw wrong(`${path} has no SHA-256`);
  return { path, bytes, sha256, executable: executable === true };
}

function parseStateFormats(formats: unknown): Record<string, number[]> {
  if (!isJsonObject(formats)) throw wrong('stateFormats is needed');
  const parsed: Record<string, number[]> = {};
  for (const [name, versions] of Object.entries(formats)) {
    if (!Array.isArray(versions) || !versions.every((version) => typeof version === 'number'))
      throw wrong(`stateFormats.${name} is no list`);
    parsed[name] = versions as number[];
  }
  return parsed;
}

function wrong(what: string): AgentError {
  return refusal('firmware/bad-manifest', `the release is refused: ${what}`);
}
