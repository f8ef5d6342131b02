/**
 * A user's own driver: a JavaScript (or type-stripped TypeScript) file that exports `openSensor`. It runs inside the agent with all of its
 * rights, so the file must belong to root or to the agent's user, and nobody else may be able to write it.
 *
 *   export async function openSensor({ name, options, ports, clock, log, clientRpc }, signal) {
 *     return { read: async (signal) => [{ key: 'level', value: 1.5, unit: 'm' }], close: async () => {} };
 *   }
 */
import { stat } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { SensorConfigOf } from '../config/agent-config.ts';
import { messageOf } from '../errors.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { ClientRpc, SensorDeps } from './sensor-deps.ts';
import { sensorFault } from './sensor-fault.ts';

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

const WRITABLE_BY_OTHERS = 0o022;
const KEY = /^(?=.*\S)[^<>&"'\p{Cc},]{1,255}$/u;

export async function openModule(
  config: SensorConfigOf<'module'>,
  { ports, clock, log, clientRpc = noPlatform }: SensorDeps,
  signal: AbortSignal,
): Promise<Sensor> {
  const { name, file, options } = config;
  const open = await loadDriver(file);
  let driver: ModuleSensor;
  try {
    driver = await open({ name, options, ports, clock, log, clientRpc }, signal);
  } catch (cause) {
    throw sensorFault('module-failed', `${file}: ${messageOf(cause)}`, cause);
  }
  const { subscribe } = driver;
  return {
    name,
    ...(driver.speaksByItself !== undefined && { speaksByItself: driver.speaksByItself }),
    read: async (readSignal) => {
      try {
        return checkReadings(await driver.read(readSignal), file);
      } catch (cause) {
        throw sensorFault('module-failed', `${file}: ${messageOf(cause)}`, cause);
      }
    },
    ...(subscribe !== undefined && {
      subscribe: (listener) => subscribe.call(driver, (readings) => listener(checkReadings(readings, file))),
    }),
    close: async () => await driver.close?.(),
  } satisfies Sensor;
}

/** For drivers that are opened without an agent, by the command line. */
async function noPlatform(): Promise<never> {
  throw sensorFault('no-platform', 'there is no platform to ask: the agent does not run');
}

/** A driver that returns anything else than readings must not reach the outbox. @throws AgentError `sensors/bad-reading` (retry). */
export function checkReadings(readings: unknown, file: string): readonly Reading[] {
  if (!Array.isArray(readings)) throw sensorFault('bad-reading', `${file}: read() gives no list of readings`);
  return readings.map((reading: Partial<Reading> | null | undefined) => {
    const { key, value, unit, takenAtMs } = reading ?? {};
    if (typeof key !== 'string' || !KEY.test(key)) throw sensorFault('bad-reading', `${file}: a reading without a usable key`);
    if (value === undefined || value === null || (typeof value === 'number' && !Number.isFinite(value)))
      throw sensorFault('bad-reading', `${file}: no value for ${key}`);
    return {
      key,
      value,
      ...(typeof unit === 'string' && { unit }),
      ...(typeof takenAtMs === 'number' && Number.isFinite(takenAtMs) && { takenAtMs }),
    };
  });
}

async function loadDriver(file: string): Promise<OpenModuleSensor> {
  try {
    const { mode, uid } = await stat(file);
    if ((mode & WRITABLE_BY_OTHERS) !== 0 || (uid !== 0 && uid !== process.getuid?.())) {
      throw sensorFault('module-unsafe', 'it must belong to root or to the agent, and only its owner may write it (chmod go-w)');
    }
    // Another modification time is another module: a reload takes up a changed driver.
    const { mtimeMs } = await stat(file);
    const { openSensor } = (await import(`${pathToFileURL(file).href}?${mtimeMs}`)) as { readonly openSensor?: unknown };
    if (typeof openSensor !== 'function') throw sensorFault('module-failed', 'it exports no function openSensor');
    return openSensor as OpenModuleSensor;
  } catch (cause) {
    throw sensorFault('module-failed', `the driver ${file} cannot be used: ${messageOf(cause)}`, cause);
  }
}
