/**
 * The root helper's process: started by turnstone-helper.path when the agent leaves a request, and by install.sh or the Debian package
 * to adopt a release. It lies in /opt/turnstone/guard with a Node of its own, and is replaced only by install.sh or the package.
 *
 *   root-helper.mjs request                            does the one request that lies there (swap, reboot, configure, settle)
 *   root-helper.mjs adopt FOLDER [--allow-downgrade]   installs the release unpacked in FOLDER; prints the version that is current then
 *   root-helper.mjs place FOLDER [--allow-downgrade]   makes the release of the Debian package in FOLDER one of this machine's; prints as adopt
 *   root-helper.mjs check-key FILE                     whether FILE can be a trusted key
 *
 * TURNSTONE_ROOT names another file system root, for tests and for images that are prepared on another machine.
 */
import { execFile, spawn } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../src/errors/agent-error.ts';
import { adoptRelease } from '../src/firmware/adopt-release.ts';
import { releasePaths } from '../src/firmware/guard-state.ts';
import { placePackage } from '../src/firmware/place-package.ts';
import { readTrustedKey } from '../src/firmware/release-folder.ts';
import { answerRequest, type ReleaseSwapDeps } from '../src/firmware/release-swap.ts';
import { openTrial } from '../src/firmware/trial-files.ts';
import { updateFiles } from '../src/firmware/update-files.ts';
import { systemClock } from '../src/host/clock.ts';
import { asGroup, ownerOf } from '../src/host/file-owner.ts';
import { systemFiles } from '../src/host/files.ts';
import type { Log } from '../src/host/log.ts';
import { lockedChanges } from '../src/remote-config/locked.ts';
import { configure, isConfigurationOnTrial } from '../src/remote-config/root/configure.ts';
import { settle } from '../src/remote-config/root/end-trial.ts';
import type { RootConfigurationDeps } from '../src/remote-config/root/root-deps.ts';

const run = promisify(execFile);
const SERVICE_USER = 'turnstone';
/** A small board unpacks its code cache for the first time. */
const SELF_TEST_MS = Number(process.env.TURNSTONE_SELF_TEST_MS ?? 120_000);
/** Characters kept of a self-test's output: with the words before it, no more than fits in a line of the guard's. */
const LAST_WORDS = 240;
/** When not even the request can be renamed away, the path unit starts this again at once. */
const PAUSE_AFTER_FAULT_MS = Number(process.env.TURNSTONE_HELPER_PAUSE_MS ?? 5_000);

const root = process.env.TURNSTONE_ROOT ?? '/';

const say = (level: string) => (fields: object, message: string) =>
  console.error(`${level}: ${message}`, JSON.stringify(fields));
const log: Log = { debug: () => {}, info: say('info'), warn: say('warning'), error: say('error') };

const AGENT = 'turnstone.service';
/** The agent's exit code for a configuration that it refuses; the unit does not start it again. */
const REFUSED_STATUS = '78';

/** Ends a trial for which nobody else comes. */
const TIMER = 'turnstone-trial';
/** What `boot-guard trial-over` may: write to these two folders, keep the owner of a file that it copies, and speak to the service manager. */
const TIMER_SANDBOX = [
  'ProtectSystem=strict',
  `ReadWritePaths=${join(root, 'var/lib/turnstone-guard')} ${join(root, 'etc/turnstone')}`,
  `ReadOnlyPaths=-${join(root, 'etc/turnstone/trusted-keys')} -${join(root, 'etc/turnstone/credentials')}`,
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'PrivateNetwork=yes',
  'NoNewPrivileges=yes',
  'RestrictAddressFamilies=AF_UNIX',
  'ProtectKernelTunables=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelLogs=yes',
  'ProtectControlGroups=yes',
  'ProtectClock=yes',
  'ProtectHostname=yes',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'LockPersonality=yes',
  'CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER',
  'SystemCallArchitectures=native',
];

const files = updateFiles(systemFiles);
const paths = releasePaths(root);

/** The service's folder, once this process stands in it. */
const ENTERED = '.';

const configuration: RootConfigurationDeps = {
  files,
  guardFolder: paths.guard,
  requestFolder: ENTERED,
  file: join(root, 'etc/turnstone/turnstone.yaml'),
  userId: process.geteuid?.() ?? 0,
  ownerOf,
  asGroup,
  startTimer,
  stopTimer,
  renewAgent,
  lockedChanges,
  isReleaseOnTrial: async () => (await openTrial({ files, paths: { ...paths, firmware: ENTERED } })) !== undefined,
  clock: systemClock,
  log,
};

