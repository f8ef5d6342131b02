/** One life of the agent, from its start to its stop, its kill, or its own end. A killed one is dead: none of its ports answers any more. */

import { Agent } from '../../src/agent/agent.ts';
import type { Machine } from '../../src/agent/machine.ts';
import type { FileConfig } from '../../src/config/config-file.ts';
import type { ReadConfig } from '../../src/config/read-config.ts';
import { AgentError } from '../../src/errors/agent-error.ts';
import type { Files } from '../../src/host/files.ts';
import type { RunProgram } from '../../src/host/run-program.ts';
import { type LocalDoor, openLocalDoor } from '../../src/operations/local-door.ts';
import type { TelemetryEntry } from '../../src/outbox/format/telemetry-entry.ts';
import type { StatusServerDeps } from '../../src/page-server/page-server.ts';
import type { Operations } from '../../src/stand-ins/simulated-board/board-operations.ts';
import type { JsonObject, JsonValue } from '../../src/values/json.ts';
import type { BoardClock } from './board-clock.ts';
import type { Boot } from './boot.ts';
import { FieldLine } from './field.ts';
import { Mortality } from './mortal.ts';
import type { Network } from './network.ts';
import type { Pins } from './pins.ts';

export interface LifeDeps {
  readonly clock: BoardClock;
  readonly boot: Boot;
  readonly files: Files;
  readonly randomBytes: Machine['randomBytes'];
  readonly network: Network;
  readonly operations: Operations;
  /** Delivers what a serial port says, when it is due. */
  readonly later: (port: string | undefined, deliver: () => void) => void;
  readonly pins: Pins;
  readonly runProgram: RunProgram;
  /** Serial number of the board. */
  readonly serial: string;
  readonly config: () => FileConfig | Promise<FileConfig>;
  /** The file in place, where there is one, and what is to take its place. */
  readonly configBytes: () => Uint8Array;
  readonly readConfig: (bytes: Uint8Array) => Promise<ReadConfig>;
  readonly isSynchronised: () => boolean;
  readonly onDurable: (entries: readonly TelemetryEntry[]) => void;
  readonly onLog: (line: string) => void;
}

export class Life {
  readonly #mortality: Mortality;
  readonly #line: FieldLine;
  readonly #deps: LifeDeps;
  readonly #stopping = new AbortController();
  #agent: Agent | undefined;
  #door: LocalDoor | undefined;
  #page: StatusServerDeps | undefined;
  /** Resolves with how it ended: `stopped`, or what made the process end. Never after a kill. */
  readonly ended: Promise<string>;

  constructor(deps: LifeDeps) {
    this.#deps = deps;
    this.#mortality = new Mortality();
    this.#line = new FieldLine(deps);
    this.ended = this.#run();
  }

  get agent(): Agent | undefined {
    return this.#agent;
  }

  /** Answers of the local page, where the configuration has one and it is open. */
  get page(): StatusServerDeps | undefined {
    return this.isDead ? undefined : this.#page;
  }

  get isDead(): boolean {
    return this.#mortality.isDead;
  }

  /** Calls the agent as a user of the service's group on this machine. */
  async ask(operation: string, params: JsonObject): Promise<JsonValue> {
    if (this.#door === undefined || this.isDead) throw new Error('nobody listens');
    return await this.#door.ask(operation, params, this.#stopping.signal);
  }

  /** SIGTERM. */
  stop(): void {
    this.#stopping.abort();
  }

  /** SIGKILL, or the power: nothing of it acts from now on. */
  kill(): void {
    this.#mortality.kill();
    this.#deps.clock.kill();
    this.#line.cut();
  }

  async #run(): Promise<string> {
    const { clock, network, config, configBytes, readConfig, isSynchronised, onDurable, onLog } = this.#deps;
    const life = this.#mortality;
    // Each door by name, and none of this machine's: what a world does not have cannot be had in it.
    const machine: Machine = {
      clock,
      files: life.bind(this.#deps.files),
      randomBytes: this.#deps.randomBytes,
      loadConfig: async () => config(),
      readConfigBytes: async () => configBytes(),
      readConfig: async (_path, { bytes = configBytes() }) => await readConfig(bytes),
      connect: network.connectFor(life),
      openExternalFile: () => absent('nothing lies elsewhere'),
      runProgram: life.guard(this.#deps.runProgram),
      openHostMetrics: () => ({ read: () => absent('the board shows nothing of itself') }),
      diagnose: async () => ({ verdict: 'good' }),
      openPorts: () => this.#line.ports(clock),
      openStatusServer: async (deps) => {
        this.#page = deps;
        return { url: undefined, openPages: 0, close: async () => {} };
      },
      usage: () => ({ residentBytes: 80e6, heapUsedBytes: 20e6, cpuSeconds: 1 }),
      openWrittenBytes: async () => () => ({ own: 0 }),
      boardModel: async () => 'a board of the world',
      networkAddresses: () => ['192.0.2.7'],
      readIdentity: async () => ({ serial: this.#deps.serial, hostname: 'gateway' }),
      askSystemTime: async () => isSynchronised(),
      takeLock: async () => ({ close: async () => {} }),
      listen: async (deps) => {
        this.#door = openLocalDoor('site', deps);
        return { close: async () => {} };
      },
      logSink: { write: (line) => life.isDead || onLog(line) },
    };
    const tellDurable = (entries: readonly TelemetryEntry[]): void => {
      if (!life.isDead) onDurable(entries);
    };
    try {
      this.#agent = await Agent.start(
        { configFile: 'world', environment: {}, machine, onDurable: tellDurable },
        this.#stopping.signal,
      );
      await this.#agent.stopped;
      return life.isDead ? await new Promise<never>(() => {}) : 'stopped';
    } catch (error) {
      if (life.isDead) return await new Promise<never>(() => {});
      return `${error instanceof Error ? error.message : String(error)}`;
    } finally {
      this.kill();
    }
  }
}

function absent(what: string): Promise<never> {
  return Promise.reject(new AgentError('simulation/absent', what, { recovery: 'hold' }));
}
