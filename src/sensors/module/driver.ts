/**
 * A user's own driver: a JavaScript (or type-stripped TypeScript) file that exports `openSensor`. It runs with all rights of the agent's user, in a
 * process of its own: what it throws, what goes astray in it, and what stands still in it fails its sensor alone. The file must belong to root or to
 * the agent's user, and nobody else may be able to write it.
 *
 *   export async function openSensor({ name, options, ports, clock, log, clientRpc }, signal) {
 *     return { read: async (signal) => [{ key: 'level', value: 1.5, unit: 'm' }], close: async () => {} };
 *   }
 */
import { messageOf } from '../../errors/agent-error.ts';
import type { Ports } from '../../hardware/ports.ts';
import { endedWithin } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';
import { type DriverProcess, startDriverProcess } from '../../host/driver-process.ts';
import type { Log } from '../../host/log.ts';
import { expectSafeCode } from '../../host/user-code.ts';
import { valueFault } from '../../platform/wire-values.ts';
import { type JsonValue, stringifyJson } from '../../values/json.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { ClientRpc, SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { ModuleConfig } from './definition.ts';
import { methodsOf, Peer } from './peer.ts';

/** Dependencies of a driver file. */
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

/** Sensor that a driver file returns; `subscribe` and `speaksByItself` as in sensor.ts. */
export type ModuleSensor = Omit<Sensor, 'name' | 'close'> & { readonly close?: () => Promise<void> };
export type OpenModuleSensor = (context: ModuleContext, signal: AbortSignal) => Promise<ModuleSensor>;

const MAX_SHOWN_KEY_LENGTH = 80;
const MAX_SAID_LENGTH = 500;
/** A driver that makes nonsense up again with every read must not fill the log. */
const MAX_TOLD = 20;

/** So long after its deadline a driver may take to say that it is there; then it stands still. */
const ANSWERS_WITHIN_MS = 2_000;
const CLOSES_WITHIN_MS = 2_000;
const EXITS_WITHIN_MS = 1_000;
const ROOMS = ['gpio', 'i2c', 'serial', 'oneWire', 'pwm', 'modbus'] as const;

export async function open(
  { name, file, options }: ModuleConfig,
  deps: SensorDeps,
  signal: AbortSignal,
): Promise<Sensor> {
  const { log, clientRpc = noPlatform } = deps;
  const failed = (cause: unknown): Error => sensorFault('module-failed', `${file}: ${messageOf(cause)}`, cause);
  await expectSafeCode(file).catch((cause: unknown) => {
    throw failed(cause);
  });
  const owner = {
    stray: (words: unknown, stack: unknown): void => {
      log.error(
        { sensor: name, file, reason: String(stack) },
        'a fault that this driver does not handle; it is opened anew',
      );
      void driver.end(`a fault that it does not handle: ${String(words)}`);
    },
  };
  const rooms: Readonly<Record<string, object>> = Object.fromEntries(
    ROOMS.flatMap((room) => (deps.ports[room] === undefined ? [] : [[room, deps.ports[room]]])),
  );
  const driver = new RunningDriver(
    { ...rooms, owner, log: boundedLog(log, name), platform: { clientRpc } },
    deps.clock,
    (reason) => log.error({ sensor: name, file, reason }, 'a driver that stands still was killed; it is opened anew'),
  );
  driver.onPrint((text) => log.info({ said: excerptOf(text.trimEnd()) }, `the driver of ${name} prints`));
  try {
    const methods = Object.fromEntries(
      Object.entries(rooms).map(([room, port]) => [room, methodsOf(port).filter((method) => method !== 'close')]),
    );
    const opened = await driver.call('open', [file, { name, options }, methods, signal], signal);
    return sensorOver(driver, { name, file, opened: opened as Opened, failed }, log);
  } catch (cause) {
    await endedWithin(deps.clock, CLOSES_WITHIN_MS, driver.end('it could not be opened'));
    throw failed(cause);
  }
}

interface Opened {
  readonly speaksByItself?: boolean;
  readonly subscribes: boolean;
}

interface About {
  readonly name: string;
  readonly file: string;
  readonly opened: Opened;
  readonly failed: (cause: unknown) => Error;
}

function sensorOver(driver: RunningDriver, { name, file, opened, failed }: About, log: Log): Sensor {
  const told = new Set<string>();
  const onBad = (problem: string): void => {
    if (told.has(problem) || told.size >= MAX_TOLD) return;
    told.add(problem);
    log.warn({ sensor: name, problem }, 'a reading of this driver is left out; the others are delivered');
  };
  return {
    name,
    ...(opened.speaksByItself !== undefined && { speaksByItself: opened.speaksByItself }),
    read: async (signal) => {
      try {
        return checkReadings(await driver.call('read', [signal], signal), file, onBad);
      } catch (cause) {
        throw failed(cause);
      }
    },
    ...(opened.subscribes && {
      subscribe: (listener: (readings: readonly Reading[]) => void) => {
        const take = (readings: unknown): void => listener(checkReadings(readings, file, onBad));
        void driver.call('subscribe', [take]).catch(() => {});
        return () => void driver.call('unsubscribe', []).catch(() => {});
      },
    }),
    close: () => driver.close(),
  };
}

