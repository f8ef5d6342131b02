/**
 * A user's own driver: a JavaScript (or type-stripped TypeScript) file that exports `openSensor`. It runs inside the agent with all of its
 * rights, so the file must belong to root or to the agent's user, and nobody else may be able to write it. What it throws, and what goes astray
 * in it, fails its sensor alone.
 *
 *   export async function openSensor({ name, options, ports, clock, log, clientRpc }, signal) {
 *     return { read: async (signal) => [{ key: 'level', value: 1.5, unit: 'm' }], close: async () => {} };
 *   }
 */
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../errors.ts';
import type { Ports } from '../../hardware/ports.ts';
import type { Clock } from '../../host/clock.ts';
import type { JsonValue } from '../../host/json.ts';
import type { Log } from '../../host/log.ts';
import { expectSafeCode } from '../../host/user-code.ts';
import { valueFault } from '../../platform/wire-values.ts';
import type { Reading, Sensor } from '../sensor.ts';
import type { ClientRpc, SensorDeps } from '../sensor-deps.ts';
import { sensorFault } from '../sensor-fault.ts';
import type { ModuleConfig } from './definition.ts';
import { DriverInstance } from './driver-instance.ts';

/** What a driver file is given. */
export interface ModuleContext {
  readonly name: string;
  /** As the configuration has them. */
  readonly options: Readonly<Record<string, JsonValue>>;
  readonly ports: Ports;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks the platform's rule chain and gives its answer; rejects while the platform cannot be asked. */
  readonly clientRpc: ClientRpc;
}

/** What a driver file gives back; `subscribe` and `speaksByItself` as in sensor.ts. */
export type ModuleSensor = Omit<Sensor, 'name' | 'close'> & { readonly close?: () => Promise<void> };
export type OpenModuleSensor = (context: ModuleContext, signal: AbortSignal) => Promise<ModuleSensor>;

const MAX_SHOWN_KEY_LENGTH = 80;
/** A driver that makes nonsense up anew with every read must not fill the log. */
const MAX_TOLD = 20;

export async function open({ name, file, options }: ModuleConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { ports, clock, log, clientRpc = noPlatform } = deps;
  const onStray = (fault: unknown): void =>
    log.error({ sensor: name, file, reason: stackOf(fault) }, 'a fault that this driver does not handle; it is opened anew');
  const instance = new DriverInstance(file, onStray);
  const open = await instance.run(() => loadDriver(file));
  let driver: ModuleSensor;
  try {
    driver = await instance.run(() => open({ name, options, ports, clock, log, clientRpc }, signal));
  } catch (cause) {
    throw sensorFault('module-failed', `${file}: ${messageOf(cause)}`, cause);
  }
  const { subscribe } = driver;
  const told = new Set<string>();
  const onBad = (problem: string): void => {
    if (told.has(problem) || told.size >= MAX_TOLD) return;
    told.add(problem);
    log.warn({ sensor: name, problem }, 'a reading of this driver is left out; the others are delivered');
  };
  return {
    name,
    ...(driver.speaksByItself !== undefined && { speaksByItself: driver.speaksByItself }),
    read: async (readSignal) => {
      try {
        return checkReadings(await instance.run(() => driver.read(readSignal)), file, onBad);
      } catch (cause) {
        throw sensorFault('module-failed', `${file}: ${messageOf(cause)}`, cause);
      }
    },
    ...(subscribe !== undefined && {
      subscribe: (listener) => {
        const take = instance.callback((readings: readonly Reading[]) => listener(checkReadings(readings, file, onBad)));
        const end = instance.runNow(() => subscribe.call(driver, take));
        return () => instance.runNow(end);
      },
    }),
    close: async () => await instance.runNow(async () => await driver.close?.()),
  } satisfies Sensor;
}

function stackOf(fault: unknown): string {
  return fault instanceof Error ? (fault.stack ?? fault.message) : messageOf(fault);
}

/** For drivers that are opened without an agent, by the command line. */
async function noPlatform(): Promise<never> {
  throw sensorFault('no-platform', 'there is no platform to ask: the agent does not run');
}

/**
 * A driver that returns anything else than readings must not reach the outbox; one bad reading does not cost the others. `onBad` is told of
 * each that is left out. @throws AgentError `sensors/bad-reading` (retry) for no list, or one in which nothing is good.
 */
export function checkReadings(readings: unknown, file: string, onBad: (problem: string) => void = () => {}): readonly Reading[] {
  if (!Array.isArray(readings)) throw sensorFault('bad-reading', `${file}: read() gives no list of readings`);
  const problems: string[] = [];
  const good = readings.flatMap((reading: Partial<Reading> | null | undefined): Reading[] => {
    const { key, value, unit, takenAtMs } = reading ?? {};
    const problem = typeof key === 'string' && key !== '' ? valueProblem(key, value) : 'a reading without a key';
    if (typeof key === 'string' && value !== undefined && problem === undefined)
      return [{ key, value, ...(typeof unit === 'string' && { unit }), ...(typeof takenAtMs === 'number' && { takenAtMs }) }];
    problems.push(problem ?? '');
    return [];
  });
  if (good.length === 0 && problems[0] !== undefined) throw sensorFault('bad-reading', `${file}: ${problems[0]}`);
  for (const problem of problems) onBad(problem);
  return good;
}

function valueProblem(key: string, value: JsonValue | undefined): string | undefined {
  const fault = value === undefined ? 'there is none' : valueFault(value);
  return fault === undefined ? undefined : `no value for ${JSON.stringify(key.slice(0, MAX_SHOWN_KEY_LENGTH))}: ${fault}`;
}

async function loadDriver(file: string): Promise<OpenModuleSensor> {
  try {
    // Another time of change is another module: a reload takes up a changed driver.
    const changedAtMs = await expectSafeCode(file);
    const { openSensor } = (await import(`${pathToFileURL(file).href}?${changedAtMs}`)) as { readonly openSensor?: unknown };
    if (typeof openSensor !== 'function') throw sensorFault('module-failed', 'it exports no function openSensor');
    return openSensor as OpenModuleSensor;
  } catch (cause) {
    throw sensorFault('module-failed', `the driver ${file} cannot be used: ${messageOf(cause)}`, cause);
  }
}
