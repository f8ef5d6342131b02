/** All hardware parts of the agent: ports, the sampler over the sensors, the actuators. */
import { isDeepStrictEqual } from 'node:util';
import { Actuators, type ActuatorsDeps } from '../actuators/actuators.ts';
import type { RuleEvent } from '../actuators/rule-event.ts';
import { programsUntilRestart } from '../config/changes/programs-until-restart.ts';
import { namesForRules } from '../config/keys/sensor-keys.ts';
import type { AgentConfig, SensorConfig } from '../config/schema/agent-config.ts';
import type { Sentence } from '../errors/sentence.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Alerts } from '../host/alert-list.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import { samplerEntry } from '../sensors/create-sensor.ts';
import type { Sample } from '../sensors/kind/sensor.ts';
import type { ClientRpc } from '../sensors/kind/sensor-deps.ts';
import { MeasuredValues } from '../sensors/measured-values.ts';
import { brokersOf } from '../sensors/mqtt/brokers.ts';
import type { SensorState } from '../sensors/sampler.ts';
import { Sampler, type SamplerEntry } from '../sensors/sampler.ts';
import type { Keeping } from '../values/kept.ts';
import { SELF } from '../values/self.ts';
import { brokerSession } from './broker-session.ts';
import type { Machine } from './machine.ts';
import { OutputBrokers } from './output-brokers.ts';

export interface HardwarePartsDeps {
  readonly config: AgentConfig;
  readonly machine: Pick<Machine, 'clock' | 'files' | 'openPorts' | 'runProgram' | 'openHostMetrics' | 'readIdentity'>;
  readonly log: Log;
  readonly onSamples: Keeping<readonly Sample[]>;
  /** For drivers of a user's own. */
  readonly clientRpc: ClientRpc;
  /** Text that differs once another driver of a user's own was taken up for a sensor. */
  readonly driverOf?: (sensor: SensorConfig) => string | undefined;
  /** Under which name the platform keeps a sensor's key. */
  readonly keyOf: (key: string) => string;
  /** Reports a sensor's state in words, and whether it fails. */
  readonly reportSensor: (sensor: string, state: string, isFailing: boolean) => void;
  readonly onRuleEvent?: (event: RuleEvent, instead?: Sentence) => void;
  /** Entries about what moved. */
  readonly report: (entries: readonly TelemetryEntry[]) => void;
  /** The id under which entries of an attached device are kept; default the gateway's own. */
  readonly idOf?: ActuatorsDeps['idOf'];
  readonly alerts: Alerts;
  /** Undefined while the clock is not trusted. */
  readonly localTime: ActuatorsDeps['localTime'];
}

const CLOSE_PORTS_WITHIN_MS = 2_000;

interface OpenedParts {
  readonly ports: Ports;
  readonly actuators: Actuators;
  readonly session: () => Promise<string>;
  readonly outputBrokers: OutputBrokers;
}

export class HardwareParts {
  readonly ports: Ports;
  readonly sampler: Sampler;
  readonly actuators: Actuators;
  readonly #deps: HardwarePartsDeps;
  #config: AgentConfig;
  /** The same however the configuration changes: a session under another name would lose messages. */
  readonly #session: () => Promise<string>;
  readonly #outputBrokers: OutputBrokers;
  /** By the sensor's name. */
  #drivers: ReadonlyMap<string, string | undefined>;
  readonly #values = new MeasuredValues(() => this.#config.sensors);

  private constructor(deps: HardwarePartsDeps, parts: OpenedParts) {
    this.#deps = deps;
    this.#config = deps.config;
    this.#session = parts.session;
    this.#outputBrokers = parts.outputBrokers;
    this.#drivers = this.#driversOf(deps.config);
    this.ports = parts.ports;
    this.actuators = parts.actuators;
    const { log, onSamples, machine } = deps;
    this.sampler = new Sampler(
      {
        clock: machine.clock,
        log,
        onSamples: (samples) => {
          const kept = onSamples(samples);
          this.#values.recordSamples(samples);
          return kept;
        },
        onStateChange: (state, error) => this.#reportState(state, error?.message),
      },
      this.#entries(deps.config),
    );
  }

