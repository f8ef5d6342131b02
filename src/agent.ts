/**
 * The wiring: opens every part in order, joins them, closes in reverse. It has no rule of its own.
 *
 *   configuration → lock → field (ports, actuators, sampler), beside it the outbox → control sockets → ready
 *                                  └ platform: credentials, however long they take → uploader and the other loops
 */

import { loadActuatorDrivers } from './actuators/open-driver.ts';
import type { Machine } from './agent/machine.ts';
import { type AgentParts, openParts, runRemote } from './agent/open-parts.ts';
import type { AgentConfig } from './config/agent-config.ts';
import { ConfigFile, type ConfigPlace, type FileConfig } from './config/config-file.ts';
import { messageOf } from './errors.ts';
import { AlertList } from './host/alert-list.ts';
import { closingStep } from './host/bounded-wait.ts';
import type { Clock } from './host/clock.ts';
import { correctedClock } from './host/corrected-clock.ts';
import type { JsonObject } from './host/json.ts';
import { keepRunning } from './host/keep-running.ts';
import { AgentLog } from './host/log.ts';
import { SystemdNotifier } from './host/systemd-notifier.ts';
import { TimeSync } from './host/time-sync.ts';
import { agentVersion } from './host/version.ts';
import type { TelemetryEntry } from './outbox/outbox.ts';
import { REFUSED_ALERT } from './provisioning/device-token.ts';
import { loadDrivers } from './sensors/create-sensor.ts';
import type { AgentStatus } from './status/agent-status.ts';
import { agentStatus } from './status/status-of.ts';

export interface AgentDeps extends ConfigPlace {
  readonly machine: Machine;
  /** Told every entry whose append has resolved: what a test, or the demo, holds against the platform. */
  readonly onDurable?: (entries: readonly TelemetryEntry[]) => void;
  /** Is given the filter that hides secrets, for what is printed outside the log. */
  readonly redactWith?: (redact: (text: string) => string) => void;
}

/** What closing may take beyond the drain itself. */
const CLOSE_WITHIN_MS = 5_000;

export class Agent {
  /** Resolves when everything is closed. */
  readonly stopped: Promise<void>;
  readonly #deps: AgentDeps;
  readonly #machine: Machine;
  readonly #clock: Clock;
  readonly #rightClock: Clock;
  readonly #log: AgentLog;
  readonly #alerts: AlertList;
  readonly #timeSync: TimeSync;
  readonly #notifier: SystemdNotifier;
  readonly #startedAtMs: number;
  readonly #file: ConfigFile;
  readonly #loops = new AbortController();
  readonly #stopped = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  #parts!: AgentParts;
  #running: Promise<unknown> = Promise.resolve();
  #isStopping = false;
  #configuredLogLevel: AgentConfig['log']['level'];

  private constructor(deps: AgentDeps, first: FileConfig) {
    const { config } = first;
    this.#deps = deps;
    this.#machine = deps.machine;
    this.#clock = this.#machine.clock;
    this.#notifier = new SystemdNotifier(deps.environment);
    const { logSink } = this.#machine;
    this.#configuredLogLevel = config.log.level;
    this.#log = new AgentLog({ level: config.log.level, clock: this.#clock, ...(logSink === undefined ? {} : { sink: logSink }) });
    this.#alerts = new AlertList(this.#log);
    this.#file = new ConfigFile({ place: deps, clock: this.#clock, log: this.#log, alerts: this.#alerts, prepare: loadDrivers }, first);
    this.#timeSync = new TimeSync({ clock: this.#clock, policy: config.time.trust, ask: this.#machine.askSystemTime });
    this.#rightClock = correctedClock(this.#clock, this.#timeSync);
    this.#startedAtMs = this.#clock.monotonicMs();
    this.stopped = this.#stopped.promise;
  }

