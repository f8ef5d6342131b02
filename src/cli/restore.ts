/** Makes this machine the gateway of a backup: everything is checked and planned before anything is written. */
import { dirname, join, resolve } from 'node:path';
import { ENVIRONMENT_NAME, environmentIn } from '../config/environment-file.ts';
import { foldersIn } from '../config/peek-config.ts';
import { CREDENTIALS_FILES } from '../devices/credentials-files.ts';
import { type CredentialsState, formatCredentials, parseCredentials } from '../devices/credentials-record.ts';
import { FORMER_QUEUE } from '../devices/former-queue.ts';
import { isDevice, isOtherDevice, reboundCredentials } from '../devices/rebound-credentials.ts';
import { hasCode, messageOf, systemCode } from '../errors/agent-error.ts';
import type { Environment } from '../host/environment.ts';
import { type Files, systemFiles } from '../host/files.ts';
import { isOtherBoard, readIdentity } from '../host/identity.ts';
import { takeLockIfThere } from '../host/state-lock.ts';
import { readWhole } from '../host/whole-file.ts';
import { printable } from '../names/printable.ts';
import { PRIVATE_MODE } from '../store/durable-file.ts';
import { readArchive } from './archive-file.ts';
import { asOwnerOf } from './as-owner.ts';
import type { RestoreCall } from './commands/backup.ts';
import { CommandError, EXIT, usageError } from './exit-code.ts';
import {
  type ArchivedFile,
  CREDENTIALS_NAME,
  type GatewayArchive,
  isCredentials,
  openGateway,
} from './gateway-archive.ts';
import { amountsOf, type Progress, withProgress } from './progress.ts';
import {
  commitRestore,
  finishRestore,
  isRestoreUnfinished,
  type OnRestored,
  type RestorePlan,
} from './restore-plan.ts';
import { isShippedExample } from './shipped-example.ts';

const STOP_FIRST = 'stop the agent first: sudo systemctl stop turnstone';

export async function restore(call: RestoreCall): Promise<void> {
  const { flags, args, edge, print } = call;
  const configFile = resolve(flags.config);
  if (flags.finish === true) {
    if (args.file !== '') throw usageError('--finish goes on with what was begun, and takes no file');
    const isFinished = await withProgress(edge.stderr, 'restore', (progress) =>
      finishRestore(configFile, systemFiles, tellRestored(progress)),
    ).catch(withRemedy);
    print.write(isFinished ? `finished\n${nextSteps(configFile)}` : 'no restore is to be finished\n');
    return;
  }
  if (args.file === '') throw usageError('name the file of a backup: turnstone restore FILE');
  if (await isRestoreUnfinished(configFile, systemFiles))
    throw new CommandError('a restore was cut off here', {
      nextStep: 'finish it first: sudo turnstone restore --finish',
    });
  const { text, passphrase } = await readArchive('gateway', args.file, call);
  const { archive, plan } = await withProgress(edge.stderr, 'restore', async (progress) => {
    progress.step('decrypting');
    const opened = await openGateway(text, passphrase);
    const deps = {
      configFile,
      environment: edge.environment,
      replace: flags.replace === true,
      files: systemFiles,
      onRestored: tellRestored(progress),
    };
    return { archive: opened, plan: await restoreGateway(opened, deps).catch(withRemedy) };
  });
  const made = new Date(archive.madeAtMs).toISOString().replace(/\.\d+Z$/, 'Z');
  print.write(`this machine is the gateway of ${made} (release ${printable(archive.release)})\n`);
  if (plan.setsQueueAside)
    print.write(
      `what waited here as another device is set aside in ${plan.stateFolder}, in ${FORMER_QUEUE}; its settings, outputs, totals and variables too\n`,
    );
  if (archive.configFolder !== dirname(configFile))
    print.write(`its configuration lay in ${printable(archive.configFolder)}: paths in it may lead there still\n`);
  print.write('the board that was it stands back when it returns\n');
  print.write(nextSteps(configFile));
}

function tellRestored(progress: Progress): OnRestored {
  return (done, total) => progress.update(done, total, amountsOf('files written'));
}

export interface RestoreDeps {
  readonly configFile: string;
  readonly environment: Environment;
  /** Gives up the identity and the configuration that are here. */
  readonly replace: boolean;
  readonly files: Files;
  readonly onRestored?: OnRestored;
}

/**
 * Checks, plans, commits and finishes. Until it is committed nothing has changed.
 * @throws CommandError over what is here without `replace`; AgentError `host/already-running` (stop), `host/write-failed` (retry).
 */
