/** Check of one thing that keeps a gateway from working, with a verdict, a reason and a remedy. */

import type { ReadConfig } from '../../config/read-config.ts';
import type { AgentConfig } from '../../config/schema/agent-config.ts';
import type { Ports } from '../../hardware/ports.ts';
import type { Clock } from '../../host/clock.ts';
import type { Environment } from '../../host/environment.ts';
import type { FileFacts, MachineFacts, MachineUser } from '../../host/machine-facts.ts';
import type { ContactStatus } from '../../platform/contact.ts';
import type { AgentStatus } from '../../status/shape/agent-status.ts';

export const UNIT = 'turnstone.service';

/** `unknown`: it could not be looked at, and that is no fault. */
export type Verdict = 'good' | 'warning' | 'fault' | 'unknown';

export interface Finding {
  readonly verdict: Verdict;
  readonly reason: string;
  /** Remedy; every warning and fault has one. */
  readonly remedy?: string;
}

export interface DoctorDeps {
  readonly configFile: string;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly machine: Pick<
    MachineFacts,
    'user' | 'file' | 'under' | 'holders' | 'disk' | 'mount' | 'storageWear' | 'memory' | 'hasDefaultRoute' | 'unit'
  >;
  readonly isTimeSynchronised: () => Promise<boolean>;
  /** The release that asks. */
  readonly version: string;
  /** A simulated board's socket, in place of the hardware that the configuration names. */
  readonly boardSocket?: string;
  /** Status of the running agent, as it reports it. */
  readonly agent?: AgentStatus;
  /** Why one that runs says nothing. */
  readonly silentAgent?: string;
  /** Asks the platform with this device's token, or tells what the agent's own exchanges have shown. */
  readonly askPlatform: (config: AgentConfig, signal: AbortSignal) => Promise<AskedPlatform>;
  /** For looking at buses while no agent holds them. */
  readonly openPorts: (config: AgentConfig) => Ports;
}

export interface AskedPlatform {
  readonly hasToken: boolean;
  readonly contact: ContactStatus;
}

/** Context that checks share; read once. */
export interface CheckContext extends DoctorDeps {
  readonly read: ReadConfig;
  /** This user may not read the configuration, or not enter its folder. */
  readonly isForbidden: boolean;
  /** The user whom the agent runs as. */
  readonly serviceUser: MachineUser | undefined;
}

export interface Check {
  readonly id: string;
  /** Subject of the check in a few words. */
  readonly title: string;
  /** No finding: there is nothing of the kind here. */
  readonly look: (context: CheckContext, signal: AbortSignal) => Promise<Finding | undefined> | Finding | undefined;
}

export function check(id: string, title: string, look: Check['look']): Check {
  return { id, title, look };
}

/** A check that makes sense only with a configuration that could be read. */
export function configCheck(
  id: string,
  title: string,
  look: (config: AgentConfig, context: CheckContext, signal: AbortSignal) => ReturnType<Check['look']>,
): Check {
  return check(id, title, (context, signal) => context.read.config && look(context.read.config, context, signal));
}

/** One that makes sense only while an agent runs. */
export function agentCheck(id: string, title: string, look: (agent: AgentStatus) => ReturnType<Check['look']>): Check {
  return check(id, title, ({ agent }) => agent && look(agent));
}

export const good = (reason: string): Finding => ({ verdict: 'good', reason });
export const warning = (reason: string, remedy: string): Finding => ({ verdict: 'warning', reason, remedy });
export const fault = (reason: string, remedy: string): Finding => ({ verdict: 'fault', reason, remedy });
export const unknown = (reason: string): Finding => ({ verdict: 'unknown', reason });

const PERMISSION_BITS = { read: 4, write: 2, 'read and write': 6 } as const;

/** True when a user may do something with a file, by its permission bits; root may everything. */
export function may(user: MachineUser | undefined, what: keyof typeof PERMISSION_BITS, file: FileFacts): boolean {
  if (user === undefined || user.uid === 0) return true;
  const shift = user.uid === file.uid ? 6 : user.groupIds.includes(file.gid) ? 3 : 0;
  return ((file.mode >> shift) & PERMISSION_BITS[what]) === PERMISSION_BITS[what];
}
