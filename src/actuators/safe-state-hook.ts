/**
 * Sets the declared states for a stop or a crash from a process of its own: the service's stop hook calls it after the agent has ended in
 * whatever way. It opens only what has such a state, or was left to be switched off by its mark; what fails does not hold up the rest. First
 * everything that is switched off; then what is switched on, one by one, and only when what excludes it is known to be off.
 */
import type { ActuatorConfig } from '../config/schema/agent-config.ts';
import { messageOf, retryable } from '../errors/agent-error.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import { endedWithin, withinMs } from '../host/bounded-wait.ts';
import { actuatorSettings } from './actuator-settings.ts';
import { type ActuatorDriver, type ActuatorValue, inWords, isActive, offValue } from './kind/actuator.ts';
import type { DriverDeps } from './kind/definition.ts';
import { openDriver } from './open-driver.ts';
import type { PulseMarks } from './pulse-marks.ts';

export type SafeStateEvent = 'stop' | 'crash';

export interface SafeStateHookDeps extends DriverDeps {
  /** Marks of what the agent left to be switched off; the mark of an output that is off is removed. */
  readonly marks: Pick<PulseMarks, 'left' | 'remove'>;
}

export interface SafeStateOutcome {
  readonly name: string;
  readonly value: ActuatorValue;
  /** Undefined when it was set. */
  readonly fault?: string;
}

/** Whatever is asked or set heeds the signal. */
interface Hook extends SafeStateHookDeps {
  readonly signal: AbortSignal;
}

interface Owed {
  readonly config: ActuatorConfig;
  readonly value: ActuatorValue;
}

/** A bus that was in the middle of something when the agent was killed is free soon. */
const MAX_TRIES = 3;
const AGAIN_AFTER_MS = 500;
/** How long what is switched on waits for what is switched off and hangs; what excludes it must be known to be off all the same. */
const OFF_FIRST_MS = 4_000;
/** And how long it waits for what goes on before it, or is asked whether it is on. */
const ONE_WITHIN_MS = 1_000;
const CLOSE_WITHIN_MS = 500;

/** In the order of the configuration; behind it what is left on and cannot be switched off from here. Never rejects. */
export async function setSafeStates(
  configs: readonly ActuatorConfig[],
  event: SafeStateEvent,
  deps: SafeStateHookDeps,
  signal: AbortSignal,
): Promise<readonly SafeStateOutcome[]> {
  const hook: Hook = { ...deps, signal };
  const { left } = deps.marks;
  const owed = configs.flatMap((config) => {
    const settings = actuatorSettings(config);
    const declared = config.enabled ? settings.safe[event] : undefined;
    const value = declared ?? (left.has(config.name) ? offValue(settings) : undefined);
    return value === undefined ? [] : [{ config, value }];
  });
  const outcomes: SafeStateOutcome[] = [];
  const set = async (one: Owed): Promise<void> => void outcomes.push(await outcomeInTime(one, hook));
  const setting = owed.filter(({ value }) => !isActive(value)).map(set);
  await endedWithin(deps.clock, OFF_FIRST_MS, Promise.all(setting));
  for (const one of owed.filter(({ value }) => isActive(value))) {
    const excluder = await excluderOf(one.config, { configs, outcomes }, hook);
    if (excluder === undefined) {
      const moving = set(one);
      setting.push(moving);
      await endedWithin(deps.clock, ONE_WITHIN_MS, moving);
      continue;
    }
    const { name } = one.config;
    // The agent may have set it, and knew more.
    const isSet = !excluder.isOn && (await shownInTime(one.config, hook)) === one.value;
    const fault = `is never on together with ${excluder.name}, which is not known to be off`;
    outcomes.push({ name, value: one.value, ...(!isSet && { fault }) });
  }
  await Promise.all(setting);
  const lost = [...left.keys()].filter((name) => !owed.some(({ config }) => config.name === name));
  return [
    ...owed.flatMap(({ config }) => outcomes.find(({ name }) => name === config.name) ?? []),
    ...lost.map((name) => ({
      name,
      value: false,
      fault: 'was left to be switched off, and the configuration does not say how',
    })),
  ];
}

/** Hardware may hang and heed no signal. What a try in time has failed by says more than that the time is over. */
function outcomeInTime(one: Owed, hook: Hook): Promise<SafeStateOutcome> {
  const { name } = one.config;
  let lastFault: string | undefined;
  const setting = setOne(one, hook, (fault) => {
    lastFault = fault;
  });
  return withinDeadline(setting, name, hook.signal).catch((error) => ({
    name,
    value: one.value,
    fault: lastFault ?? messageOf(error),
  }));
}

async function setOne(
  { config, value }: Owed,
  hook: Hook,
  onFault: (fault: string) => void,
): Promise<SafeStateOutcome> {
  const { name } = config;
  const { signal, marks, clock } = hook;
  for (let tries = 1; ; tries += 1) {
    try {
      await withDriver(config, hook, async (driver) => {
        await driver.write(value, signal);
        const shown = await driver.read?.(signal);
        if (shown !== undefined && shown !== value) throw retryable('actuators/not-moved', `shows ${inWords(shown)}`);
      });
      if (!isActive(value)) marks.remove(name);
      return { name, value };
    } catch (error) {
      if (!signal.aborted) onFault(messageOf(error));
      if (tries === MAX_TRIES || signal.aborted) return { name, value, fault: messageOf(error) };
      await clock.sleep(AGAIN_AFTER_MS, signal);
    }
  }
}

interface Known {
  readonly configs: readonly ActuatorConfig[];
  readonly outcomes: readonly SafeStateOutcome[];
}

/** Whoever is on, or does not say that it is off (`isOn` false); undefined when nobody is. */
async function excluderOf(
  config: ActuatorConfig,
  { configs, outcomes }: Known,
  hook: Hook,
): Promise<{ name: string; isOn: boolean } | undefined> {
  const excludes = (one: ActuatorConfig, other: ActuatorConfig): boolean =>
    one.interlocks.some((lock) => lock.with === other.name);
  for (const other of configs) {
    if (other.name === config.name || !(excludes(config, other) || excludes(other, config))) continue;
    if (!other.enabled) return { name: other.name, isOn: false };
    const set = outcomes.find(({ name }) => name === other.name);
    const value = set?.fault === undefined ? set?.value : undefined;
    const shown = value ?? (await shownInTime(other, hook));
    if (shown === undefined || isActive(shown)) return { name: other.name, isOn: shown !== undefined };
  }
  return undefined;
}

/** Undefined when it does not say. */
function shownInTime(config: ActuatorConfig, hook: Hook): Promise<ActuatorValue | undefined> {
  const show = (signal: AbortSignal): Promise<ActuatorValue | undefined> => {
    const reading = withDriver(config, { ...hook, signal }, async (driver) => driver.read?.(signal));
    return withinDeadline(reading, config.name, signal).catch(() => undefined);
  };
  return withinMs(hook.clock, ONE_WITHIN_MS, show, hook.signal);
}

async function withDriver<T>(
  config: ActuatorConfig,
  hook: Hook,
  use: (driver: ActuatorDriver) => Promise<T>,
): Promise<T> {
  const driver = await openDriver(config, hook, hook.signal);
  try {
    return await use(driver);
  } finally {
    await endedWithin(hook.clock, CLOSE_WITHIN_MS, driver.close());
  }
}
