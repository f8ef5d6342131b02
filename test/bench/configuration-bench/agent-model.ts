/**
 * A model of the agent's process, as far as a trial looks at it: it takes a file up with the agent's own reader, reads its sensors, moves the
 * output of the router, uploads and polls. The parts that take, judge and settle configurations are the agent's own.
 */
import { arbitrate, reduce } from '../../../src/actuators/priority-array.ts';
import { EMPTY_SLOTS, type SlotEvent, type Slots } from '../../../src/actuators/priority-slots.ts';
import { thisMachine } from '../../../src/agent/machine.ts';
import { ConfigFile } from '../../../src/config/config-file.ts';
import { ConfigError } from '../../../src/config/fields/config-fault.ts';
import type { AgentConfig, RuleConfig, SensorConfig } from '../../../src/config/schema/agent-config.ts';
import { leaveRequest } from '../../../src/firmware/swap-request.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import { AgentLog, silentLog } from '../../../src/host/log.ts';
import {
  type ConfigurationState,
  REMOTE_CONFIGURATION_FORMAT,
  RemoteConfig,
} from '../../../src/remote-config/remote-config.ts';
import type { SeenOnTrial } from '../../../src/remote-config/trial-judge.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { CONFIG_FILE, HELD_LINE, PLATFORM_URL, TOKEN } from './ground.ts';
import { Life, livingFiles } from './living-files.ts';
import { PATHS, type World } from './world.ts';

const TICK_MS = 5_000;
const UPLOAD_EVERY_MS = 10_000;
const POLL_MS = 30_000;
/** A poll that ends sooner does not stand. */
const STANDS_AFTER_MS = 3_000;
const FIRST_READING_MS = 700;
/** All temperatures of this world, °C. */
const TEMPERATURE = 20;
const TMP102_ADDRESS = 0x48;
const DOOR_LINE = 'GPIO17';
/** The configuration is wrong: systemd does not start the agent again. */
export const EXIT_CONFIG = 78;
const EXIT_CRASH = 1;
const CRASHES_AFTER_MS = 2_000;

interface Reading {
  readonly config: string;
  readonly baseMs: number;
}

export class AgentModel {
  readonly life = new Life('agent');
  readonly #world: World;
  readonly #file: ConfigFile;
  /** As it began: platform and outputs are those of it until a restart. */
  readonly #started: AgentConfig;
  readonly #stop = new AbortController();
  #remote: RemoteConfig | undefined;
  #slots: Slots = EMPTY_SLOTS;
  #readings: ReadonlyMap<string, Reading> = new Map();
  readonly #rulesSince = new Map<string, number>();
  #acknowledgedAtMs: number | undefined;
  /** Since when the platform has been reached without a break. */
  #reachesSinceMs: number | undefined;

  private constructor(world: World, file: ConfigFile, config: AgentConfig) {
    this.#world = world;
    this.#file = file;
    this.#started = config;
  }

  /** Starts with the file in place; returns the status with which it ends where it does not take it. */
  static async start(world: World): Promise<AgentModel | number> {
    const { clock } = world;
    const log = new AgentLog({ level: 'error', clock, sink: { write: () => {} } });
    const place = {
      configFile: CONFIG_FILE,
      environment: {},
      machine: { ...thisMachine, loadConfig: () => world.load() },
    };
    const first = await ConfigFile.read(place).catch((error: unknown) => {
      if (error instanceof ConfigError) return undefined;
      throw error;
    });
    if (first === undefined) return EXIT_CONFIG;
    const alerts = new AlertList(silentLog);
    const file = new ConfigFile({ place, clock, log, alerts, prepare: async () => {} }, first);
    const agent = new AgentModel(world, file, first.config);
    await agent.#open();
    return agent;
  }

