/** Hands the remote side what it needs of the other parts. */

import type { ControlMethod } from '../control-socket/control-connection.ts';
import { AgentError, messageOf } from '../errors.ts';
import type { JsonObject } from '../host/json.ts';
import type { AgentLog } from '../host/log.ts';
import { credentialMethods } from '../provisioning/credential-methods.ts';
import type { DeviceToken } from '../provisioning/device-token.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import { builtInWork, identityAttributes } from './built-in-work.ts';
import type { FieldSide } from './field-side.ts';
import type { FirmwareSide } from './firmware-side.ts';
import type { LiveConfig } from './live-config.ts';
import type { Machine } from './machine.ts';
import type { PlatformSide } from './platform-side.ts';
import { RemoteSide } from './remote-side.ts';

export interface OpenRemoteSideDeps {
  readonly config: LiveConfig;
  readonly configHash: string;
  readonly platform: PlatformSide;
  readonly field: FieldSide;
  readonly machine: Pick<Machine, 'clock' | 'files' | 'runProgram' | 'boardModel' | 'networkAddresses'>;
  readonly log: AgentLog;
  readonly status: () => AgentStatus;
  readonly outboxStatus: () => JsonObject;
  readonly restart: () => void;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
  readonly firmware: FirmwareSide;
}

export async function openRemoteSide(deps: OpenRemoteSideDeps, signal: AbortSignal): Promise<RemoteSide> {
  const { config, platform, field, machine, log, status, outboxStatus, restart, firmware } = deps;
  return RemoteSide.open(
    {
      config: () => config.current,
      deviceApi: platform.deviceApi,
      side: field.moving,
      clock: machine.clock,
      files: machine.files,
      runProgram: machine.runProgram,
      log,
      work: builtInWork({
        status,
        outboxStatus,
        diagnose: deps.diagnose,
        sampler: field.sampler,
        // As a live setting, so that what is effective is told; the next start begins with the file's again.
        setLogLevel: (level) => config.set('log.level', level),
        restart,
        reboot: () =>
          void firmware.reboot().catch((error: unknown) => log.error({ error: messageOf(error) }, 'the reboot could not be asked for')),
      }),
      methods: credentialMethods({ token: () => tokenOf(platform), store: platform.store }),
      settings: () => config.settings(),
      firmwareKeys: firmware.keys,
      onFirmwareOffer: (shared) => firmware.consider(shared),
      changing: () => ({ addresses: machine.networkAddresses() }),
      identity: await identityAttributes(platform.board, machine, deps.configHash),
    },
    signal,
  );
}

/** What the command line can ask of the platform and the actuators through the running agent. */
export function remoteDoors(platform: PlatformSide, field: FieldSide): Readonly<Record<string, ControlMethod>> {
  return {
    clientRpc: (params, signal) => platform.deviceApi.clientRpc(text(params, 'method'), params.params ?? {}, signal),
    setActuator: async (params, signal) =>
      ({ ...(await field.moving.actuators.set(text(params, 'name'), params.value, { by: 'local' }, signal)) }) as JsonObject,
  };
}

/** RPC comes only to a device that has one. */
function tokenOf({ credentials }: PlatformSide): DeviceToken {
  if (credentials === undefined) throw new AgentError('provisioning/no-credentials', 'there are no credentials yet', { recovery: 'hold' });
  return credentials.token;
}

function text(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw new AgentError('agent/bad-request', `${name} is needed, as text`, { recovery: 'drop' });
  return value;
}
