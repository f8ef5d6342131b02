/**
 * Everything that a restore is about to write, in one file beside the configuration. Once that file is durable the restore has happened: whoever finds it
 * writes what is in it, from the beginning, and removes it. Before, nothing has changed. So a power cut leaves the old gateway or the new one.
 */
import { chown, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { ENVIRONMENT_NAME } from '../config/environment-file.ts';
import { restorePlanPath } from '../config/restore-plan-path.ts';
import { MAX_ARCHIVE_BYTES } from '../devices/archive.ts';
import { CREDENTIALS_FILES } from '../devices/credentials-files.ts';
import { moveGatewayAside } from '../devices/former-queue.ts';
import { messageOf } from '../errors/agent-error.ts';
import type { Files } from '../host/files.ts';
import { silentLog } from '../host/log.ts';
import { takeLock } from '../host/state-lock.ts';
import { readWhole } from '../host/whole-file.ts';
import { GROUP_MODE, PRIVATE_MODE, removeDurably, writeDurably } from '../store/durable-file.ts';
import { isJsonObject, parseJson, stringifyJson } from '../values/json.ts';
import { asOwnerOf } from './as-owner.ts';
import { CommandError } from './exit-code.ts';
import { type ArchivedFile, type GatewayArchive, gatewayContent, gatewayOf, isCredentials } from './gateway-archive.ts';
import { SIMULATED_MARK } from './simulated-run.ts';

const GROUP_READ = 0o040;
const FOLDER_MODE = 0o750;
const PRIVATE_FOLDER_MODE = 0o700;

export interface RestorePlan extends GatewayArchive {
  readonly stateFolder: string;
  /** The queue in the state folder was measured as another device. */
  readonly setsQueueAside: boolean;
}

/** Makes the restore happen: after this only `finishRestore` remains. @throws AgentError `host/write-failed` (retry). */
export async function commitRestore(configFile: string, plan: RestorePlan, files: Files): Promise<void> {
  const folder = dirname(configFile);
  await asOwnerOf(folder, () =>
    writeDurably(files, restorePlanPath(configFile), stringifyJson(gatewayContent(plan)), { mode: PRIVATE_MODE }),
  );
}

/** True while a restore is to be finished. */
export async function isRestoreUnfinished(configFile: string, files: Files): Promise<boolean> {
  return (await files.facts(restorePlanPath(configFile)).catch(() => undefined)) !== undefined;
}

/** Tells how many files of all are written. */
export type OnRestored = (done: number, total: number) => void;

/**
 * Writes everything of the plan; may be cut short at any step, and is then done from the beginning. False when there is none.
 * @throws CommandError for a plan that is none; AgentError `host/already-running` (stop), `host/write-failed` (retry).
 */
export async function finishRestore(
  configFile: string,
  files: Files,
  onRestored: OnRestored = () => {},
): Promise<boolean> {
  const folder = dirname(configFile);
  const bytes = await asOwnerOf(folder, () =>
    readWhole(files, restorePlanPath(configFile), { limitBytes: MAX_ARCHIVE_BYTES }),
  );
  if (bytes === undefined) return false;
  const plan = planIn(bytes, configFile);
  const { stateFolder } = plan;
  let done = 0;
  const onFile = (): void => {
    done += 1;
    onRestored(done, plan.files.length);
  };
  await files.makeFolder(stateFolder);
  await asOwnerOf(stateFolder, async () => {
    const lock = await takeLock(stateFolder);
    try {
      await writeState(plan, files, onFile);
    } finally {
      await lock.close();
    }
  });
  await asOwnerOf(folder, async () => {
    const beside = plan.files.filter(({ place }) => place === 'configuration');
    // The other device's secrets, which the unit would hand to this one.
    if (plan.setsQueueAside && !beside.some(({ path }) => path === ENVIRONMENT_NAME))
      await setEnvironmentAside(folder, files);
    for (const file of beside) {
      // The name of this configuration may be another one than it was.
      const path = file.path === plan.configName ? configFile : join(folder, file.path);
      await writeBeside(folder, { ...file, path }, files);
      onFile();
    }
    await removeDurably(files, restorePlanPath(configFile));
  });
  return true;
}

/** The credentials first: until they are written, what waits is the former device's. */
async function writeState(
  { stateFolder, setsQueueAside, files: archived }: RestorePlan,
  files: Files,
  onFile: () => void,
): Promise<void> {
  const state = archived.filter(({ place }) => place === 'state');
  const own = state.find(({ path }) => path === CREDENTIALS_FILES[0]);
  const present = await readWhole(files, join(stateFolder, CREDENTIALS_FILES[0])).catch(() => undefined);
  const isNew = own !== undefined && present?.equals(own.content) === true;
  if (setsQueueAside && !isNew) await moveGatewayAside({ stateFolder, files, log: silentLog });
  // The restored device is a real one, wherever a simulated run was tried before.
  await removeDurably(files, join(stateFolder, SIMULATED_MARK));
  for (const file of [...(own === undefined ? [] : [own]), ...state.filter((each) => each !== own)]) {
    await writeStateFile(stateFolder, file, files);
    onFile();
  }
}

async function writeStateFile(folder: string, { path, mode, content }: ArchivedFile, files: Files): Promise<void> {
  const whole = join(folder, path);
  await files.makeFolder(dirname(whole));
  if (!isCredentials(path)) return writeDurably(files, whole, content, { mode: mode & GROUP_MODE });
  for (const name of CREDENTIALS_FILES)
    await writeDurably(files, join(dirname(whole), name), content, { mode: PRIVATE_MODE });
}

async function setEnvironmentAside(folder: string, files: Files): Promise<void> {
  const path = join(folder, ENVIRONMENT_NAME);
  if ((await files.facts(path)) === undefined) return;
  await files.rename(path, `${path}-of-former-device`);
  await files.syncFolder(folder);
}

/** `path` is the whole one. In a folder of root's own the service's group, which is the folder's, may read what the service reads itself. */
async function writeBeside(folder: string, { path, mode, content }: ArchivedFile, files: Files): Promise<void> {
  const { gid } = await stat(folder);
  const isShared = process.geteuid?.() === 0 && gid !== 0 && !isForRoot(relative(folder, path));
  await makeFoldersTo(dirname(path), {
    files,
    gid: isShared ? gid : undefined,
  });
  await writeDurably(files, path, content, { mode: isShared ? mode | GROUP_READ : mode });
  if (isShared) await chown(path, 0, gid);
}

/** True of what systemd reads as root and hands over. */
function isForRoot(path: string): boolean {
  return path === ENVIRONMENT_NAME || path.startsWith('credentials/');
}

/** Every folder that is made belongs to the group; one that is there stays as it is. */
async function makeFoldersTo(folder: string, group: { readonly files: Files; readonly gid?: number }): Promise<void> {
  const { files, gid } = group;
  if ((await files.facts(folder)) !== undefined) return;
  await makeFoldersTo(dirname(folder), group);
  await files.makeFolder(folder);
  await files.chmod(folder, gid === undefined ? PRIVATE_FOLDER_MODE : FOLDER_MODE);
  if (gid !== undefined) await chown(folder, 0, gid);
}

function planIn(bytes: Buffer, configFile: string): RestorePlan {
  try {
    const json = parseJson(bytes.toString('utf8'), { length: MAX_ARCHIVE_BYTES, depth: 4 });
    const archive = gatewayOf(json);
    const { stateFolder, setsQueueAside } = isJsonObject(json) ? json : {};
    if (typeof stateFolder !== 'string' || !stateFolder.startsWith('/')) throw new Error('it names no state folder');
    return { ...archive, stateFolder, setsQueueAside: setsQueueAside === true };
  } catch (cause) {
    throw new CommandError(`${restorePlanPath(configFile)} is no plan of a restore: ${messageOf(cause)}`, {
      cause,
      nextStep: 'remove it, and restore again',
    });
  }
}