  get remote(): RemoteConfig {
    if (this.#remote === undefined) throw new Error('open() comes first');
    return this.#remote;
  }

  /** Takes the file up again; a faulty one changes nothing. */
  async reload(): Promise<void> {
    await this.#file.readAgain().catch((error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
    });
    if (this.life.isOver) return;
    this.#crashIfBad();
    this.#takeUp(false);
  }

  end(): void {
    this.life.end();
    this.#stop.abort();
  }

  async #open(): Promise<void> {
    const { clock, memory, steps } = this.#world;
    const living = livingFiles(memory, this.life, steps);
    const files = updateFiles(living);
    this.#remote = new RemoteConfig({
      clock,
      log: silentLog,
      files,
      paths: PATHS,
      settings: () => this.#file.live.current.remoteConfiguration,
      runningHash: () => this.#file.fileHash,
      readInPlace: async () => memory.contentOf(CONFIG_FILE),
      check: (bytes) => this.#world.check(bytes),
      restartFor: (config) => this.#file.restartFor(config),
      busy: () => undefined,
      readingWithin: (ms, config) => this.#readingWithin(ms, config),
      observe: (sinceMs) => this.#observe(sinceMs),
      expectHelper: async () => {},
      leaveRequest: (request) => leaveRequest({ files, paths: PATHS, clock }, request),
      file: new StateFile({
        ...REMOTE_CONFIGURATION_FORMAT,
        path: '/var/lib/turnstone/remote-configuration.json',
        files: living,
        clock,
        log: silentLog,
      }),
      newId: () => this.#world.newId(),
      onState: (state: ConfigurationState) => this.#world.tell(state),
    });
    this.#slot({ kind: 'started', start: this.#safeStart(), atMs: clock.monotonicMs() });
    this.#takeUp(true);
    this.#crashIfBad();
    void this.#remote.run(this.#stop.signal);
    this.#tickIn(TICK_MS);
  }

  #crashIfBad(): void {
    if (!this.#world.crashing.has(this.#file.fileHash ?? '')) return;
    this.#world.clock.after(CRASHES_AFTER_MS, () => {
      if (!this.life.isOver) void this.#world.ended(this, EXIT_CRASH);
    });
  }

  #tickIn(ms: number): void {
    this.#world.clock.after(ms, () => {
      if (this.life.isOver) return;
      this.#tick();
      this.#tickIn(TICK_MS);
    });
  }

  #tick(): void {
    const world = this.#world;
    const nowMs = world.clock.monotonicMs();
    for (const rule of this.#routerRules()) {
      const sensor = rule.when?.sensor;
      const isRead = sensor === undefined || this.#readAtMs(sensor) !== undefined;
      const version = JSON.stringify(rule);
      const sinceMs = this.#rulesSince.get(version) ?? nowMs;
      this.#rulesSince.set(version, sinceMs);
      const isDue = nowMs - sinceMs >= (rule.when?.forMs ?? 0);
      if (isRead && (isDue || !holds(rule)))
        this.#slot({ kind: 'read', rule: rule.name, holds: holds(rule), atMs: nowMs });
    }
    this.#moveRouter();
    if (!this.#reaches()) {
      this.#reachesSinceMs = undefined;
      return;
    }
    this.#reachesSinceMs ??= nowMs;
    if (nowMs - (this.#acknowledgedAtMs ?? Number.NEGATIVE_INFINITY) < UPLOAD_EVERY_MS) return;
    this.#acknowledgedAtMs = nowMs;
    world.hear();
  }

  #takeUp(isStart: boolean): void {
    const nowMs = this.#world.clock.monotonicMs();
    const before = this.#readings;
    this.#readings = new Map(
      this.#file.live.current.sensors
        .filter(({ enabled }) => enabled)
        .map((sensor) => {
          const config = JSON.stringify(sensor);
          const known = before.get(sensor.name);
          return [sensor.name, known?.config === config ? known : { config, baseMs: nowMs + FIRST_READING_MS }];
        }),
    );
    const rules = this.#routerRules().map((rule) => ({
      name: rule.name,
      protect: rule.protect,
      set: isOn(rule.set.value),
      ...(rule.otherwise !== undefined && { otherwise: isOn(rule.otherwise) }),
      version: JSON.stringify(rule),
    }));
    this.#slot({ kind: 'configured', rules, isStart, atMs: nowMs });
    this.#moveRouter();
  }

  #slot(event: SlotEvent): void {
    this.#slots = reduce(this.#slots, event);
  }

  /** Nobody who says anything leaves it as it is. */
  #moveRouter(): void {
    const winner = arbitrate(this.#slots);
    if (winner !== undefined) this.#world.isRouterOn = winner.value === true;
  }

  #safeStart(): boolean | undefined {
    const router = this.#started.actuators.find(({ name }) => name === 'router');
    return router?.safe.start === undefined ? undefined : isOn(router.safe.start);
  }

  #routerRules(): readonly RuleConfig[] {
    return this.#file.live.current.rules.filter(({ enabled, set }) => enabled && set.actuator === 'router');
  }

  #reaches(): boolean {
    const { url, accessToken, caFile, proxy } = this.#started.platform;
    return (
      this.#world.isRouterOn &&
      new URL(url).origin === PLATFORM_URL &&
      accessToken?.reveal() === TOKEN &&
      caFile === this.#world.ground.path('ca.pem') &&
      proxy === undefined
    );
  }

  #readAtMs(name: string): number | undefined {
    const reading = this.#readings.get(name);
    const sensor = this.#file.live.current.sensors.find((one) => one.name === name);
    const nowMs = this.#world.clock.monotonicMs();
    if (reading === undefined || sensor === undefined || !isThere(sensor) || nowMs < reading.baseMs) return undefined;
    const periodMs = sensor.periodMs ?? POLL_MS;
    return reading.baseMs + Math.floor((nowMs - reading.baseMs) / periodMs) * periodMs;
  }

  #readingWithin(ms: number, { sensors }: AgentConfig): readonly string[] {
    const sinceMs = this.#world.clock.monotonicMs() - ms;
    return sensors.flatMap(({ name, enabled }) =>
      enabled && (this.#readAtMs(name) ?? Number.NEGATIVE_INFINITY) > sinceMs ? [name] : [],
    );
  }

  #observe(sinceMs: number): Omit<SeenOnTrial, 'nowMs'> {
    const stands = this.#pollStoodSince(sinceMs);
    return {
      acknowledgedAtMs: this.#acknowledgedAtMs,
      standing: { commands: stands, attributes: stands },
      readAtMs: new Map(
        [...this.#readings.keys()].flatMap((name) => {
          const atMs = this.#readAtMs(name);
          return atMs === undefined ? [] : [[name, atMs]];
        }),
      ),
      faulty: this.#started.actuators.flatMap((output) =>
        'line' in output && output.line === HELD_LINE
          ? [{ name: output.name, fault: 'something else holds the line' }]
          : [],
      ),
    };
  }

  /** Polls follow each other while the platform is reached; the newest that has lasted long enough counts. */
  #pollStoodSince(sinceMs: number): boolean {
    const reachesMs = this.#reachesSinceMs;
    if (reachesMs === undefined) return false;
    const standsMs = this.#world.clock.monotonicMs() - reachesMs - STANDS_AFTER_MS;
    return standsMs >= 0 && reachesMs + Math.floor(standsMs / POLL_MS) * POLL_MS > sinceMs;
  }
}

function isThere(sensor: SensorConfig): boolean {
  if (sensor.kind === 'tmp102') return sensor.address === TMP102_ADDRESS;
  if (sensor.kind === 'gpio-input') return sensor.line === DOOR_LINE;
  return sensor.kind === 'host';
}

function isOn(value: unknown): boolean {
  return value === true || value === 'on';
}

function holds({ when }: RuleConfig): boolean {
  if (when?.above !== undefined) return TEMPERATURE > when.above;
  if (when?.below !== undefined) return TEMPERATURE < when.below;
  return true;
}
