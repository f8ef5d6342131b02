/**
 * Everything that a restore is about to write, in one file beside the configuration. Once that file is durable the restore has happened: whoever finds it
 * writes what is in it, from the beginning, and removes it. Before, nothing has changed. So a power cut leaves the old gateway or the new one.
 */
import { chown, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../errors/agent-error.ts';
import { GROUP_MODE, PRIVATE_MODE, readWhole, removeDurably, writeDurably } from '../host/durable-file.ts';
import type { Files } from '../host/files.ts';
import { parseJson } from '../host/json.ts';
import { silentLog } from '../host/log.ts';
import { takeLock } from '../host/state-lock.ts';
import { CREDENTIALS_FILES } from '../provisioning/credentials-files.ts';
import { moveAside } from '../provisioning/former-queue.ts';
import { asOwnerOf } from './as-owner.ts';
import { CommandError } from './exit-code.ts';
import { type ArchivedFile, type GatewayArchive, gatewayOf, gatewayText, isCredentials, MAX_BACKUP_BYTES } from './gateway-archive.ts';

export interface RestorePlan extends GatewayArchive {
  readonly stateFolder: string;
  /** The queue in the state folder was measured as another device. */
  readonly setsQueueAside: boolean;
}

/** Where the plan of a configuration lies. */
export function planPath(configFile: string): string {
  return `${configFile}.restore`;
}

/** Makes the restore happen: after this only `finishRestore` remains. @throws AgentError `host/write-failed` (retry). */
export async function commitRestore(configFile: string, plan: RestorePlan, files: Files): Promise<void> {
  const folder = dirname(configFile);
  await asOwnerOf(folder, () => writeDurably(files, planPath(configFile), gatewayText(plan), { mode: PRIVATE_MODE }));
}

/** True while a restore is to be finished. */
export async function isRestoreUnfinished(configFile: string, files: Files): Promise<boolean> {
  return (await files.facts(planPath(configFile)).catch(() => undefined)) !== undefined;
}

/**
 * Writes everything of the plan; may be cut short at any step, and is then done from the beginning. False when there is none.
 * @throws CommandError for a plan that is none; AgentError `host/already-running` (stop), `host/write-failed` (retry).
 */
export async function finishRestore(configFile: string, files: Files): Promise<boolean> {
  const folder = dirname(configFile);
  const bytes = await asOwnerOf(folder, () => readWhole(files, planPath(configFile), { limitBytes: MAX_BACKUP_BYTES }));
  if (bytes === undefined) return false;
  const plan = planIn(bytes, configFile);
  const { stateFolder } = plan;
  await files.makeFolder(stateFolder);
  await asOwnerOf(stateFolder, async () => {
    const lock = await takeLock(stateFolder);
    try {
      await writeState(plan, files);
    } finally {
      await lock.close();
    }
  });
  await asOwnerOf(folder, async () => {
    for (const file of plan.files.filter(({ place }) => place === 'configuration')) {
      // The name of this configuration may be another one than it was.
      const path = file.path === plan.configName ? configFile : join(folder, file.path);
      await files.makeFolder(dirname(path));
      await writeDurably(files, path, file.content, { mode: file.mode });
      await giveToGroup(folder, path, file.mode);
    }
    await removeDurably(files, planPath(configFile));
  });
  return true;
}

/** The credentials first: until they are written, what waits is the former device's. */
async function writeState({ stateFolder, setsQueueAside, files: archived }: RestorePlan, files: Files): Promise<void> {
  const state = archived.filter(({ place }) => place === 'state');
  const own = state.find(({ path }) => path === CREDENTIALS_FILES[0]);
  const present = await readWhole(files, join(stateFolder, CREDENTIALS_FILES[0])).catch(() => undefined);
  const isNew = own !== undefined && present?.equals(own.content) === true;
  if (setsQueueAside && !isNew) await moveAside({ stateFolder, files, log: silentLog });
  for (const file of [...(own === undefined ? [] : [own]), ...state.filter((each) => each !== own)])
    await writeStateFile(stateFolder, file, files);
}

async function writeStateFile(folder: string, { path, mode, content }: ArchivedFile, files: Files): Promise<void> {
  const whole = join(folder, path);
  await files.makeFolder(dirname(whole));
  if (!isCredentials(path)) return writeDurably(files, whole, content, { mode: mode & GROUP_MODE });
  for (const name of CREDENTIALS_FILES) await writeDurably(files, join(dirname(whole), name), content, { mode: PRIVATE_MODE });
}

/** Below a folder of root's own: what the service's group may read there is the group's. */
async function giveToGroup(folder: string, path: string, mode: number): Promise<void> {
  if (process.geteuid?.() !== 0 || (mode & 0o070) === 0) return;
  const { gid } = await stat(folder);
  await chown(path, 0, gid);
  if (dirname(path) !== folder) await chown(dirname(path), 0, gid);
}

function planIn(bytes: Buffer, configFile: string): RestorePlan {
  try {
    const text = bytes.toString('utf8');
    const archive = gatewayOf(text);
    // Its other fields were looked at above, and these two are below.
    const { stateFolder, setsQueueAside } = parseJson(text, { length: MAX_BACKUP_BYTES, depth: 4 }) as unknown as RestorePlan;
    if (typeof stateFolder !== 'string' || !stateFolder.startsWith('/')) throw new Error('it names no state folder');
    return { ...archive, stateFolder, setsQueueAside: setsQueueAside === true };
  } catch (cause) {
    throw new CommandError(`${planPath(configFile)} is no plan of a restore: ${messageOf(cause)}`, {
      cause,
      nextStep: 'remove it, and restore again',
    });
  }
}
