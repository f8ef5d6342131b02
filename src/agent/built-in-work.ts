/** What the built-in RPC methods do, told by the parts that can do it. */

import type { BoardIdentity } from '../host/identity.ts';
import type { JsonObject } from '../host/json.ts';
import { agentVersion } from '../host/version.ts';
import type { BuiltInWork } from '../rpc/built-in-methods.ts';
import type { Sampler } from '../sensors/sampler.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import type { Machine } from './machine.ts';

export interface BuiltInWorkDeps {
  readonly status: () => AgentStatus;
  readonly outboxStatus: () => JsonObject;
  readonly diagnose: BuiltInWork['diagnose'];
  readonly sampler: Sampler;
  readonly setLogLevel: BuiltInWork['setLogLevel'];
  readonly restart: () => void;
  readonly reboot: () => void;
}

export function builtInWork(deps: BuiltInWorkDeps): BuiltInWork {
  return {
    getStatus: () => deps.status() as unknown as JsonObject,
    readSensor: (name, signal) => deps.sampler.readNow(name, signal),
    outboxStatus: () => deps.outboxStatus(),
    setLogLevel: deps.setLogLevel,
    restart: deps.restart,
    reboot: deps.reboot,
    diagnose: deps.diagnose,
  };
}

/** Who the device is, as client attributes. */
export async function identityAttributes(
  board: BoardIdentity,
  { clock, boardModel, networkAddresses }: Pick<Machine, 'clock' | 'boardModel' | 'networkAddresses'>,
  configHash: string,
): Promise<JsonObject> {
  return {
    model: (await boardModel()) ?? 'unknown',
    version: agentVersion(),
    bootId: clock.bootId,
    configHash,
    hostname: board.hostname,
    addresses: networkAddresses(),
    ...(board.serial === undefined ? {} : { serial: board.serial }),
    ...(board.mac === undefined ? {} : { mac: board.mac }),
  };
}
