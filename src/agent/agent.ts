/**
 * The wiring: opens every part in order, joins them, closes in reverse. It has no rule of its own.
 *
 *   configuration → lock → hardware (ports, actuators, sampler), beside it the outbox → control sockets → ready
 *                                  └ platform: credentials, however long they take → uploader and the other loops
 */

import { join } from 'node:path';
import { loadActuatorDrivers } from '../actuators/open-driver.ts';
import { ConfigFile, type ConfigPlace, type FileConfig } from '../config/config-file.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { AlertList } from '../host/alert-list.ts';
import { closingStep } from '../host/bounded-wait.ts';
import { AgentLog } from '../host/log.ts';
import { keepRunning } from '../host/loops.ts';
import type { Held } from '../host/state-lock.ts';
import type { ReadWrittenBytes } from '../host/storage-writes.ts';
import { SystemdNotifier } from '../host/systemd-notifier.ts';
import { correctedClock, TimeSync } from '../host/time-sync.ts';
import { agentVersion } from '../host/version.ts';
import { sentence } from '../names/sentences.ts';
import { toldBy } from '../names/told-error.ts';
import { loadDrivers } from '../sensors/create-sensor.ts';
import type { ToldStatus } from '../status/shape/agent-status.ts';
import { writesStatus } from '../status/shape/writes-status.ts';
import { agentStatus } from '../status/status-of.ts';
import { Timeline } from '../timeline/timeline.ts';
import { TIMELINE_FILE } from '../timeline/timeline-file.ts';
import { configEvents, configFaultEvent } from '../timeline/words.ts';
import type { JsonObject } from '../values/json.ts';
import type { DeviceSlots } from './device-slots.ts';
import type { Machine } from './machine.ts';
import { type AgentParts, type OpenPartsDeps, openParts } from './open-parts.ts';

export interface AgentDeps extends ConfigPlace, Pick<OpenPartsDeps, 'onDurable'> {
  readonly machine: Machine;
  /** Is given the filter that hides secrets, for what is printed outside the log. */
  readonly redactWith?: (redact: (text: string) => string) => void;
}

type Loops = Readonly<Record<string, (signal: AbortSignal) => Promise<void>>>;

/** Time that closing may take beyond the drain itself. */
const CLOSE_WITHIN_MS = 5_000;

export class Agent {
  /** Resolves when everything is closed. */
  readonly stopped: Promise<void>;
  /** Dependencies that every part is opened with. */
  readonly #common: OpenPartsDeps;
  readonly #notifier: SystemdNotifier;
  readonly #startedAtMs: number;
  readonly #loops = new AbortController();
  readonly #stopped = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  #parts!: AgentParts;
  #sockets!: Held;
  #running: Promise<unknown> = Promise.resolve();
  #isStopping = false;
  /** Undefined while the disk is looked for. */
  #written: ReadWrittenBytes | undefined;
  #configuredLogLevel: AgentConfig['log']['level'];

