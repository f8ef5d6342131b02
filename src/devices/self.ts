/** The gateway as the first of its devices: its connections come first, another board's card is parted with, and the platform says which board may speak. */
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { AgentError } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import type { AgentLog } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { PlatformClients } from '../platform/platform-clients.ts';
import { SELF } from '../values/self.ts';
import { Device, type Permission } from './device.ts';
import { deviceNameOf } from './device-name.ts';
import { credentialsSettings, leaveOtherBoard } from './obtain-credentials.ts';
import { IdentityOwnership } from './ownership.ts';

export interface SelfDeps {
  /** The configuration in force. */
  readonly config: () => AgentConfig;
  readonly machine: Pick<HostMachine, 'clock' | 'files' | 'readIdentity' | 'randomBytes'>;
  readonly log: AgentLog;
  readonly alerts: Alerts;
  readonly clients: Pick<PlatformClients, 'equip' | 'ofSelf'>;
  /** Called when the queue must be set aside before anything is sent; that is done before the outbox is opened. */
  readonly onQueueOfAnother: () => unknown;
  /** Time between two questions at least, where the link is too dear for more. */
  readonly wakes?: () => number | undefined;
}

/** Reads the kept credentials; connects to nothing. */
export async function openSelf(deps: SelfDeps): Promise<Device> {
  const { machine, log, alerts, clients } = deps;
  const { clock, files, randomBytes } = machine;
  const { stateFolder, runFolder } = deps.config();
  const self = new Device(
    {
      clock,
      files,
      randomBytes,
      log,
      alerts,
      board: await machine.readIdentity({ runFolder }),
      way: clients.ofSelf,
      prepare: async (device) => {
        await leaveBoardOfAnother(device, deps);
        // The outbox was opened before the credentials could be read, or is not open yet.
        if (device.store.setsQueueAside) {
          deps.onQueueOfAnother();
          const reason = 'what waits was measured as another device, and was not set aside yet; a restart does it';
          throw new AgentError('agent/queue-of-another', reason, { recovery: 'hold' });
        }
        await clients.equip();
      },
      permission: ({ store, place, board, askingApi }) =>
        new IdentityOwnership({
          store,
          place,
          board,
          clock,
          log,
          alerts,
          deviceApi: askingApi,
          wakes: () => deps.wakes?.(),
        }),
    },
    { id: SELF, name: '', folder: stateFolder, credentials: () => credentialsSettings(deps.config()) },
  );
  await self.readKept();
  return self;
}

/** Before the outbox is opened. @throws AgentError `host/write-failed` (retry). */
export async function leaveBoardOfAnother(
  { store, board }: Pick<Device, 'store' | 'board'>,
  { config, alerts }: Pick<SelfDeps, 'config' | 'alerts'>,
): Promise<void> {
  await leaveOtherBoard({ settings: credentialsSettings(config()), store, board, alerts });
}

/** Permission of a device beside the gateway: it speaks once the gateway may, and not while the board must not. */
export function permissionBeside(self: Pick<Device, 'heldBoard' | 'ready'>): Permission {
  return {
    get held() {
      return self.heldBoard;
    },
    settle: (signal) => self.ready(signal),
  };
}

/** The gateway's name, as the platform calls it, or as it is going to be provisioned; else the machine's. */
export function gatewayName(
  { name, store, board }: Pick<Device, 'name' | 'store' | 'board'>,
  template: string | undefined,
): string {
  const known = name || store.record('own')?.deviceName;
  if (known !== undefined || template === undefined) return known ?? board.hostname;
  try {
    return deviceNameOf(template, board);
  } catch {
    return board.hostname;
  }
}
