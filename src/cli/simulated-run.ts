/** Keeps invented readings away from real devices: a simulated board may stand before a platform elsewhere only as a device of its own. */
import { join } from 'node:path';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { readWhole, removeDurably, writeDurably } from '../host/durable-file.ts';
import type { Files } from '../host/files.ts';
import { CREDENTIALS_FILES } from '../provisioning/credentials-files.ts';
import { usageError } from './exit-code.ts';

/** In a state folder whose identity was made by a simulated run. */
export const SIMULATED_MARK = 'simulated';
const LOCAL = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const NEXT_STEP = 'use a state folder and a device of its own, a local platform, or, if it is meant, --send-simulated';

/**
 * Ends a simulated run that would send as a real device, unless that is asked for.
 * @throws CommandError (usage) that says as which.
 */
export async function expectSimulatedDevice(
  config: Pick<AgentConfig, 'platform' | 'devices' | 'stateFolder'>,
  files: Files,
  { isMeant, warn }: { readonly isMeant: boolean; readonly warn: (text: string) => void },
): Promise<void> {
  const { hostname } = new URL(config.platform.url);
  if (LOCAL.test(hostname)) return;
  const why = await realDevice(config, files);
  if (why === undefined) {
    await files.makeFolder(config.stateFolder);
    await writeDurably(files, join(config.stateFolder, SIMULATED_MARK), '');
    return;
  }
  if (!isMeant) throw usageError(`invented readings would reach a real device at ${hostname}: ${why}`, { nextStep: NEXT_STEP });
  warn(`invented readings reach a real device at ${hostname}: ${why}\n`);
}

/** A run with the real board makes the folder's device a real one. */
export async function isRealFromNowOn(stateFolder: string, files: Files): Promise<void> {
  await removeDurably(files, join(stateFolder, SIMULATED_MARK)).catch(() => {});
}

async function realDevice(
  { platform, devices, stateFolder }: Pick<AgentConfig, 'platform' | 'devices' | 'stateFolder'>,
  files: Files,
): Promise<string | undefined> {
  if (platform.accessToken !== undefined) return 'the configuration has its access token';
  const attached = devices.find(({ accessToken }) => accessToken !== undefined);
  if (attached !== undefined) return `the configuration has the access token of ${attached.name}`;
  if ((await files.facts(join(stateFolder, SIMULATED_MARK))) !== undefined) return undefined;
  for (const name of CREDENTIALS_FILES)
    if ((await readWhole(files, join(stateFolder, name))) !== undefined) return `${stateFolder} holds the identity of one`;
  return undefined;
}
