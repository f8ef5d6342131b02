/** Asks an address whether a platform answers there, with a token, in a call that changes nothing; what came of it is told in the contact's words. */
import { platformSchema } from '../config/schema/platform.ts';
import { tokenWorks } from '../devices/token-check.ts';
import { messageOf } from '../errors/agent-error.ts';
import { networkAddresses } from '../host/board-model.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { systemClock as clock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { silentLog } from '../host/log.ts';
import { Contact, type ContactStatus } from '../platform/contact.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { apiSettings } from '../platform/platform-settings.ts';

type PlatformSettings = Parameters<typeof apiSettings>[0];

/** @throws PlatformError for an answer that the contact takes for none of its faults; AgentError for a file of the settings that cannot be read. */
export async function contactWith(
  platform: PlatformSettings,
  accessToken: string,
  signal: AbortSignal,
): Promise<ContactStatus> {
  const contact = new Contact({ clock, log: silentLog, networkAddresses });
  const settings = await apiSettings(platform, systemFiles);
  const open = (token: string): HttpDeviceApi => new HttpDeviceApi({ ...settings, token: () => token, clock, contact });
  await tokenWorks(open, accessToken, signal).catch((error: unknown) => {
    if (contact.status.problem === undefined) throw error;
  });
  return contact.status;
}

export interface TriedPlatform {
  /** A device API has answered. */
  readonly isReached: boolean;
  /** The platform took the token. */
  readonly knowsToken: boolean;
  /** Problem and remedy in one sentence; undefined when the platform took the token. */
  readonly fault?: string;
}

/** Known to no platform: its answer tells no more than that a device API is there. */
const NO_TOKEN = 'turnstone-init-asks-who-answers';
/** A person waits for it. */
const WITHIN_MS = 8_000;
const TIMEOUTS = { connectTimeout: '4s', requestTimeout: '5s' };

/** Resolves within seconds. @throws the signal's reason. */
export async function tryPlatform(
  {
    url,
    caFile,
    accessToken = NO_TOKEN,
  }: { readonly url: string; readonly caFile?: string; readonly accessToken?: string },
  signal: AbortSignal,
): Promise<TriedPlatform> {
  try {
    const platform = platformSchema.parse({
      url,
      caFile,
      ...TIMEOUTS,
    });
    const { state, reason, problem, remedy } = await withinMs(
      clock,
      WITHIN_MS,
      (within) => contactWith(platform, accessToken, within),
      signal,
    );
    if (problem === undefined) return { isReached: state === 'reached', knowsToken: true };
    return {
      isReached: reason === 'token-refused' || reason === 'device-refused',
      knowsToken: false,
      fault: `${problem}; ${remedy}`,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { isReached: false, knowsToken: false, fault: messageOf(error) };
  }
}
