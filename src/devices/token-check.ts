/** Asks the platform whether it knows an access token, with a call that changes nothing. */
import type { DeviceApi } from '../platform/device-api.ts';
import { PlatformError } from '../platform/platform-error.ts';

/** A key that hardly any device has: the answer stays small. */
const ASKED_KEY = 'turnstoneOwner';

export type OpenDeviceApi = (accessToken: string) => Pick<DeviceApi, 'getAttributes' | 'close'>;

/**
 * True when the token is taken, false only on the platform's own word (401).
 * @throws PlatformError when the answer says neither: no network, a portal, a proxy.
 */
export async function tokenWorks(open: OpenDeviceApi, accessToken: string, signal: AbortSignal): Promise<boolean> {
  const deviceApi = open(accessToken);
  try {
    await deviceApi.getAttributes({ clientKeys: [ASKED_KEY] }, signal);
    return true;
  } catch (error) {
    if (error instanceof PlatformError && error.status === 401) return false;
    throw error;
  } finally {
    await deviceApi.close();
  }
}
