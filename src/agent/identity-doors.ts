/** What the command line can ask of this device's identity, and of what was delivered, through the running agent. */

import { withDigests } from '../analytics/entry-digest.ts';
import type { ControlMethod } from '../control-socket/control-connection.ts';
import { AgentError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { AgentLog } from '../host/log.ts';
import type { RandomBytes } from '../host/random.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { identityDesk } from '../provisioning/identity-desk.ts';
import type { PlatformSide } from './platform-side.ts';

export interface IdentityDoorsDeps {
  readonly platform: PlatformSide;
  readonly stateFolder: string;
  readonly clock: Clock;
  readonly files: Files;
  readonly randomBytes: RandomBytes;
  readonly log: AgentLog;
  /** Ends the agent; the service manager starts it again, with the changed identity. */
  readonly restart: () => void;
}

/** The answer is to be on its way before the agent stops. */
const RESTART_AFTER_MS = 500;

export function identityDoors(deps: IdentityDoorsDeps): Readonly<Record<string, ControlMethod>> {
  const { platform, stateFolder, clock, files, randomBytes, log, restart } = deps;
  return identityDesk({
    store: platform.store,
    place: platform.place,
    board: platform.board,
    stateFolder,
    clock,
    files,
    randomBytes,
    hide: (secret) => log.hide(secret),
    deviceApi: () => (platform.credentials === undefined ? undefined : platform.deviceApi),
    offerNext: async (accessToken) => {
      if (platform.credentials === undefined)
        throw new AgentError('provisioning/no-credentials', 'this device has no token to rotate yet', { recovery: 'hold' });
      await platform.credentials.token.offerNext(accessToken);
    },
    takeUp: () => void clock.after(RESTART_AFTER_MS, restart),
  });
}

/** What was delivered, for the audit, and what is still kept of it put back. */
export function deliveryDoors(outbox: Pick<Outbox, 'readLedger' | 'read' | 'resend'>): Readonly<Record<string, ControlMethod>> {
  return {
    readLedger: async (params, signal) => {
      const range = { fromMs: number(params, 'fromMs'), toMs: number(params, 'toMs') };
      const cells = await outbox.readLedger(range);
      return (await withDigests(cells, outbox.read(range, signal))) as unknown as JsonValue;
    },
    resend: (params, signal) => {
      const { key } = params;
      if (typeof key !== 'string') throw new AgentError('agent/bad-request', 'key is needed, as text', { recovery: 'drop' });
      return outbox.resend({ key, fromMs: number(params, 'fromMs'), toMs: number(params, 'toMs') }, signal);
    },
  };
}

function number(params: JsonObject, name: string): number {
  const value = params[name];
  if (typeof value !== 'number') throw new AgentError('agent/bad-request', `${name} is needed, as a number`, { recovery: 'drop' });
  return value;
}
