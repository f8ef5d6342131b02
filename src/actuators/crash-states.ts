/**
 * Sets the declared states for a crash, from a process of its own: the service's stop hook calls it after the agent has ended in any way
 * but an ordinary one. It opens only what has such a state, and what fails does not hold up the rest.
 */
import type { ActuatorConfig } from '../config/agent-config.ts';
import { messageOf } from '../errors.ts';
import { type OpenDriverDeps, openDriver } from './open-driver.ts';

export interface CrashStateOutcome {
  readonly name: string;
  /** Undefined when it was set. */
  readonly fault?: string;
}

export async function setCrashStates(
  configs: readonly ActuatorConfig[],
  deps: OpenDriverDeps,
  signal: AbortSignal,
): Promise<readonly CrashStateOutcome[]> {
  return await Promise.all(
    configs.flatMap((config) => {
      const value = config.enabled ? config.safe.crash : undefined;
      return value === undefined ? [] : [setOne(config, value, { deps, signal })];
    }),
  );
}

async function setOne(
  config: ActuatorConfig,
  value: boolean | number | string,
  { deps, signal }: { readonly deps: OpenDriverDeps; readonly signal: AbortSignal },
): Promise<CrashStateOutcome> {
  try {
    const driver = await openDriver(config, deps, signal);
    try {
      await driver.write(value, signal);
    } finally {
      await driver.close();
    }
    return { name: config.name };
  } catch (error) {
    return { name: config.name, fault: messageOf(error) };
  }
}
