/**
 * A configuration at work: the real agent on a simulated board that fits it, before a local platform, in virtual time. A test holds what the sensors
 * see, lets time pass, and looks at lines and at what has arrived.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { boardForConfig } from '../../src/cli/board-for-config.ts';
import { faultLine } from '../../src/config/fields/config-fault.ts';
import { readConfig } from '../../src/config/read-config.ts';
import type { AgentConfig } from '../../src/config/schema/agent-config.ts';
import type { BoardFault } from '../../src/hardware/board-protocol.ts';
import { actuatorDefinition } from '../../src/kinds/actuator-kinds.ts';
import { definitionOf } from '../../src/kinds/sensor-kinds.ts';
import { loadTwins } from '../../src/kinds/twins.ts';
import type { Connect } from '../../src/platform/connections.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { StoredValue } from '../../src/stand-ins/local-platform/stored-value.ts';
import { parseBoardConfig } from '../../src/stand-ins/simulated-board/board-config.ts';
import { operationsOf } from '../../src/stand-ins/simulated-board/board-operations.ts';
import { BoardRecord } from '../../src/stand-ins/simulated-board/board-record.ts';
import { SimulatedBoard } from '../../src/stand-ins/simulated-board/simulated-board.ts';
import type { AgentStatus } from '../../src/status/shape/agent-status.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { BoardClock, WORLD_BEGINS_MS } from '../simulation/board-clock.ts';
import { Boot } from '../simulation/boot.ts';
import { Chance } from '../simulation/chance.ts';
import { Life } from '../simulation/life.ts';
import { Network } from '../simulation/network.ts';
import { Pins } from '../simulation/pins.ts';
import { Timeline } from '../simulation/timeline.ts';
import { MemoryFiles } from './memory-files.ts';

/** Set for configurations that take their secrets from the environment. */
export const RECIPE_SECRETS = {
  TURNSTONE_TOKEN: 'token-of-the-recipe',
  PROVISION_KEY: 'key-of-the-recipe',
  PROVISION_SECRET: 'secret-of-the-recipe',
  STATUS_PIN: '471199',
} as const;

const GATEWAY = 'gateway';
const SEED = 7;
const START_STEP_MS = 100;
/** So long a person waits for the answer to a command. */
const CALL_TIMEOUT_MS = 20_000;

/** What sensors see, by the board's name of it: `GPIO22`, `28-…`, `i2c-1:0x48/A0`, `/dev/ttyUSB0:1/input/52`. */
type Held = Readonly<Record<string, number>>;

interface RecipeOptions {
  /** UTC, which is local time here: `2026-07-03T04:00Z`. */
  readonly beginsAt?: string;
  readonly held?: Held;
  /** Nothing passes between the gateway and the platform. */
  readonly isOffline?: boolean;
}

/** Counts what its connections carry for the account of the link, all of it as uploads. */
class CountedNetwork extends Network {
  override connectFor(life: Parameters<Network['connectFor']>[0]): Connect {
    const connect = super.connectFor(life);
    return (settings) => {
      const connections = connect(settings);
      return {
        origin: connections.origin,
        prefix: connections.prefix,
        secrets: connections.secrets,
        lane: (lane) => connections.lane(lane),
        close: () => connections.close(),
        get traffic() {
          const { sentBytes, receivedBytes } = connections.traffic;
          const lanes = {
            upload: sentBytes + receivedBytes,
            calls: 0,
            'attribute-poll': 0,
            'rpc-poll': 0,
            download: 0,
          };
          return { sentBytes, receivedBytes, lanes };
        },
      };
    };
  }
}

export class RecipeWorld {
  /** Uploads of telemetry that reached the line. */
  uploads = 0;
  readonly #platform: LocalPlatform;
  readonly #timeline: Timeline;
  readonly #board: SimulatedBoard;
  readonly #record: BoardRecord;
  readonly #life: Life;
  readonly #reconnect: () => void;

