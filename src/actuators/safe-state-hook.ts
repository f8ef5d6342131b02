/**
 * Sets the declared states for a stop or a crash from a process of its own: the service's stop hook calls it after the agent has ended in
 * whatever way. It opens only what has such a state, or was in the middle of a pulse, and what fails does not hold up the rest.
 */
import type { ActuatorConfig } from '../config/agent-config.ts';
import { messageOf } from '../errors.ts';
import type { ActuatorValue } from './actuator.ts';
import { type OpenDriverDeps, openDriver } from './open-driver.ts';

export type SafeStateEvent = 'stop' | 'crash';

export interface SafeStateHookDeps extends OpenDriverDeps {
  /** Actuators that the agent left in a pulse. */
  readonly pulsing: ReadonlySet<string>;
}

export interface SafeStateOutcome {
  readonly name: string;
  readonly value: ActuatorValue;
  /** Undefined when it was set. */
  readonly fault?: string;
}

/** Never rejects. */
export async function setSafeStates(
  configs: readonly ActuatorConfig[],
  event: SafeStateEvent,
  deps: SafeStateHookDeps,
  signal: AbortSignal,
): Promise<readonly SafeStateOutcome[]> {
  const owed = configs.flatMap((config) => {
    const value = config.safe[event] ?? (deps.pulsing.has(config.name) ? false : undefined);
    return config.enabled && value !== undefined ? [{ config, value }] : [];
  });
  return await Promise.all(owed.map(({ config, value }) => setOne(config, value, deps, signal)));
}

async function setOne(
  config: ActuatorConfig,
  value: ActuatorValue,
  deps: SafeStateHookDeps,
  signal: AbortSignal,
): Promise<SafeStateOutcome> {
  const { name } = config;
  try {
    const driver = await openDriver(config, deps, signal);
    try {
      await driver.write(value, signal);
    } finally {
      await driver.close();
    }
    return { name, value };
  } catch (error) {
    return { name, value, fault: messageOf(error) };
  }
}
