/** Opens an actuator by the driver of its kind. One whose hardware is not there yet is opened again at each movement. */
import type { ActuatorConfig, AgentConfig } from '../config/schema/agent-config.ts';
import { AgentError, messageOf, retryable, systemCode } from '../errors/agent-error.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { actuatorDefinition } from '../kinds/actuator-kinds.ts';
import type { ActuatorDriver, ActuatorValue, LateAnswer } from './kind/actuator.ts';
import type { DriverDeps, OpenDriver } from './kind/definition.ts';

/**
 * Loads the drivers of all kinds that are configured, before anything has a deadline and while the disk is there: Node reads a file that it loads
 * while everything else waits. What cannot be loaded is its actuators' fault, who try again.
 */
export async function loadActuatorDrivers({ actuators }: Pick<AgentConfig, 'actuators'>): Promise<void> {
  const kinds = new Set(actuators.filter(({ enabled }) => enabled).map(({ kind }) => kind));
  await Promise.allSettled([...kinds].map((kind) => actuatorDefinition(kind).driver()));
}

/** @throws AgentError `hardware/…` as the port does; `actuators/no-driver` (retry) when the program's own file cannot be read. */
export async function openDriver(
  config: ActuatorConfig,
  deps: DriverDeps,
  signal: AbortSignal,
): Promise<ActuatorDriver> {
  return await (await loadOpener(config, deps))(signal);
}

async function loadOpener(config: ActuatorConfig, deps: DriverDeps): Promise<OpenDriver> {
  try {
    return (await actuatorDefinition(config.kind).driver()).opener(config, deps);
  } catch (cause) {
    const why = `the driver of ${config.kind} cannot be loaded (${systemCode(cause) ?? messageOf(cause)})`;
    throw retryable('actuators/no-driver', `${why}: the installed release or its disk is at fault`, cause);
  }
}

/** Letting go of a line may let it fall, so one fault is no reason to; hardware that was pulled out and is back answers when opened anew. */
const FAULTS_BEFORE_REOPENING = 3;
const LETTING_GO_MS = 500;

export interface ReopeningDriver extends ActuatorDriver {
  /** Lets go of what is open, and opens it by the settings of now; what fails is tried again at the next use. Never rejects. */
  openAnew(signal: AbortSignal): Promise<void>;
}

/** A driver that opens its hardware at the first use, again after a use that failed to, and anew when it fails again and again. */
export function reopeningDriver(
  config: ActuatorConfig,
  deps: DriverDeps,
  open: OpenDriver = opener(config, deps),
): ReopeningDriver {
  let opening: Promise<ActuatorDriver> | undefined;
  let faults = 0;
  let closed = false;
  let tellUnplugged = (_why: string): void => {};
  let tellReturned = (): void => {};
  let tellLateAnswer: LateAnswer = () => {};
  const openOnce = async (signal: AbortSignal): Promise<ActuatorDriver> => {
    const driver = await open(signal);
    driver.onUnplug?.((why) => tellUnplugged(why));
    driver.onReturn?.(() => tellReturned());
    driver.onLateAnswer?.((value, refusal) => tellLateAnswer(value, refusal));
    return driver;
  };
  const letGo = async (): Promise<void> => {
    const driver = await opening?.catch(() => undefined);
    opening = undefined;
    await driver?.close();
  };
  const use = async <T>(work: (driver: ActuatorDriver) => Promise<T>, signal: AbortSignal): Promise<T> => {
    opening ??= openOnce(signal).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    // An opening that hangs is waited for by each try anew; none of them may stay with it.
    const driver = await withinDeadline(opening, `opening what ${config.name} is on`, signal);
    try {
      const result = await work(driver);
      faults = 0;
      return result;
    } catch (error) {
      if (driver.mendsItself === true) throw error;
      faults += 1;
      if (faults >= FAULTS_BEFORE_REOPENING) {
        faults = 0;
        // Closing hardware that hangs may take as long as the hang.
        await endedWithin(deps.clock, LETTING_GO_MS, letGo());
      }
      throw error;
    }
  };
  return {
    write: (value, signal) => use((driver) => driver.write(value, signal), signal),
    ...(actuatorDefinition(config.kind).isReadable(config) && {
      read: (signal) => use((driver) => readFrom(driver.read, signal), signal),
    }),
    onUnplug: (listener) => {
      tellUnplugged = listener;
    },
    onReturn: (listener) => {
      tellReturned = listener;
    },
    onLateAnswer: (listener) => {
      tellLateAnswer = listener;
    },
    readLate: (signal) => use((driver) => readFrom(driver.readLate ?? driver.read, signal), signal),
    openAnew: async (signal) => {
      if (opening === undefined) return;
      await endedWithin(deps.clock, LETTING_GO_MS, letGo());
      if (!closed) await use(async () => {}, signal).catch(() => {});
    },
    close: async () => {
      if (closed) return;
      closed = true;
      await letGo();
    },
  };
}

/** Loaded when the actuator is made, not when it has to move; what failed is told, and tried again, when it is used. */
function opener(config: ActuatorConfig, deps: DriverDeps): OpenDriver {
  const load = (): Promise<OpenDriver> => loadOpener(config, deps);
  let loading = load();
  loading.catch(() => {});
  return async (signal) => {
    loading = loading.catch(load);
    return await (await loading)(signal);
  };
}

async function readFrom(read: ActuatorDriver['read'] | undefined, signal: AbortSignal): Promise<ActuatorValue> {
  if (read === undefined)
    throw new AgentError('actuators/unreadable', 'the hardware cannot be asked', { recovery: 'drop' });
  return await read(signal);
}
