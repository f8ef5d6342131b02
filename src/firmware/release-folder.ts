/**
 * The folder of releases: new ones are unpacked or copied beside the others under a name of their own, checked file by file against the
 * manifest, tried, and only then given their version as name. Only root writes here; the root helper and install.sh do it through this.
 */
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { messageOf, refusal } from '../errors/agent-error.ts';
import type { OpenFile } from '../host/files.ts';
import { copyPieces, sha256Of, withPlain } from './file-pieces.ts';
import type { ReleasePaths } from './guard-state.ts';
import { unpackArchive } from './release-archive.ts';
import {
  isSafePath,
  MANIFEST_NAME,
  MAX_MANIFEST_BYTES,
  parseManifest,
  type ReleaseFile,
  type ReleaseManifest,
} from './release-manifest.ts';
import { parseTrustedKey, type TrustedKey, verifySignature } from './release-signature.ts';
import type { UpdateFiles } from './update-files.ts';
import type { UpdaterDeps } from './updater-deps.ts';

export interface ReleaseFolderDeps {
  readonly files: UpdateFiles;
  readonly paths: ReleasePaths;
}

/** Begins with a dot, so that it can be no version. */
const INCOMING = '.incoming';
const MAX_KEY_BYTES = 4096;
/** Kept free beyond what a release needs. */
const SPARE_BYTES = 32 * 1024 * 1024;

export function releaseFolder(paths: ReleasePaths, version: string): string {
  return join(paths.home, 'releases', version);
}

export function incomingFolder(paths: ReleasePaths): string {
  return join(paths.home, 'releases', INCOMING);
}

/** The manifest of an installed release; undefined when there is none that can be read. */
export async function installedManifest(
  deps: ReleaseFolderDeps,
  version: string,
): Promise<ReleaseManifest | undefined> {
  const text = await deps.files.read(join(releaseFolder(deps.paths, version), MANIFEST_NAME), MAX_MANIFEST_BYTES);
  try {
    return parseManifest(text?.toString('utf8') ?? '');
  } catch {
    return undefined;
  }
}

/** The keys of a folder of `*.pem` files. A file that holds none is logged and passed over; the others still count. */
export async function readTrustedKeys(
  { files, log }: Pick<UpdaterDeps, 'files' | 'log'>,
  folder: string,
): Promise<TrustedKey[]> {
  const keys: TrustedKey[] = [];
  for (const name of (await files.list(folder)).filter((one) => one.endsWith('.pem')).sort()) {
    try {
      keys.push(await readTrustedKey(files, join(folder, name)));
    } catch (error) {
      log.error({ file: name, error: messageOf(error) }, 'a file among the trusted keys is passed over');
    }
  }
  return keys;
}

/** @throws AgentError `firmware/bad-trusted-key` (stop), `host/read-failed`. */
export async function readTrustedKey(files: UpdateFiles, path: string): Promise<TrustedKey> {
  return parseTrustedKey((await files.read(path, MAX_KEY_BYTES))?.toString('utf8') ?? '', basename(path));
}

/**
 * Verifies an image and unpacks it to the incoming folder. `judge` sees the manifest before any file is written.
 * @throws AgentError `firmware/unsigned`, `bad-signature`, `unknown-key`, `bad-archive`, `bad-manifest`, `no-space` (drop), and what `judge` throws.
 */
export async function unpackImage(
  deps: ReleaseFolderDeps,
  image: { readonly path: string; readonly keys: readonly TrustedKey[]; readonly signatureRequired: boolean },
  judge: (manifest: ReleaseManifest) => void,
  signal: AbortSignal,
): Promise<ReleaseManifest> {
  return withPlain(deps.files, image.path, async (file) => {
    const { archiveBytes } = await verifySignature(file, { keys: image.keys, required: image.signatureRequired });
    const begin = async (manifest: ReleaseManifest, text: Uint8Array): Promise<void> => {
      judge(manifest);
      await beginIncoming(deps, manifest, text);
    };
    await emptyIncoming(deps);
    const manifest = await unpackArchive(
      file,
      archiveBytes,
      { begin, open: (entry) => openTarget(deps, entry) },
      signal,
    );
    await syncFolders(deps, manifest);
    return manifest;
  });
}

/** Copies a release that lies unpacked in a folder to the incoming folder, checking every file. */
export async function copyRelease(deps: ReleaseFolderDeps, source: string): Promise<ReleaseManifest> {
  const { files } = deps;
  const text = await files.read(join(source, MANIFEST_NAME), MAX_MANIFEST_BYTES);
  if (text === undefined) throw refusal('firmware/bad-manifest', `${source} is no release: it has no ${MANIFEST_NAME}`);
  const manifest = parseManifest(text.toString('utf8'));
  await emptyIncoming(deps);
  await beginIncoming(deps, manifest, text);
  for (const entry of manifest.files) await copyFile(deps, join(source, entry.path), entry);
  await syncFolders(deps, manifest);
  return manifest;
}

