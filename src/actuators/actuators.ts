/** Everything that moves: lockout, actuators with their remembered states, local rules. It needs no platform and no network. */
import { join } from 'node:path';
import { rulesUntilRestart } from '../config/changes/rules-until-restart.ts';
import { readingsOf } from '../config/keys/rule-parts.ts';
import type { ActuatorConfig, AgentConfig, RuleConfig, SensorConfig } from '../config/schema/agent-config.ts';
import type { Sentence } from '../errors/sentence.ts';
import type { BrokerOf } from '../hardware/mqtt-port.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Alerts } from '../host/alert-list.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { definitionOf } from '../kinds/sensor-kinds.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import { StateFile, type StateFileDeps } from '../store/state-file.ts';
import { ActuatorControl } from './actuator-control.ts';
import { ActuatorMemory } from './actuator-memory.ts';
import { actuatorSettings } from './actuator-settings.ts';
import { KEPT_PULSES_FORMAT, KeptPulses } from './kept-pulses.ts';
import { type ActuatorState, type ActuatorValue, nearestValue } from './kind/actuator.ts';
import { LocalRules, type LocalRulesDeps } from './local-rules.ts';
import { Lockout } from './lockout.ts';
import { type ReopeningDriver, reopeningDriver } from './open-driver.ts';
import { OUTPUTS_FORMAT, OutputFile } from './output-file.ts';
import { OPERATING_TIMES_FORMAT, OutputReadings, type OutputReadingsDeps } from './output-readings.ts';
import type { OutputReason } from './output-reason.ts';
import { PulseMarks } from './pulse-marks.ts';
import type { RuleEvent } from './rule-event.ts';
import { type RuleInForce, type RuleSensor, ruleWords } from './rule-in-force.ts';
import { MISSED_VALUES } from './watched-value.ts';

export interface ActuatorsDeps extends Pick<HostMachine, 'clock' | 'files' | 'runProgram'> {
  readonly config: AgentConfig;
  readonly ports: Ports;
  readonly brokerOf?: BrokerOf | undefined;
  readonly log: Log;
  /** @param instead what the output is, where the rule does not decide it. */
  readonly onRuleEvent: (event: RuleEvent, instead?: Sentence) => void;
  /** Readings of outputs, as they change. */
  readonly report: (entries: readonly TelemetryEntry[]) => void;
  readonly idOf?: OutputReadingsDeps['idOf'];
  readonly alerts: Alerts;
  readonly localTime: LocalRulesDeps['localTime'];
}

interface OutputAtBroker {
  readonly broker: string;
  readonly driver: ReopeningDriver;
}

/** For what is on a disk that may hang, and for a line. */
const CLOSE_WITHIN_MS = 2_000;

export class Actuators {
  readonly lockout: Lockout;
  readonly control: ActuatorControl;
  readonly rules: LocalRules;
  /** Those that were opened; what a changed configuration adds waits for a restart. */
  readonly configs: readonly ActuatorConfig[];
  readonly readings: OutputReadings;
  readonly #clock: Clock;
  #ruleConfigs: readonly RuleConfig[];
  readonly #looking: Promise<void>;
  readonly #stop = new AbortController();
  readonly #atBrokers: readonly OutputAtBroker[];

  private constructor(
    parts: Pick<Actuators, 'lockout' | 'control' | 'rules' | 'configs' | 'readings'>,
    config: AgentConfig,
    { clock, atBrokers }: { readonly clock: Clock; readonly atBrokers: readonly OutputAtBroker[] },
  ) {
    this.#clock = clock;
    this.#atBrokers = atBrokers;
    this.#ruleConfigs = config.rules;
    this.lockout = parts.lockout;
    this.control = parts.control;
    this.rules = parts.rules;
    this.configs = parts.configs;
    this.readings = parts.readings;
    this.#looking = this.lockout.run(this.#stop.signal);
  }