  private constructor(deps: AgentDeps, first: FileConfig) {
    const { log: logging, time } = first.config;
    const { machine, environment, onDurable } = deps;
    const { clock } = machine;
    const log = new AgentLog({ level: logging.level, clock, sink: machine.logSink });
    const alerts = new AlertList(log);
    const timeSync = new TimeSync({ clock, policy: time.trust, ask: machine.askSystemTime });
    const rightClock = correctedClock(clock, timeSync);
    const { files } = machine;
    const path = join(first.config.stateFolder, TIMELINE_FILE);
    const isClockRight = (): boolean => timeSync.isSynchronised();
    const aboutItself = { clock, status: () => this.status() };
    this.#common = {
      machine,
      environment,
      log,
      alerts,
      timeSync,
      rightClock,
      onDurable,
      timeline: new Timeline({ clock: rightClock, isClockRight, files, path, version: agentVersion(), log }),
      file: new ConfigFile({ place: deps, clock, log, alerts, prepare: loadDrivers }, first),
      status: () => this.status(),
      reload: () => this.reload(),
      restart: () => void this.#stop({ isRestart: true }),
      diagnose: (signal) => machine.diagnose({ ...deps, ...aboutItself }, signal),
    };
    this.#notifier = new SystemdNotifier(deps.environment);
    this.#configuredLogLevel = logging.level;
    this.#startedAtMs = clock.monotonicMs();
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
    deps.redactWith?.((text) => agent.#common.log.redact(text));
    // Not with `signal`: a stop during the start ends what was opened in good order, with safe states, once all of it is open.
    await agent.#open(new AbortController().signal);
    agent.#opened.resolve();
    if (signal.aborted) void agent.#stop();
    else signal.addEventListener('abort', () => void agent.#stop(), { once: true });
    return agent;
  }

  status(): ToldStatus {
    const { telemetry, link, slots, clients, self, hardware, firmware, devices, page } = this.#parts;
    const { machine, rightClock, file, timeSync, alerts } = this.#common;
    const startedAtMs = this.#startedAtMs;
    const nowMs = machine.clock.monotonicMs();
    return agentStatus({
      contact: clients.contact.status,
      silence: self.fault,
      uploadIntervalMs: file.live.current.upload.intervalMs,
      known: {
        version: agentVersion(),
        nowMs,
        wallMs: rightClock.wallMs(),
        bootId: machine.clock.bootId,
        startedAtMs,
        configHash: file.hash,
        configFileHash: file.fileHash,
        deviceName: self.name,
        timeSynchronised: timeSync.isSynchronised(),
        connection: {
          ...telemetry.uploader.state,
          ...clients.traffic,
        },
        writes: writesStatus(this.#written?.(), { nowMs, startedAtMs }),
        link: link.status(),
        lockedOut: hardware.actuators.lockout.locked,
        firmware: firmware.summary(),
        page: page.place,
      },
      ...telemetry.status(),
      sensors: hardware.sampler.states(),
      actuators: hardware.actuators.states(),
      config: file.live.current,
      devices: devices?.list(),
      devicesOutbox: slots?.counts(),
      alerts: alerts.told(),
    });
  }

  /** Reads the configuration again and changes only what changed. Never rejects: a wrong file changes nothing, and is an alert. */
  async reload(): Promise<JsonObject> {
    const { machine, file, alerts, timeline } = this.#common;
    this.#notifier.reloading(machine.clock.monotonicMs());
    try {
      const read = await file.readAgain();
      alerts.clear('reload');
      configEvents(read, file.live.current).forEach(timeline.tell);
      return { ...read };
    } catch (error) {
      alerts.raise('reload', sentence('configNotTaken', { why: toldBy(error) }));
      timeline.tell(configFaultEvent(messageOf(error)));
      return { error: messageOf(error) };
    } finally {
      this.#notifier.ready('running');
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { machine, log, timeSync, file } = this.#common;
    void timeSync.start();
    this.#parts = await openParts(this.#common, signal);
    void machine.openWrittenBytes(file.live.current.stateFolder).then((opened) => {
      this.#written = opened;
    });
    file.live.onChange((changed) => this.#takeUp(changed));
    this.#takeUp(file.live.current);
    this.#sockets = await this.#parts.listen();
    const { signal: running } = this.#loops;
    this.#parts.hardware.sampler.start(running);
    // Not after the credentials: a release or a configuration on trial that gets none has its time counted all the same.
    const { firmware, remoteConfiguration } = this.#parts;
    const trials: Loops = {
      firmware: (loopSignal) => firmware.run(loopSignal),
      configurations: (loopSignal) => remoteConfiguration.run(loopSignal),
    };
    const judged = this.#keepRunning(trials, running);
    this.#running = Promise.all([this.#runPlatform(running), judged, file.lookForMissing(running)]);
    this.#notifier.keepAlive(machine.clock);
    // The page waits for its PIN file.
    void file.untilThere(['status'], running).then(() => running.aborted || this.#parts.page.open());
    this.#notifier.ready('running');
    log.info({ version: agentVersion(), configHash: file.hash }, 'the agent runs');
  }

  /** Waits for what the configuration names and for credentials, and then speaks to the platform until the loops end. */
  async #runPlatform(signal: AbortSignal): Promise<void> {
    const { self, telemetry, slots, commands } = this.#parts;
    await this.#common.file.untilThere(['platform', 'provisioning'], signal);
    // Devices are told by what is kept of them at once, before the platform answers.
    const devices = slots === undefined ? undefined : this.#runDevices(slots, signal);
    const credentials = this.#keepRunning({ credentials: (loopSignal) => self.run(loopSignal) }, signal);
    await self.ready(signal).catch(() => {});
    const loops: Loops = {
      uploader: (loopSignal) => telemetry.uploader.run(loopSignal),
      remote: (loopSignal) => commands.run(loopSignal),
    };
    await Promise.all([this.#keepRunning(loops, signal), credentials, devices]);
  }

  async #runDevices(slots: Pick<DeviceSlots, 'run'>, signal: AbortSignal): Promise<void> {
    await this.#parts.self.named(signal).catch(() => {});
    if (!signal.aborted) await this.#keepRunning({ devices: (loopSignal) => slots.run(loopSignal) }, signal);
  }

  async #keepRunning(loops: Loops, signal: AbortSignal): Promise<void> {
    const { machine, log } = this.#common;
    await Promise.all(
      Object.entries(loops).map(([name, run]) => keepRunning({ clock: machine.clock, log, name, run }, signal)),
    );
  }

  /** Applies a live setting or a reload to the parts that do not ask each time. */
  #takeUp(config: AgentConfig): void {
    const { hardware, telemetry, slots, commands } = this.#parts;
    const { log, alerts } = this.#common;
    // Somebody on the machine may have set another one.
    if (config.log.level !== this.#configuredLogLevel) log.level = config.log.level;
    this.#configuredLogLevel = config.log.level;
    telemetry.outbox.changeCommitAge(config.outbox.commitAgeMs);
    slots?.outbox.changeCommitAge(config.outbox.commitAgeMs);
    telemetry.configured(new Set(config.sensors.filter(({ enabled }) => enabled).map(({ name }) => name)));
    commands.configurationChanged();
    void hardware
      .configure(config)
      .catch((error: unknown) => alerts.raise('sensors', sentence('sensorsNotChanged', { why: toldBy(error) })));
  }

  /** Safe states first; then what is kept is made durable and sent as far as the time allows; the platform goes before the disk. */
  async #stop({ isRestart } = { isRestart: false }): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    // A part may ask for it while the others are still being opened.
    await this.#opened.promise;
    const { machine, log, file, timeSync, timeline } = this.#common;
    const { clock } = machine;
    timeline.tellStop(isRestart);
    const { drainMs } = file.live.current.shutdown;
    const { stateFolder, telemetry, link, slots, clients, hardware, commands, page, remoteConfiguration } = this.#parts;
    this.#notifier.stopping(drainMs + CLOSE_WITHIN_MS);
    log.info({ drainMs }, 'stopping');
    const attempt = closingStep({ clock, log, withinMs: drainMs + CLOSE_WITHIN_MS });
    const drained = new AbortController();
    const cancel = clock.after(drainMs, () => drained.abort());
    await attempt('close the sensors and actuators', () => hardware.close());
    this.#loops.abort();
    await attempt('end the loops', () => this.#running);
    await attempt('close the status page', () => page.close());
    await attempt('drain the outbox', () =>
      Promise.all([telemetry.drainAndClose(drained.signal), slots?.drainAndClose(drained.signal)]),
    );
    cancel();
    await attempt('close the journal', () => commands.close());
    await attempt('close the configurations from afar', () => remoteConfiguration.close());
    await attempt('close the account of the link', () => link.close());
    await attempt('close the connections', () => clients.close());
    await attempt('close the control sockets', () => this.#sockets.close());
    timeSync.close();
    await attempt('close the timeline', () => timeline.close());
    await attempt('release the state folder', () => stateFolder.close());
    log.info({}, 'stopped');
    log.close();
    this.#stopped.resolve();
  }
}