/** Gives the release in the incoming folder its name, in place of what had it. */
export async function nameIncoming({ files, paths }: ReleaseFolderDeps, version: string): Promise<void> {
  const folder = releaseFolder(paths, version);
  await files.remove(folder);
  await files.rename(incomingFolder(paths), folder);
}

/** Checks every file of an installed release against its manifest. @throws AgentError `firmware/damaged-release` (drop). */
export async function expectWhole(deps: ReleaseFolderDeps, version: string): Promise<ReleaseManifest> {
  const manifest = await installedManifest(deps, version);
  if (manifest === undefined) throw refusal('firmware/damaged-release', `release ${version} is not installed`);
  for (const entry of manifest.files) {
    const sum = await withPlain(deps.files, join(releaseFolder(deps.paths, version), entry.path), sha256Of).catch(
      () => undefined,
    );
    if (sum?.sha256.toString('hex') !== entry.sha256)
      throw refusal('firmware/damaged-release', `release ${version} is damaged: ${entry.path}`);
  }
  return manifest;
}

/** Copies a file that another user can change to where it cannot, so that what is verified is what is used. */
export function copyPlain(files: UpdateFiles, from: string, to: string, maxBytes: number): Promise<void> {
  return withPlain(files, from, (source) => copyWhereRoom(files, source, to, maxBytes));
}

/** Copies where that leaves room. @param copies that are going to lie there. @throws AgentError `firmware/too-large`, `firmware/no-space` (drop). */
export async function copyWhereRoom(
  files: UpdateFiles,
  source: OpenFile,
  to: string,
  maxBytes: number,
  copies = 1,
): Promise<void> {
  const size = await source.size();
  if (size > maxBytes)
    throw refusal('firmware/too-large', `the image has ${size} bytes, at most ${maxBytes} are taken`);
  if ((await files.freeBytes(dirname(to))) < copies * size + SPARE_BYTES)
    throw refusal('firmware/no-space', 'there is no room for a copy of the image');
  const target = await files.openPart(to, 0o600);
  await copyAtMost(source, target, maxBytes).finally(() => target.close());
}

async function copyAtMost(
  source: OpenFile,
  target: OpenFile,
  maxBytes: number,
  see?: (piece: Buffer) => void,
): Promise<void> {
  if ((await copyPieces(source, target, maxBytes + 1, see)) > maxBytes)
    throw refusal('firmware/too-large', 'a file grew while it was copied');
}

async function emptyIncoming({ files, paths }: ReleaseFolderDeps): Promise<void> {
  await files.remove(incomingFolder(paths));
  await files.makeFolder(incomingFolder(paths), 0o755);
}

/** Checks the space, then makes the incoming folder's subfolders and its manifest. */
async function beginIncoming(
  { files, paths }: ReleaseFolderDeps,
  manifest: ReleaseManifest,
  text: Uint8Array,
): Promise<void> {
  const folder = incomingFolder(paths);
  const needed = manifest.files.reduce((sum, file) => sum + file.bytes, SPARE_BYTES);
  const free = await files.freeBytes(folder);
  if (free < needed) throw refusal('firmware/no-space', `the release needs ${needed} bytes, ${free} are free`);
  for (const name of foldersOf(manifest)) await files.makeFolder(join(folder, name), 0o755);
  await files.write(join(folder, MANIFEST_NAME), text);
}

/** The files' names, not only their content, are to survive a power cut before the release is named. */
async function syncFolders({ files, paths }: ReleaseFolderDeps, manifest: ReleaseManifest): Promise<void> {
  for (const folder of ['', ...foldersOf(manifest)]) await files.syncFolder(join(incomingFolder(paths), folder));
}

function foldersOf(manifest: ReleaseManifest): string[] {
  return [...new Set(manifest.files.flatMap(({ path }) => parentsOf(path)))].sort();
}

function parentsOf(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

function openEntry({ files, paths }: ReleaseFolderDeps, { path, executable }: ReleaseFile): Promise<OpenFile> {
  return files.openPart(join(incomingFolder(paths), path), executable ? 0o755 : 0o644);
}

async function openTarget(deps: ReleaseFolderDeps, entry: ReleaseFile) {
  const part = await openEntry(deps, entry);
  let at = 0;
  return {
    write: async (bytes: Uint8Array) => {
      await part.write(bytes, at);
      at += bytes.length;
    },
    close: () => part.datasync().finally(() => part.close()),
  };
}

async function copyFile(deps: ReleaseFolderDeps, from: string, entry: ReleaseFile): Promise<void> {
  if (!isSafePath(entry.path)) throw refusal('firmware/bad-manifest', 'a path leads out of the release');
  const source = await deps.files.openPlain(from).catch((cause) => {
    throw refusal('firmware/bad-archive', `${entry.path} is missing: ${messageOf(cause)}`);
  });
  const target = await openEntry(deps, entry);
  const hash = createHash('sha256');
  try {
    await copyAtMost(source, target, entry.bytes, (piece) => hash.update(piece));
    if (hash.digest('hex') !== entry.sha256)
      throw refusal('firmware/bad-archive', `${entry.path} is not the file of the manifest`);
  } finally {
    await target.close();
    await source.close();
  }
}