  /** Sets the actuators' safe states for start; hardware that is not there is reported later, not fatal. */
  static async open(deps: HardwarePartsDeps, signal: AbortSignal): Promise<HardwareParts> {
    const { config, log, report, idOf, alerts, localTime } = deps;
    const { clock, files, openPorts, runProgram } = deps.machine;
    const ports = openPorts({ clock, hardware: config.hardware });
    const session = brokerSession(config, deps.machine.readIdentity);
    const outputBrokers = new OutputBrokers(config, session);
    let opened: HardwareParts | undefined;
    const onRuleEvent = (event: RuleEvent, instead?: Sentence): void => {
      deps.onRuleEvent?.(event, instead);
      const slot = slotOf(event.rule, opened === undefined ? config : opened.#config);
      report([ruleEntry(event, { device: (slot === undefined ? undefined : idOf?.(slot)) ?? SELF, clock })]);
    };
    const actuators = await Actuators.open(
      {
        config,
        ports,
        brokerOf: outputBrokers.find,
        clock,
        files,
        runProgram,
        log,
        onRuleEvent,
        report,
        idOf,
        alerts,
        localTime,
      },
      signal,
    );
    opened = new HardwareParts(deps, { ports, actuators, session, outputBrokers });
    return opened;
  }

  /** Takes up changed sensors, rules and brokers; what did not change goes on without a gap. */
  async configure(read: AgentConfig): Promise<void> {
    const [before, driversBefore] = [this.#config, this.#drivers];
    const sensors = programsUntilRestart({ opened: this.actuators.configs, sensors: before.sensors }, read);
    const config: AgentConfig = { ...read, sensors: [...sensors] };
    for (const { name } of sensors.filter((sensor) => !read.sensors.includes(sensor)))
      this.#deps.log.info({ sensor: name }, 'its changed program waits for the restart, as that of the output does');
    this.#config = config;
    this.#drivers = this.#driversOf(config);
    // Last readings of sensors that are removed still count for the rules before.
    const begun = this.sampler.configure(this.#entries(config));
    // A rule must not fire from readings of an earlier sensor of the same name.
    for (const sensor of before.sensors) {
      const { name } = sensor;
      const isSameSource =
        driversBefore.get(name) === this.#drivers.get(name) && urlOf(sensor, before) === urlOf(sensor, config);
      if (!isChanged(sensor, config) && isSameSource) continue;
      this.actuators.rules.sensorChanged(name);
      this.#values.forget(name);
    }
    this.actuators.configure(config);
    // The other users of the connection release it meanwhile.
    const changed = this.#outputBrokers.configure(config);
    await Promise.all([begun, this.actuators.openAnew(changed)]);
  }

  /** Sets the safe states for stop, at once; ends sampling beside it, in which a driver may hang; closes the ports. Bounded in time. */
  async close(): Promise<void> {
    await Promise.all([this.actuators.close(), this.sampler.close()]);
    await endedWithin(this.#deps.machine.clock, CLOSE_PORTS_WITHIN_MS, this.ports.close());
  }

  #entries(config: AgentConfig): SamplerEntry[] {
    const { machine, log, clientRpc, keyOf } = this.#deps;
    const deps = {
      ports: this.ports,
      ...machine,
      log,
      clientRpc,
      keyOf,
      stateFolder: config.stateFolder,
      values: this.#values,
      brokerOf: brokersOf(config, this.#session),
    };
    return config.sensors
      .filter(({ enabled }) => enabled)
      .map((sensor) => samplerEntry(sensor, deps, config, this.#drivers.get(sensor.name)));
  }

  #driversOf({ sensors }: AgentConfig): ReadonlyMap<string, string | undefined> {
    return new Map(sensors.map((sensor) => [sensor.name, this.#deps.driverOf?.(sensor)]));
  }

  #reportState(sensor: SensorState, reason: string | undefined): void {
    const { name, state, refused } = sensor;
    this.#values.recordState(sensor);
    const isWhole = state !== 'failing' && refused.length === 0;
    // A rule's `for` is counted again when its sensor is silent.
    if (state === 'failing') this.actuators.rules.sensorFailed(name);
    else this.actuators.rules.sensorFailed(name, lostKeys(sensor, this.#config));
    const missing = refused.map(({ key, message }) => `${key}: ${message}`).join('; ');
    const value = reason !== undefined ? `${state}: ${reason}` : missing === '' ? state : `failing in part: ${missing}`;
    this.#deps.reportSensor(name, value, !isWhole);
  }
}

/** Returns the keys, as rules know them, of which a sensor has no value now. A spike is only left out: the value before it stands. */
function lostKeys({ name, refused }: SensorState, { sensors }: AgentConfig): readonly string[] {
  const config = sensors.find((one) => one.name === name);
  if (config === undefined) return [];
  return refused.filter(({ code }) => code !== 'sensors/spike').flatMap(({ key }) => namesForRules(config, key));
}

function isChanged(sensor: SensorConfig, { sensors }: AgentConfig): boolean {
  return !sensors.some((other) => other.name === sensor.name && isDeepStrictEqual(other, sensor));
}

/** Address of the broker that a sensor listens to: another broker has other devices. */
function urlOf(sensor: SensorConfig, { brokers = [] }: AgentConfig): string | undefined {
  return 'broker' in sensor ? brokers.find(({ name }) => name === sensor.broker)?.url : undefined;
}

/** A rule belongs to the device whose actuator it moves. */
function slotOf(rule: string, { rules, actuators }: AgentConfig): string | undefined {
  const moved = rules.find(({ name }) => name === rule)?.set.actuator;
  return actuators.find(({ name }) => name === moved)?.device;
}

/** Returns the telemetry of a local rule's event: `rule_<name>`. */
function ruleEntry(
  event: RuleEvent,
  { device, clock }: { readonly device: string; readonly clock: Clock },
): TelemetryEntry {
  const { told: _told, ...value } = event;
  return {
    device,
    key: `rule_${event.rule}`,
    value,
    bootId: clock.bootId,
    monotonicMs: clock.monotonicMs(),
    class: 'alarm',
  };
}
