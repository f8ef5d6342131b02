/** Calls of the command line about this device's identity, and to the platform, through the running agent. */
import type { ControlCalls } from '../control-socket/control-connection.ts';
import type { AgentLog } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { textIn } from '../values/request-params.ts';
import type { Device } from './device.ts';
import { identityRequests } from './identity-requests.ts';

export interface PlatformCallsDeps {
  readonly self: Device;
  readonly stateFolder: string;
  readonly machine: Pick<HostMachine, 'clock' | 'files' | 'randomBytes'>;
  readonly log: AgentLog;
  /** Ends the agent; the service manager starts it again, with the changed identity. */
  readonly restart: () => void;
}

/** Leaves time to send the answer before the agent stops. */
const RESTART_AFTER_MS = 500;

export function platformCalls({ self, stateFolder, machine, log, restart }: PlatformCallsDeps): ControlCalls {
  const { clock, files, randomBytes } = machine;
  const { store, place, board } = self;
  const identity = identityRequests({
    store,
    place,
    board,
    stateFolder,
    clock,
    files,
    randomBytes,
    hide: (secret) => log.hide(secret),
    deviceApi: () => (self.credentials === undefined ? undefined : self.deviceApi),
    offerNext: (accessToken) => self.token.offerNext(accessToken),
    takeUp: () => void clock.after(RESTART_AFTER_MS, restart),
  });
  const clientRpc: NonNullable<ControlCalls['methods']>[string] = (params, signal) =>
    self.deviceApi.clientRpc(textIn(params, 'method'), params.params ?? {}, signal);
  return { methods: { ...identity, clientRpc } };
}