export async function restoreGateway(archive: GatewayArchive, deps: RestoreDeps): Promise<RestorePlan> {
  const { configFile, environment, replace, files, onRestored } = deps;
  const config = archive.files.find(({ place, path }) => place === 'configuration' && path === archive.configName);
  const variables = archive.files
    .find(({ place, path }) => place === 'configuration' && path === ENVIRONMENT_NAME)
    ?.content.toString('utf8');
  const known = { ...environmentIn(variables ?? ''), ...environment };
  const { stateFolder: named, runFolder } = foldersIn(config?.content ?? '', known);
  const stateFolder = resolve(named);
  const present = await asOwnerOf(stateFolder, async () => {
    const lock = await takeLockIfThere(stateFolder);
    await lock?.close();
    return presentCredentials(stateFolder, files);
  });
  if (!replace && present === 'unreadable')
    throw new CommandError(
      `there are credentials in ${stateFolder} that cannot be understood; --replace gives them up`,
    );
  const here = present === 'unreadable' || present === undefined ? {} : present;
  if (!replace && isDevice(here)) {
    const name = here.own?.deviceName ?? here.configured?.deviceName;
    throw new CommandError(
      `this board is a device already${name === undefined ? '' : `, "${printable(name)}"`}; --replace gives that up`,
    );
  }
  if (!replace && !(await mayWriteConfig(configFile, config, files)))
    throw new CommandError(`there is a configuration already, ${configFile}; --replace gives that up`);
  const board = await readIdentity({ runFolder });
  const reboundFile = (file: ArchivedFile): ArchivedFile => {
    if (file.place !== 'state' || !isCredentials(file.path)) return file;
    const state = reboundCredentials(parseCredentials(file.content.toString('utf8')), board);
    return { ...file, mode: PRIVATE_MODE, content: Buffer.from(formatCredentials(state)) };
  };
  const own = archive.files.find(({ place, path }) => place === 'state' && path === CREDENTIALS_NAME);
  const coming = own === undefined ? {} : parseCredentials(own.content.toString('utf8'));
  const withOwn: readonly ArchivedFile[] =
    own === undefined && present !== undefined ? [...archive.files, noCredentials()] : archive.files;
  // Whose queue it is that lies beside spoilt credentials only the board can tell.
  const isOther = present === 'unreadable' ? isOtherBoard(coming.own?.board ?? {}, board) : isOtherDevice(here, coming);
  const plan = { ...archive, files: withOwn.map(reboundFile), stateFolder, setsQueueAside: isOther };
  await commitRestore(configFile, plan, files);
  await finishRestore(configFile, files, onRestored).catch((cause: unknown) => {
    throw new CommandError(`the restore is not whole yet: ${messageOf(cause)}`, {
      cause,
      nextStep: 'mend that, then: sudo turnstone restore --finish',
    });
  });
  return plan;
}

/** Credentials of nobody, over those of the device that is given up. */
function noCredentials(): ArchivedFile {
  return { place: 'state', path: CREDENTIALS_NAME, mode: PRIVATE_MODE, content: Buffer.from(formatCredentials({})) };
}

/** Undefined where there are none. */
async function presentCredentials(
  stateFolder: string,
  files: Files,
): Promise<CredentialsState | 'unreadable' | undefined> {
  let isThere = false;
  for (const name of CREDENTIALS_FILES) {
    const bytes = await readWhole(files, join(stateFolder, name));
    if (bytes === undefined) continue;
    isThere = true;
    try {
      return parseCredentials(bytes.toString('utf8'));
    } catch {
      // The other one may be whole.
    }
  }
  return isThere ? 'unreadable' : undefined;
}

/** True where there is none, the same, or the one that the installation made. */
async function mayWriteConfig(configFile: string, coming: ArchivedFile | undefined, files: Files): Promise<boolean> {
  const present = await readWhole(files, configFile, { follow: true });
  if (present === undefined || coming?.content.equals(present) === true) return true;
  return await isShippedExample(configFile, files);
}

function nextSteps(configFile: string): string {
  return `next: sudo turnstone check-config ${configFile}, then sudo systemctl restart turnstone\n`;
}

function withRemedy(error: unknown): never {
  const codes = [error, error instanceof Error ? error.cause : undefined].map(systemCode);
  if (codes.includes('EACCES') || codes.includes('EPERM'))
    throw new CommandError(messageOf(error), {
      cause: error,
      exitCode: EXIT.noPermission,
      nextStep: 'sudo turnstone restore',
    });
  if (hasCode(error, 'host/already-running'))
    throw new CommandError(messageOf(error), { cause: error, nextStep: STOP_FIRST });
  throw error;
}