/** A driver's process, which is killed when it stands still. */
class RunningDriver {
  readonly #clock: Clock;
  readonly #onKilled: (reason: string) => void;
  readonly #process: DriverProcess;
  readonly #peer: Peer;

  constructor(offered: Readonly<Record<string, object>>, clock: Clock, onKilled: (reason: string) => void) {
    this.#clock = clock;
    this.#onKilled = onKilled;
    this.#process = startDriverProcess(clock);
    this.#peer = new Peer(this.#process.link, offered, () => this.#howEnded());
  }

  /** @throws what the driver throws, or Error once its process has ended. */
  async call(method: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    const expectAnswer = (): void => this.#expectAnswer();
    signal?.addEventListener('abort', expectAnswer, { once: true });
    try {
      return await this.#peer.call('driver', method, args, signal);
    } finally {
      signal?.removeEventListener('abort', expectAnswer);
    }
  }

  onPrint(listener: (text: string) => void): void {
    this.#process.onPrint(listener);
  }

  /** Resolves when the agent has back what it opened for the driver. */
  async end(reason: string): Promise<void> {
    this.#process.kill();
    await this.#peer.end(new Error(reason));
  }

  /** In good order within two seconds. */
  async close(): Promise<void> {
    await endedWithin(
      this.#clock,
      CLOSES_WITHIN_MS,
      this.#peer.call('driver', 'close', []).catch(() => {}),
    );
    await endedWithin(this.#clock, CLOSES_WITHIN_MS, Promise.all([this.end('it is closed'), this.#process.ended]));
  }

  /** The link ends a little before its process does. */
  async #howEnded(): Promise<string> {
    const { exited } = this.#process;
    return (await endedWithin(this.#clock, EXITS_WITHIN_MS, exited))
      ? await exited
      : 'its process has closed its link to the agent';
  }

  /** One that waits for something answers all the same. */
  #expectAnswer(): void {
    const cancel = this.#clock.after(ANSWERS_WITHIN_MS, () => {
      const reason = `it stood still for ${ANSWERS_WITHIN_MS / 1_000} s after its deadline, and its process was killed`;
      this.#onKilled(reason);
      void this.end(reason);
    });
    this.#peer.call('driver', 'ping', []).then(cancel, cancel);
  }
}

/** Levels as methods, cut to length. The message is the agent's own: by it the log counts what it sums up, however a driver words a flood. */
function boundedLog(log: Log, sensor: string): object {
  const line =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: unknown, message: unknown): void =>
      log[level]({ said: excerptOf(message), fields: excerptOf(fields) }, `the driver of ${sensor} says`);
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

function excerptOf(value: unknown): string {
  return (typeof value === 'string' ? value : stringifyJson((value ?? null) as JsonValue)).slice(0, MAX_SAID_LENGTH);
}

/** For drivers that are opened without an agent, by the command line. */
async function noPlatform(): Promise<never> {
  throw sensorFault('no-platform', 'there is no platform to ask: the agent does not run');
}

/**
 * A driver that returns anything else than readings must not reach the outbox; one bad reading does not cost the others. `onBad` is told of
 * each that is left out. @throws AgentError `sensors/bad-reading` (retry) for no list, or one in which nothing is good.
 */
export function checkReadings(
  readings: unknown,
  file: string,
  onBad: (problem: string) => void = () => {},
): readonly Reading[] {
  if (!Array.isArray(readings)) throw sensorFault('bad-reading', `${file}: read() gives no list of readings`);
  const problems: string[] = [];
  const good = readings.flatMap((reading: Partial<Reading> | null | undefined): Reading[] => {
    const { key, value, unit, takenAtMs } = reading ?? {};
    const problem = typeof key === 'string' && key !== '' ? valueProblem(key, value) : 'a reading without a key';
    if (typeof key === 'string' && value !== undefined && problem === undefined)
      return [
        { key, value, ...(typeof unit === 'string' && { unit }), ...(typeof takenAtMs === 'number' && { takenAtMs }) },
      ];
    problems.push(problem ?? '');
    return [];
  });
  if (good.length === 0 && problems[0] !== undefined) throw sensorFault('bad-reading', `${file}: ${problems[0]}`);
  for (const problem of problems) onBad(problem);
  return good;
}

function valueProblem(key: string, value: JsonValue | undefined): string | undefined {
  const fault = value === undefined ? 'there is none' : valueFault(value);
  return fault === undefined
    ? undefined
    : `no value for ${JSON.stringify(key.slice(0, MAX_SHOWN_KEY_LENGTH))}: ${fault}`;
}