  private constructor(parts: {
    readonly network: Network;
    readonly platform: LocalPlatform;
    readonly timeline: Timeline;
    readonly board: SimulatedBoard;
    readonly record: BoardRecord;
    readonly life: Life;
    readonly isOffline: boolean;
  }) {
    this.#platform = parts.platform;
    this.#reconnect = parts.isOffline ? parts.network.worsen({ isDown: true }) : () => {};
    parts.network.intercept(({ method, path }) => {
      if (method === 'POST' && path.endsWith('/telemetry')) this.uploads += 1;
      return undefined;
    });
    this.#timeline = parts.timeline;
    this.#board = parts.board;
    this.#record = parts.record;
    this.#life = parts.life;
  }

  /** Starts the agent with this configuration; it is closed when the test has finished. */
  static async start(yaml: string, options: RecipeOptions = {}): Promise<RecipeWorld> {
    vi.stubEnv('TZ', 'UTC');
    const config = await goodConfig(yaml);
    // In virtual time nothing waits for a disk: what the agent loads when a configuration names it is loaded before.
    await Promise.all(config.sensors.map(({ kind }) => definitionOf(kind).driver()));
    await Promise.all(config.actuators.map(({ kind }) => actuatorDefinition(kind).driver()));
    const twins = await loadTwins();
    const timeline = new Timeline();
    const chance = new Chance(SEED);
    const boot = new Boot(timeline, 'boot-1');
    const wrongByMs = options.beginsAt === undefined ? 0 : Date.parse(options.beginsAt) - WORLD_BEGINS_MS;
    const clockOf = (name: string): BoardClock =>
      new BoardClock(timeline, { boot, wrongByMs, jitter: chance.fork(name).random });
    const boardClock = clockOf('board');
    const record = new BoardRecord({ clock: boardClock });
    const fitting = parseBoardConfig(boardForConfig(config, twins));
    const board = new SimulatedBoard(fitting, { clock: boardClock, record, twins });
    const platform = await LocalPlatform.start({ port: 'none', clock: clockOf('platform') });
    const { PROVISION_KEY: key, PROVISION_SECRET: secret } = RECIPE_SECRETS;
    if (config.platform.accessToken === undefined) platform.allowProvisioning({ key, secret });
    else platform.ensureDevice(GATEWAY, RECIPE_SECRETS.TURNSTONE_TOKEN);
    const network = new CountedNetwork(timeline, chance.fork('network'), config.devices.length);
    network.platform = platform;
    for (const [target, value] of Object.entries(options.held ?? {})) board.bench.hold(target, value);
    const random = chance.fork('agent');
    const life = new Life({
      clock: clockOf('gateway'),
      boot,
      files: new MemoryFiles({ memoryFolders: ['/run/turnstone'], keepsChanges: false }),
      randomBytes: (count) => Buffer.from(Array.from({ length: count }, () => random.between(0, 255))),
      network,
      operations: operationsOf(board),
      later: (_port, deliver) => deliver(),
      pins: new Pins(() => timeline.nowMs),
      runProgram: () => Promise.reject(new Error('no program runs here')),
      serial: 'board-1',
      config: () => ({ config, missing: [] }),
      configBytes: () => Buffer.alloc(0),
      readConfig: () => Promise.reject(new Error('the file stays as it is')),
      isSynchronised: () => true,
      onDurable: () => {},
      onLog: () => {},
    });
    const world = new RecipeWorld({
      network,
      platform,
      timeline,
      board,
      record,
      life,
      isOffline: options.isOffline === true,
    });
    onTestFinished(() => world.#close());
    await world.#untilRunning();
    return world;
  }

  /** Lets time pass. */
  async pass(time: string): Promise<void> {
    await this.#timeline.runUntil(this.#timeline.nowMs + msOf(time));
  }

  /** Holds what sensors see. */
  hold(held: Held): void {
    for (const [target, value] of Object.entries(held)) this.#board.bench.hold(target, value);
  }

  /** Holds what sensors see, and lets time pass. */
  async see(held: Held, time: string): Promise<void> {
    this.hold(held);
    await this.pass(time);
  }

  fault(target: string, fault: BoardFault): void {
    this.#board.bench.fault(target, fault);
  }

  /** The network comes back. */
  reconnect(): void {
    this.#reconnect();
  }

  /** True while the line is high. */
  isOn(line: string): boolean {
    return this.#board.bench.moves(line).at(-1)?.level === 1;
  }

  /** Duty of a PWM channel in percent. */
  duty(channel: string): number | undefined {
    const state = this.#record.movesOf(channel).at(-1)?.value as JsonObject | undefined;
    return state === undefined ? undefined : (100 * Number(state.dutyNs)) / Number(state.periodNs);
  }

  /** Names of the devices that the platform knows. */
  get devices(): readonly string[] {
    return this.#platform.state.registry.devices.all.map(({ name }) => name).sort();
  }

  /** Values of a key that have arrived, oldest first. */
  arrived(key: string, device = this.#gateway): readonly StoredValue[] {
    const { id } = this.#platform.state.registry.byName(device) ?? { id: '' };
    const series = this.#platform.state.telemetry.series(id, key);
    return [...series.scan(0, Number.MAX_SAFE_INTEGER)].map(({ value }) => value);
  }

  latest(key: string, device?: string): StoredValue | undefined {
    return this.arrived(key, device).at(-1);
  }

  /** Sends a command from a dashboard; resolves with its answer, within virtual time. */
  async command(method: string, params: JsonObject): Promise<unknown> {
    const { id } = this.#platform.state.registry.byName(this.#gateway) ?? { id: '' };
    const call = this.#platform.rpc.call(id, { method, params, oneway: false, timeoutMs: CALL_TIMEOUT_MS });
    await this.#timeline.runUntil(this.#timeline.nowMs + CALL_TIMEOUT_MS);
    return await call;
  }

  get status(): AgentStatus {
    if (this.#life.agent === undefined) throw new Error('the agent does not run');
    return this.#life.agent.status();
  }

  get #gateway(): string {
    return this.#platform.state.registry.byName(GATEWAY) === undefined ? this.status.deviceName : GATEWAY;
  }

  async #untilRunning(): Promise<void> {
    let how: string | undefined;
    void this.#life.ended.then((ended) => {
      how = ended;
    });
    while (this.#life.agent === undefined) {
      if (how !== undefined) throw new Error(`the agent ended: ${how}`);
      await this.pass(`${START_STEP_MS}ms`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async #close(): Promise<void> {
    this.#life.kill();
    this.#board.close();
    await this.#platform.close();
    vi.unstubAllEnvs();
  }
}

/** Registers of a float32, high word first. */
export function float32(target: string, value: number): Held {
  const [, place = '', address = ''] = /^(.*\/)(\d+)$/.exec(target) ?? [];
  const bytes = Buffer.alloc(4);
  bytes.writeFloatBE(value);
  return {
    [`${place}${address}`]: bytes.readUInt16BE(0),
    [`${place}${Number(address) + 1}`]: bytes.readUInt16BE(2),
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function msOf(time: string): number {
  const [, count, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(time) ?? [];
  const unitMs = UNITS[unit];
  if (unitMs === undefined) throw new Error(`no time: ${time}`);
  return Number(count) * unitMs;
}

/** Reads the configuration with the real reader; a recipe gives no warning. */
async function goodConfig(yaml: string): Promise<AgentConfig> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-recipe-'));
  try {
    const file = join(folder, 'turnstone.yaml');
    await writeFile(file, yaml, { mode: 0o600 });
    const { config, faults, warnings } = await readConfig(file, { environment: RECIPE_SECRETS });
    const words = [...faults, ...warnings].map((fault) => faultLine('recipe', fault));
    if (config === undefined || words.length > 0) throw new Error(words.join('\n'));
    return config;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
