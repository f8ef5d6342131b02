/**
 * The wiring: opens every part in order, joins them, closes in reverse. It has no rule of its own.
 *
 *   configuration → lock → outbox → field (ports, actuators, sampler) → doors → ready
 *                                  └ platform: credentials, however long they take → uploader and the other loops
 */
import { AlertList } from './agent/alert-list.ts';
import { closingStep } from './agent/closing-step.ts';
import { keepRunning } from './agent/keep-running.ts';
import { LiveConfig } from './agent/live-config.ts';
import { type AgentParts, openParts } from './agent/open-parts.ts';
import { diagnoseSelf } from './agent/self-diagnosis.ts';
import { agentStatus } from './agent/status-of.ts';
import type { AgentConfig } from './config/agent-config.ts';
import { changedSections, configHash, secretsOf } from './config/config-diff.ts';
import { loadConfig } from './config/read-config.ts';
import { messageOf } from './errors.ts';
import { type Clock, systemClock } from './host/clock.ts';
import type { Environment } from './host/environment.ts';
import type { JsonObject } from './host/json.ts';
import { AgentLog } from './host/log.ts';
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

/** What is taken up while the agent runs; the rest needs a restart, and a reload says so. */
const RELOADABLE: ReadonlySet<keyof AgentConfig> = new Set(['log', 'sensors', 'rules', 'upload', 'shutdown']);
/** What closing may take beyond the drain itself. */
const CLOSE_WITHIN_MS = 5_000;

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
  readonly #config: LiveConfig;
  readonly #loops = new AbortController();
  readonly #stopped = Promise.withResolvers<void>();
  #fileConfig: AgentConfig;
  #parts!: AgentParts;
  #running: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  private constructor(deps: AgentDeps, config: AgentConfig) {
    this.#deps = deps;
    this.#fileConfig = config;
    this.#config = new LiveConfig(config);
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
    const config = await readFileConfig(deps);
    const agent = new Agent(deps, config);
    agent.#hideSecrets(config);
    deps.redactWith?.((text) => agent.#log.redact(text));
    await agent.#open(signal);
    if (signal.aborted) void agent.#stop();
    else signal.addEventListener('abort', () => void agent.#stop(), { once: true });
    return agent;
  }

  status(): AgentStatus {
    const { telemetry, platform, field, firmware } = this.#parts;
    const { dailyBudgetBytes } = this.#config.current.platform;
    return agentStatus({
      known: {
        version: agentVersion(),
        nowMs: this.#clock.monotonicMs(),
        wallMs: this.#clock.wallMs(),
        bootId: this.#clock.bootId,
        startedAtMs: this.#startedAtMs,
        configHash: configHash(this.#fileConfig),
        deviceName: platform.deviceName,
        timeSynchronised: this.#timeSync.isSynchronised(),
        connection: {
          ...telemetry.uploader.state,
          ...platform.traffic,
          sentTodayBytes: telemetry.budget.today().bytes,
          ...(dailyBudgetBytes === undefined ? {} : { dailyBudgetBytes }),
        },
        lockedOut: field.moving.lockout.locked,
        firmware: firmware.summary(),
      },
      outbox: telemetry.outbox.status(),
      sensors: field.sampler.states(),
      actuators: field.moving.states(),
      alerts: this.#alerts.list(),
    });
  }

  /** Reads the configuration again and changes only what changed. Never rejects: a wrong file changes nothing, and is an alert. */
  async reload(): Promise<JsonObject> {
    this.#notifier.reloading(this.#clock.monotonicMs());
    try {
      const config = await readFileConfig(this.#deps);
      this.#hideSecrets(config);
      const changed = changedSections(this.#fileConfig, config);
      const needRestart = changed.filter((section) => !RELOADABLE.has(section));
      this.#fileConfig = config;
      this.#config.replace(config);
      this.#alerts.clear('reload');
      if (needRestart.length > 0)
        this.#alerts.raise('restart', `restart needed: only a restart takes up what changed in ${needRestart.join(', ')}`);
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
    void this.#timeSync.start();
    this.#parts = await openParts(
      {
        config: this.#config,
        configHash: configHash(this.#fileConfig),
        clock: this.#clock,
        log: this.#log,
        alerts: this.#alerts,
        timeSync: this.#timeSync,
        status: () => this.status(),
        reload: () => this.reload(),
        restart: () => void this.#stop(),
        diagnose: (asked) => diagnoseSelf({ ...this.#deps, clock: this.#clock, status: () => this.status() }, asked),
        ...(this.#deps.recordAppends === undefined ? {} : { recordAppends: this.#deps.recordAppends }),
      },
      signal,
    );
    this.#config.onChange((changed) => this.#takeUp(changed));
    this.#takeUp(this.#config.current);
    this.#parts.field.sampler.start(this.#loops.signal);
    this.#running = Promise.all([this.#runPlatform(this.#loops.signal), this.#runFirmware(this.#loops.signal)]);
    this.#watch();
    this.#parts.page.open();
    this.#notifier.ready('running');
    this.#log.info({ version: agentVersion(), configHash: configHash(this.#fileConfig) }, 'the agent runs');
  }

  /** Waits for credentials, and then speaks to the platform until the loops end. */
  async #runPlatform(signal: AbortSignal): Promise<void> {
    const { platform, telemetry, remote } = this.#parts;
    try {
      await platform.connect(signal);
    } catch (error) {
      if (!signal.aborted) this.#alerts.raise('credentials', `nothing is sent: ${messageOf(error)}`);
      return;
    }
    const loops: Readonly<Record<string, (loopSignal: AbortSignal) => Promise<void>>> = {
      uploader: (loopSignal) => telemetry.uploader.run(loopSignal),
      remote: (loopSignal) => remote.run(loopSignal),
      credentials: (loopSignal) => platform.watchCredentials(loopSignal),
    };
    const common = { clock: this.#clock, log: this.#log };
    await Promise.all(Object.entries(loops).map(([name, run]) => keepRunning({ ...common, name, run }, signal)));
  }

  /** Not after the credentials: a release on trial that gets none has its time counted all the same. */
  #runFirmware(signal: AbortSignal): Promise<void> {
    const { firmware } = this.#parts;
    return keepRunning({ clock: this.#clock, log: this.#log, name: 'firmware', run: (loopSignal) => firmware.run(loopSignal) }, signal);
  }

  /** What a live setting or a reload changes in parts that do not ask each time. */
  #takeUp(config: AgentConfig): void {
    const { field, telemetry, remote } = this.#parts;
    this.#log.level = config.log.level;
    telemetry.outbox.changeCommitAge(config.outbox.commitAgeMs);
    field.moving.rules.configure(config.rules);
    remote.configurationChanged(configHash(this.#fileConfig));
    void field
      .configure(config)
      .catch((error: unknown) => this.#alerts.raise('sensors', `sensors could not be changed: ${messageOf(error)}`));
  }

  #hideSecrets(config: AgentConfig): void {
    for (const secret of secretsOf(config)) this.#log.hide(secret.reveal());
  }

  /** Tells systemd that the loop turns, at half the time it allows. */
  #watch(): void {
    const { watchdogMs } = this.#notifier;
    if (watchdogMs === undefined || this.#isStopping) return;
    this.#notifier.alive();
    this.#clock.after(watchdogMs / 2, () => this.#watch());
  }

  /** Safe states first; then what is kept is made durable and sent as far as the time allows; the platform goes before the disk. */
  async #stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const { drainMs } = this.#config.current.shutdown;
    const { lock, telemetry, platform, field, remote, doors, page } = this.#parts;
    this.#notifier.stopping(drainMs + CLOSE_WITHIN_MS);
    this.#log.info({ drainMs }, 'stopping');
    const attempt = closingStep({ clock: this.#clock, log: this.#log, withinMs: drainMs + CLOSE_WITHIN_MS });
    const drained = new AbortController();
    const cancel = this.#clock.after(drainMs, () => drained.abort());
    await attempt('close the sensors and actuators', () => field.close());
    this.#loops.abort();
    await attempt('end the loops', () => this.#running);
    await attempt('close the status page', () => page.close());
    await attempt('drain the outbox', () => telemetry.drainAndClose(drained.signal));
    cancel();
    await attempt('close the journal', () => remote.close());
    await attempt('close the connections', () => platform.close());
    await attempt('close the control sockets', () => doors.close());
    this.#timeSync.close();
    await attempt('release the state folder', () => lock.close());
    this.#log.info({}, 'stopped');
    this.#stopped.resolve();
  }
}

async function readFileConfig({ configFile, environment, boardSocket }: AgentDeps): Promise<AgentConfig> {
  const config = await loadConfig(configFile, { environment });
  return boardSocket === undefined ? config : { ...config, hardware: { ...config.hardware, board: 'simulated', boardSocket } };
}
