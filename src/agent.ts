/**
 * The wiring: opens every part in order, joins them, closes in reverse. It has no rule of its own.
 *
 *   configuration → lock → outbox → field (ports, actuators, sampler) → doors → ready
 *                                  └ platform: credentials, however long they take → uploader and the other loops
 */
import { AlertList } from './agent/alert-list.ts';
import { AppendRecord } from './agent/append-record.ts';
import { FieldSide } from './agent/field-side.ts';
import { keepRunning } from './agent/keep-running.ts';
import { openDoors } from './agent/local-doors.ts';
import { PlatformSide } from './agent/platform-side.ts';
import { connectionStatus, derivedAlerts, outboxSummary, sensorStatus } from './agent/status-of.ts';
import { TelemetryPath } from './agent/telemetry-path.ts';
import type { AgentConfig } from './config/agent-config.ts';
import { changedSections, configHash, secretsOf } from './config/config-diff.ts';
import { loadConfig } from './config/read-config.ts';
import type { ControlServer } from './control-socket/control-server.ts';
import { messageOf } from './errors.ts';
import { type Clock, systemClock } from './host/clock.ts';
import { makeFolder } from './host/durable-file.ts';
import type { Environment } from './host/environment.ts';
import type { JsonObject } from './host/json.ts';
import { AgentLog } from './host/log.ts';
import { StateLock } from './host/state-lock.ts';
import { SystemdNotifier } from './host/systemd-notifier.ts';
import { TimeSync } from './host/time-sync.ts';
import { agentVersion } from './host/version.ts';
import type { AgentStatus } from './status/agent-status.ts';

export interface AgentDeps {
  readonly configFile: string;
  readonly environment: Environment;
  /** A simulated board's socket, in place of the hardware that the configuration names. */
  readonly boardSocket?: string;
  /** A file that gets every entry whose append has resolved, as JSON lines. */
  readonly recordAppends?: string;
  /** Is given the filter that hides secrets, for what is printed outside the log. */
  readonly redactWith?: (redact: (text: string) => string) => void;
  readonly clock?: Clock;
}

/** What can change while the agent runs; the rest needs a restart, and a reload says so. */
const RELOADABLE: ReadonlySet<keyof AgentConfig> = new Set(['log', 'sensors', 'upload', 'platform']);

/** What closing may take beyond the drain itself. */
const CLOSE_WITHIN_MS = 5_000;

interface Parts {
  readonly lock: StateLock;
  readonly telemetry: TelemetryPath;
  readonly platform: PlatformSide;
  readonly field: FieldSide;
  readonly doors: ControlServer;
}