const deps: ReleaseSwapDeps = {
  files,
  paths,
  settingsFolder: join(root, 'etc/turnstone'),
  arch: process.arch,
  selfTest,
  restartAgent: async () => void (await run('systemctl', ['--no-block', 'restart', 'turnstone.service'])),
  reboot: async () => void (await run('systemctl', ['reboot'])),
  configuration: {
    configure: (request) => configure(configuration, request),
    settle: (request) => settle(configuration, request),
    isOnTrial: () => isConfigurationOnTrial(configuration),
  },
  clock: systemClock,
  log,
};

const [command, folder, ...options] = process.argv.slice(2);
const never = new AbortController().signal;
process.umask(0o022);
try {
  if (command === 'request')
    await answerRequest({ ...deps, paths: { ...deps.paths, firmware: enterFolder(deps.paths.firmware) } }, never);
  else if (command === 'check-key' && folder !== undefined) await readTrustedKey(files, folder);
  else if ((command === 'adopt' || command === 'place') && folder !== undefined) {
    const install = command === 'adopt' ? adoptRelease : placePackage;
    const { installed, current } = await install(
      deps,
      folder,
      { allowDowngrade: options.includes('--allow-downgrade') },
      never,
    );
    if (installed !== current) log.warn({ installed, current }, 'the newer release stays the current one');
    console.log(current);
  } else throw new Error('usage: root-helper.mjs request | adopt|place FOLDER [--allow-downgrade] | check-key FILE');
} catch (error) {
  log.error({}, messageOf(error));
  if (command === 'request') await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_FAULT_MS));
  process.exitCode = 1;
}

/**
 * The requests lie in a folder of the service's, in a folder of the service's: what it is called there may lead anywhere at the next moment.
 * A process that stands in it stays in it; where that is somewhere else, behind a link, nothing is touched.
 */
function enterFolder(path: string): string {
  process.chdir(path);
  if (process.cwd() !== join(realpathSync(dirname(path)), basename(path)))
    throw new Error(`${path} leads elsewhere: it is a link`);
  return ENTERED;
}

/** A timer of a trial before may still run, or its guard. */
async function startTimer(seconds: number): Promise<void> {
  await stopTimer();
  await run('systemd-run', [
    `--on-active=${seconds}s`,
    '--timer-property=AccuracySec=1s',
    `--unit=${TIMER}`,
    '--collect',
    ...TIMER_SANDBOX.map((property) => `--property=${property}`),
    join(root, 'opt/turnstone/guard/boot-guard'),
    'trial-over',
  ]).catch((error: unknown) => {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    throw new Error(`the timer of the trial cannot be started: ${said.split('\n').at(-1) || messageOf(error)}`);
  });
}

/** Starts no agent that somebody has stopped; one that has refused the file of before, and stays down for it, is started. */
async function renewAgent(how: 'reload' | 'restart'): Promise<void> {
  const shown = await run('systemctl', ['show', '--property=ExecMainStatus', '--value', AGENT]).catch(() => undefined);
  const hasRefused = shown?.stdout.trim() === REFUSED_STATUS;
  const verb = how === 'reload' ? how : 'try-restart';
  await run('systemctl', ['--no-block', hasRefused ? 'restart' : verb, AGENT]);
}

async function stopTimer(): Promise<void> {
  await run('systemctl', ['stop', `${TIMER}.timer`, `${TIMER}.service`]).catch(() => undefined);
}

/** Runs `turnstone firmware self-test` of a release as the service user, with nothing of this process's environment. */
async function selfTest(release: string, { withConfig }: { readonly withConfig: boolean }): Promise<void> {
  const config = withConfig ? ['--config', join(root, 'etc/turnstone/turnstone.yaml')] : [];
  const child = spawn(join(release, 'turnstone'), ['firmware', 'self-test', ...config], {
    ...serviceUser(),
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      LANG: 'C.UTF-8',
      NODE_DISABLE_COMPILE_CACHE: '1',
      TURNSTONE_ROOT: process.env.TURNSTONE_ROOT,
    },
  });
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  };
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => {
    said = (said + bytes.toString('utf8')).slice(-LAST_WORDS);
  });
  const timer = setTimeout(end, SELF_TEST_MS);
  const outcome = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`cannot be started: ${messageOf(error)}`));
    child.once('close', (code, signal) => {
      if (signal !== null) resolve(`was ended by ${signal} after ${SELF_TEST_MS} ms or less`);
      else resolve(code === 0 ? undefined : `ended with ${code}: ${said.trim().split('\n').at(-1) ?? ''}`);
    });
  });
  clearTimeout(timer);
  if (outcome !== undefined) throw new Error(`the release's self-test ${outcome}`);
}

/** Returns the agent's user; a test, which is not root or has no such user, stays who it is. */
function serviceUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync(join(root, 'etc/passwd'), 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${SERVICE_USER}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  throw new Error(`there is no user ${SERVICE_USER}`);
}