  /**
   * Starts everything; the platform need not be there. The agent stops when `signal` aborts.
   * @throws ConfigError (stop), AgentError (stop) when another agent runs here.
   */
  static async start(deps: AgentDeps, signal: AbortSignal): Promise<Agent> {
    const first = await ConfigFile.read(deps);
    await Promise.all([loadDrivers(first.config), loadActuatorDrivers(first.config)]);
    const agent = new Agent(deps, first);
    deps.redactWith?.((text) => agent.#log.redact(text));
    // Not with `signal`: a stop during the start ends what was opened in good order, with safe states, once all of it is open.
    await agent.#open(new AbortController().signal);
    agent.#opened.resolve();
    if (signal.aborted) void agent.#stop();
    else signal.addEventListener('abort', () => void agent.#stop(), { once: true });
    return agent;
  }

  status(): AgentStatus {
    const { telemetry, platform, field, firmware } = this.#parts;
    const { dailyBudgetBytes } = this.#file.live.current.platform;
    return agentStatus({
      known: {
        version: agentVersion(),
        nowMs: this.#clock.monotonicMs(),
        wallMs: this.#rightClock.wallMs(),
        bootId: this.#clock.bootId,
        startedAtMs: this.#startedAtMs,
        configHash: this.#file.hash,
        deviceName: platform.deviceName,
        timeSynchronised: this.#timeSync.isSynchronised(),
        connection: {
          ...telemetry.uploader.state,
          ...platform.traffic,
          sentTodayBytes: telemetry.budget.today().bytes,
          ...(dailyBudgetBytes === undefined ? {} : { dailyBudgetBytes }),
        },
        lockedOut: field.actuators.lockout.locked,
        firmware: firmware.summary(),
      },
      ...telemetry.status(),
      sensors: field.sampler.states(),
      actuators: field.actuators.states(),
      alerts: this.#alerts.list(),
    });
  }

  /** Reads the configuration again and changes only what changed. Never rejects: a wrong file changes nothing, and is an alert. */
  async reload(): Promise<JsonObject> {
    this.#notifier.reloading(this.#clock.monotonicMs());
    try {
      const read = await this.#file.readAgain();
      this.#alerts.clear('reload');
      return { ...read };
    } catch (error) {
      this.#alerts.raise('reload', `the changed configuration is not taken up: ${messageOf(error)}`);
      return { error: messageOf(error) };
    } finally {
      this.#notifier.ready('running');
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    void this.#timeSync.start();
    const isTokenRefused = (): boolean => this.#alerts.isRaised(REFUSED_ALERT);
    const aboutItself = { clock: this.#clock, status: () => this.status(), isTokenRefused };
    this.#parts = await openParts(
      {
        config: this.#file.live,
        configHash: this.#file.hash,
        machine: this.#machine,
        log: this.#log,
        alerts: this.#alerts,
        timeSync: this.#timeSync,
        rightClock: this.#rightClock,
        status: () => this.status(),
        reload: () => this.reload(),
        restart: () => void this.#stop(),
        diagnose: (asked) => this.#machine.diagnose({ ...this.#deps, ...aboutItself }, asked),
        ...(this.#deps.onDurable === undefined ? {} : { onDurable: this.#deps.onDurable }),
      },
      signal,
    );
    this.#file.live.onChange((changed) => this.#takeUp(changed));
    this.#takeUp(this.#file.live.current);
    this.#parts.field.sampler.start(this.#loops.signal);
    const { signal: running } = this.#loops;
    this.#running = Promise.all([this.#runPlatform(running), this.#runFirmware(running), this.#file.lookForMissing(running)]);
    this.#notifier.keepAlive(this.#clock);
    // Without its PIN it is nobody's to see.
    void this.#file.untilThere(['status'], running).then(() => running.aborted || this.#parts.page.open());
    this.#notifier.ready('running');
    this.#log.info({ version: agentVersion(), configHash: this.#file.hash }, 'the agent runs');
  }

  /** Waits for what the configuration names and for credentials, and then speaks to the platform until the loops end. */
  async #runPlatform(signal: AbortSignal): Promise<void> {
    const { platform, telemetry } = this.#parts;
    await this.#file.untilThere(['platform', 'provisioning'], signal);
    await platform.connect(signal);
    const loops: Readonly<Record<string, (loopSignal: AbortSignal) => Promise<void>>> = {
      uploader: (loopSignal) => telemetry.uploader.run(loopSignal),
      remote: (loopSignal) => runRemote(this.#parts, loopSignal),
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
    const { field, telemetry, attributes } = this.#parts;
    // Somebody on the machine may have set another one.
    if (config.log.level !== this.#configuredLogLevel) this.#log.level = config.log.level;
    this.#configuredLogLevel = config.log.level;
    telemetry.outbox.changeCommitAge(config.outbox.commitAgeMs);
    telemetry.configured(new Set(config.sensors.filter(({ enabled }) => enabled).map(({ name }) => name)));
    attributes.configurationChanged(this.#file.hash);
    void field
      .configure(config)
      .catch((error: unknown) => this.#alerts.raise('sensors', `sensors could not be changed: ${messageOf(error)}`));
  }

  /** Safe states first; then what is kept is made durable and sent as far as the time allows; the platform goes before the disk. */
  async #stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    // A part may ask for it while the others are still being opened.
    await this.#opened.promise;
    const { drainMs } = this.#file.live.current.shutdown;
    const { stateFolder, telemetry, platform, field, attributes, rpc, sockets, page } = this.#parts;
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
    await attempt('close the journal', () => Promise.all([rpc.close(), attributes.close()]));
    await attempt('close the connections', () => platform.close());
    await attempt('close the control sockets', () => sockets.close());
    this.#timeSync.close();
    await attempt('release the state folder', () => stateFolder.close());
    this.#log.info({}, 'stopped');
    this.#log.close();
    this.#stopped.resolve();
  }
}