export class Agent {
  /** Resolves when everything is closed. */
  readonly stopped: Promise<void>;
  readonly #deps: AgentDeps;
  readonly #clock: Clock;
  readonly #log: AgentLog;
  readonly #alerts: AlertList;
  readonly #timeSync: TimeSync;
  readonly #notifier = new SystemdNotifier();
  readonly #startedAtMs: number;
  readonly #loops = new AbortController();
  readonly #stopped = Promise.withResolvers<void>();
  #config: AgentConfig;
  #parts!: Parts;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(deps: AgentDeps, config: AgentConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#clock = deps.clock ?? systemClock;
    this.#log = new AgentLog({ level: config.log.level });
    this.#alerts = new AlertList(this.#log);
    this.#timeSync = new TimeSync({ clock: this.#clock, policy: config.time.trust });
    this.#startedAtMs = this.#clock.monotonicMs();
    this.stopped = this.#stopped.promise;
  }

  /**
   * Starts everything; the platform need not be there. The agent stops when `signal` aborts.
   * @throws ConfigError (stop), AgentError (stop) when another agent runs here or the state folder cannot be used.
   */
  static async start(deps: AgentDeps, signal: AbortSignal): Promise<Agent> {
    const config = withBoard(await loadConfig(deps.configFile, deps), deps.boardSocket);
    const agent = new Agent(deps, config);
    for (const secret of secretsOf(config)) agent.#log.hide(secret.reveal());
    deps.redactWith?.((text) => agent.#log.redact(text));
    await agent.#open(signal);
    if (signal.aborted) void agent.#stop();
    else signal.addEventListener('abort', () => void agent.#stop(), { once: true });
    return agent;
  }

  status(): AgentStatus {
    const { telemetry, platform, field } = this.#parts;
    const { dailyBudgetBytes } = this.#config.platform;
    const seen = {
      timeSynchronised: this.#timeSync.isSynchronised(),
      connection: connectionStatus(telemetry.uploader.state, platform.traffic, {
        sentTodayBytes: telemetry.budget.today().bytes,
        ...(dailyBudgetBytes === undefined ? {} : { dailyBudgetBytes }),
      }),
      outbox: outboxSummary(telemetry.outbox.status()),
      sensors: field.sampler.states().map(sensorStatus),
    };
    return {
      version: agentVersion(),
      nowMs: this.#clock.monotonicMs(),
      wallMs: this.#clock.wallMs(),
      bootId: this.#clock.bootId,
      startedAtMs: this.#startedAtMs,
      configHash: configHash(this.#config),
      deviceName: platform.deviceName,
      ...seen,
      actuators: [],
      lockedOut: false,
      firmware: { version: agentVersion() },
      alerts: [...this.#alerts.list(), ...derivedAlerts(seen)],
    };
  }

  /** Reads the configuration again and changes only what changed. Never rejects: a wrong file changes nothing, and is an alert. */
  async reload(): Promise<JsonObject> {
    this.#notifier.reloading(this.#clock.monotonicMs());
    try {
      const config = withBoard(await loadConfig(this.#deps.configFile, this.#deps), this.#deps.boardSocket);
      const changed = changedSections(this.#config, config);
      const needRestart = changed.filter((section) => !RELOADABLE.has(section));
      for (const secret of secretsOf(config)) this.#log.hide(secret.reveal());
      this.#config = config;
      this.#log.level = config.log.level;
      if (changed.includes('sensors')) await this.#parts.field.configure(config);
      this.#alerts.clear('reload');
      if (needRestart.length > 0)
        this.#alerts.raise('restart-needed', `changed in the configuration, and only taken up by a restart: ${needRestart.join(', ')}`);
      this.#log.info({ changed, needRestart }, 'the configuration was read again');
      return { changed, needRestart };
    } catch (error) {
      this.#alerts.raise('reload', `the changed configuration is not taken up: ${messageOf(error)}`);
      return { error: messageOf(error) };
    } finally {
      this.#notifier.ready('running');
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    const log = this.#log;
    const config = this.#config;
    await makeFolder(config.stateFolder);
    const lock = await StateLock.take(config.stateFolder);
    void this.#timeSync.start();
    const record = this.#deps.recordAppends === undefined ? undefined : new AppendRecord(this.#deps.recordAppends, `${process.pid}`);
    const platform = await PlatformSide.open({ config, clock, log, alerts: this.#alerts });
    const telemetry = await TelemetryPath.open(
      {
        config: () => this.#config,
        clock,
        log,
        timeSync: this.#timeSync,
        postTelemetry: (records, postSignal) => platform.deviceApi.postTelemetry(records, postSignal),
        sentBytes: () => platform.traffic.sentBytes,
        ...(record === undefined ? {} : { onDurable: (entries) => record.add(entries) }),
      },
      signal,
    );
    const field = await FieldSide.open(
      {
        config,
        clock,
        log,
        onSamples: (samples) => telemetry.take(samples),
        report: (entries) => void telemetry.append(entries),
        locked: () => false,
      },
      signal,
    );
    const doors = await openDoors(
      {
        runFolder: config.runFolder,
        clock,
        log,
        status: () => this.status(),
        outboxStatus: () => ({ ...telemetry.outbox.status() }) as unknown as JsonObject,
        sampler: field.sampler,
        reload: () => this.reload(),
      },
      signal,
    );
    this.#parts = { lock, telemetry, platform, field, doors };
    field.sampler.start(this.#loops.signal);
    this.#running = this.#runPlatform(this.#loops.signal);
    this.#watch();
    this.#notifier.ready('running');
    log.info({ version: agentVersion(), configHash: configHash(config), sensors: config.sensors.length }, 'the agent runs');
  }

  /** Waits for credentials, and then speaks to the platform until the loops end. */
  async #runPlatform(signal: AbortSignal): Promise<void> {
    const { platform, telemetry } = this.#parts;
    try {
      await platform.connect(signal);
    } catch (error) {
      if (!signal.aborted) this.#alerts.raise('credentials', `nothing is sent: ${messageOf(error)}`);
      return;
    }
    const loops = [{ name: 'uploader', run: (loopSignal: AbortSignal) => telemetry.uploader.run(loopSignal) }];
    await Promise.all(loops.map((loop) => keepRunning({ ...loop, clock: this.#clock, log: this.#log }, signal)));
  }

  /** Tells systemd that the loop turns, at half the time it allows. */
  #watch(): void {
    const { watchdogMs } = this.#notifier;
    if (watchdogMs === undefined || this.#loops.signal.aborted) return;
    this.#notifier.alive();
    this.#clock.after(watchdogMs / 2, () => this.#watch());
  }

  /** Safe states first, then what is kept is made durable and sent as far as the time allows; the platform goes before the disk. */
  async #stop(): Promise<void> {
    const { drainMs } = this.#config.shutdown;
    const { lock, telemetry, platform, field, doors } = this.#parts;
    const clock = this.#clock;
    this.#notifier.stopping(drainMs + CLOSE_WITHIN_MS);
    this.#log.info({ drainMs }, 'stopping');
    const deadline = new AbortController();
    const cancel = clock.after(drainMs, () => deadline.abort());
    const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
      const late = new AbortController();
      const done = work().then(() => late.abort());
      await Promise.race([done, clock.sleep(drainMs + CLOSE_WITHIN_MS, late.signal)]).catch((error: unknown) => {
        this.#log.error({ error: messageOf(error) }, `could not ${what}`);
      });
    };
    await attempt('close the sensors and actuators', () => field.close());
    this.#loops.abort();
    await attempt('end the loops', () => this.#running);
    await attempt('drain the outbox', () => telemetry.drainAndClose(deadline.signal));
    cancel();
    await attempt('close the connections', () => platform.close());
    await attempt('close the control sockets', () => doors.close());
    this.#timeSync.close();
    await attempt('release the state folder', () => lock.close());
    this.#log.info({}, 'stopped');
    this.#stopped.resolve();
  }
}

function withBoard(config: AgentConfig, boardSocket: string | undefined): AgentConfig {
  return boardSocket === undefined ? config : { ...config, hardware: { ...config.hardware, board: 'simulated', boardSocket } };
}