  /** Resolves when the states for start are set, or hardware that is not there has been reported. */
  static async open(deps: ActuatorsDeps, signal: AbortSignal): Promise<Actuators> {
    const { config, ports, clock, files, runProgram, log, brokerOf } = deps;
    const configs = config.actuators.filter(({ enabled }) => enabled);
    const lockout = await Lockout.open({ settings: config.rpc.lockout, gpio: ports.gpio, clock, files, log }, signal);
    const inState = (name: string, format: Pick<StateFileDeps, 'format' | 'version'>): StateFileDeps => {
      const [path, behindMark] = [join(config.stateFolder, name), join(config.runFolder, 'behind', name)];
      return { ...format, path, behindMark, files, clock, log, alerts: deps.alerts };
    };
    // A list that is behind on the card names too many, and none too few.
    const { behindMark: _none, ...pulses } = inState('pulses.json', KEPT_PULSES_FORMAT);
    const ownSupply = config.actuators.filter((each) => actuatorSettings(each).ownSupply).map(({ name }) => name);
    // Side by side: a disk that hangs holds the states for the start up once.
    const [outputs, keptPulses, pulseMarks, readings] = await Promise.all([
      OutputFile.open(new StateFile(inState('outputs.json', OUTPUTS_FORMAT)), clock),
      KeptPulses.open(new StateFile(pulses), clock, ownSupply),
      PulseMarks.open(config.runFolder, log, { files, bootId: clock.bootId }),
      OutputReadings.open({
        outputs: configs
          .filter(({ telemetry }) => telemetry)
          .map((each) => ({
            name: each.name,
            stateKey: each.stateKey,
            device: each.device,
            hasTotals: actuatorSettings(each).valueType === 'boolean',
          })),
        clock,
        report: deps.report,
        idOf: deps.idOf,
        file: new StateFile(inState('operating-times.json', OPERATING_TIMES_FORMAT)),
      }),
    ]);
    const opened = configs.map((each) => ({
      each,
      driver: reopeningDriver(each, { ports, clock, runProgram, log, brokerOf }),
    }));
    const atBrokers = opened.flatMap(({ each, driver }) => ('broker' in each ? [{ broker: each.broker, driver }] : []));
    const control = await ActuatorControl.open(
      {
        actuators: opened.map(({ each, driver }) => ({ settings: actuatorSettings(each), driver })),
        disabled: config.actuators.filter(({ enabled }) => !enabled).map(actuatorSettings),
        memory: new ActuatorMemory({ outputs, keptPulses, pulseMarks }),
        rules: ruleWords(rulesInForce(config, configs)),
        onRule: deps.onRuleEvent,
        locked: () => lockout.locked,
        clock,
        log,
        onAlarm: (name, message) =>
          message === undefined
            ? deps.alerts.clear(`actuator ${name}`)
            : deps.alerts.raise(`actuator ${name}`, message),
      },
      signal,
    );
    for (const state of control.states()) readings.take(state);
    control.onState((state) => readings.take(state));
    const rules = new LocalRules({ rules: rulesInForce(config, configs), control, clock, localTime: deps.localTime });
    return new Actuators({ lockout, control, rules, configs, readings }, config, { clock, atBrokers });
  }

  /** Returns what each actuator shows, with its kind, why it is so, and its filled slots. */
  states(): readonly (ActuatorState & { readonly kind: string } & Partial<OutputReason>)[] {
    return this.configs.map(({ name, kind }) => ({
      ...this.control.state(name),
      kind,
      ...this.control.find(name)?.reason,
    }));
  }

  /** Takes up changed rules; changed actuators wait for a restart, and rules on them do with them. */
  configure(config: AgentConfig): void {
    this.#ruleConfigs = rulesUntilRestart({ opened: this.configs, rules: this.#ruleConfigs }, config);
    this.rules.configure(rulesInForce({ rules: this.#ruleConfigs, sensors: config.sensors }, this.configs));
  }

  /** Opens the outputs at these brokers by the settings that those have now. Never rejects. */
  async openAnew(brokers: ReadonlySet<string>): Promise<void> {
    const changed = this.#atBrokers.filter(({ broker }) => brokers.has(broker));
    await Promise.all(changed.map(({ driver }) => driver.openAnew(this.#stop.signal)));
  }

  /** Rules end first, so that nothing moves against the states for stop. Bounded in time, and idempotent. */
  async close(): Promise<void> {
    this.rules.close();
    await this.control.close();
    this.#stop.abort();
    await endedWithin(this.#clock, CLOSE_WITHIN_MS, Promise.all([this.#looking, this.readings.close()]));
  }
}

/**
 * One whose sensor is switched off would never end: it counts as taken out. Their values are as the hardware will have them: rules compare
 * what they want with what it shows.
 */
function rulesInForce(
  { rules, sensors }: Pick<AgentConfig, 'rules' | 'sensors'>,
  actuators: readonly ActuatorConfig[],
): readonly RuleInForce[] {
  const settings = new Map(actuators.map((each) => [each.name, actuatorSettings(each)]));
  const sampled = new Map(sensors.filter(({ enabled }) => enabled).map((sensor) => [sensor.name, ruleSensor(sensor)]));
  return rules.flatMap((rule) => {
    const { set, otherwise, sensorLost, lostAfterMs } = rule;
    const names = readingsOf(rule).map(({ sensor }) => sensor);
    const watched = names.flatMap((name) => {
      const one = sampled.get(name);
      return one === undefined ? [] : [[name, lostAfterMs === undefined ? one : { ...one, lostAfterMs }] as const];
    });
    if (watched.length < names.length) return [];
    const own = settings.get(set.actuator);
    const nearest = (value: ActuatorValue): ActuatorValue => (own === undefined ? value : nearestValue(own, value));
    const values = {
      set: set.value === undefined ? set : { ...set, value: nearest(set.value) },
      otherwise: otherwise === undefined ? undefined : nearest(otherwise),
      sensorLost: sensorLost === undefined ? undefined : nearest(sensorLost),
    };
    return [{ ...rule, ...values, sensors: Object.fromEntries(watched) }];
  });
}

function ruleSensor(sensor: SensorConfig): RuleSensor {
  const isByEvent = definitionOf(sensor.kind).reportsByEvent?.(sensor) ?? false;
  // A window is over with the first reading after its end.
  const dueMs = sensor.periodMs + sensor.deadlineMs + (sensor.window?.lengthMs ?? 0);
  return { isByEvent, lostAfterMs: isByEvent ? Number.POSITIVE_INFINITY : MISSED_VALUES * dueMs };
}
