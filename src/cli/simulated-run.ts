/** Keeps invented readings away from real devices: those of a simulated board are sent to a local platform, from a folder that no real run sends. */
import { join } from 'node:path';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { CREDENTIALS_FILES } from '../devices/credentials-files.ts';
import { FORMER_QUEUE, moveAside } from '../devices/former-queue.ts';
import { messageOf } from '../errors/agent-error.ts';
import { outcomeWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import { silentLog } from '../host/log.ts';
import { takeLockIfThere } from '../host/state-lock.ts';
import { readWhole } from '../host/whole-file.ts';
import { outboxFolder } from '../outbox/open-outbox.ts';
import { removeDurably, writeDurably } from '../store/durable-file.ts';
import { CommandError, usageError } from './exit-code.ts';

/** In a state folder where simulated runs made all that it holds. */
export const SIMULATED_MARK = 'simulated';
const LOCAL = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const NEXT_STEP = 'use a local platform and a stateFolder of its own, or, if it is meant, --send-simulated';
/** A disk that does not answer holds no start up. */
const DISK_WITHIN_MS = 5_000;

type Settings = Pick<AgentConfig, 'platform' | 'devices' | 'stateFolder'>;

/**
 * Ends a simulated run that would send as a real device, or put its readings among a real one's, unless that is asked for.
 * @throws CommandError (usage) that says as which; CommandError where the folder cannot be marked.
 */
export async function expectSimulatedDevice(
  config: Settings,
  files: Files,
  { isMeant, warn }: { readonly isMeant: boolean; readonly warn: (text: string) => void },
): Promise<void> {
  const { stateFolder } = config;
  const kept = await keptOfRealDevice(stateFolder, files);
  const why =
    realDeviceElsewhere(config, kept, await isMarked(stateFolder, files)) ?? (kept && `${stateFolder} ${kept}`);
  if (why !== undefined && !isMeant)
    throw usageError(`invented readings would reach a real device: ${why}`, { nextStep: NEXT_STEP });
  if (why !== undefined) warn(`invented readings reach a real device: ${why}\n`);
  if (kept === undefined) await mark(stateFolder, files);
}

/** A run with the real board makes the folder's device a real one, and sends nothing that was invented. */
export async function isRealFromNowOn(
  stateFolder: string,
  {
    files,
    clock,
    tell,
  }: { readonly files: Files; readonly clock: Pick<Clock, 'after'>; readonly tell: (text: string) => void },
): Promise<void> {
  const work = async (): Promise<void> => {
    if (!(await isMarked(stateFolder, files))) return;
    const lock = await takeLockIfThere(stateFolder);
    try {
      await moveAside({ stateFolder, files, log: silentLog });
      await removeDurably(files, join(stateFolder, SIMULATED_MARK));
    } finally {
      await lock?.close();
    }
    tell(`what simulated runs left in ${stateFolder} is not sent: it is set aside in ${FORMER_QUEUE}\n`);
  };
  // Beside an agent that runs there, and on a disk that takes nothing, the start itself says what is wrong.
  await outcomeWithin(clock, DISK_WITHIN_MS, work, () => {}).catch(() => {});
}

/** Tells if an address is that of this machine, where a local platform runs. */
export function isLocalPlatform(url: string): boolean {
  return LOCAL.test(new URL(url).hostname);
}

function realDeviceElsewhere(
  { platform, devices }: Settings,
  kept: string | undefined,
  isSimulated: boolean,
): string | undefined {
  const { hostname } = new URL(platform.url);
  if (isLocalPlatform(platform.url)) return undefined;
  if (platform.accessToken !== undefined) return `the configuration has its access token at ${hostname}`;
  const attached = devices.find(({ accessToken }) => accessToken !== undefined);
  if (attached !== undefined) return `the configuration has the access token of ${attached.name} at ${hostname}`;
  return kept === undefined && !isSimulated ? `it would be made at ${hostname}` : undefined;
}

/** Tells what a folder holds that no simulated run made. */
async function keptOfRealDevice(stateFolder: string, files: Files): Promise<string | undefined> {
  if (await isMarked(stateFolder, files)) return undefined;
  for (const name of CREDENTIALS_FILES)
    if ((await readWhole(files, join(stateFolder, name))) !== undefined) return 'holds the identity of one';
  return (await files.facts(outboxFolder(stateFolder))) === undefined ? undefined : 'holds the readings of one';
}

async function isMarked(stateFolder: string, files: Files): Promise<boolean> {
  return (await files.facts(join(stateFolder, SIMULATED_MARK))) !== undefined;
}

async function mark(stateFolder: string, files: Files): Promise<void> {
  try {
    await files.makeFolder(stateFolder);
    await writeDurably(files, join(stateFolder, SIMULATED_MARK), '');
  } catch (cause) {
    throw new CommandError(`cannot write in the state folder ${stateFolder}: ${messageOf(cause)}`, {
      nextStep: 'name a stateFolder of your own in the configuration',
      cause,
    });
  }
}
