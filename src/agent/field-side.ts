/** The side of the agent that faces the field: ports, the sampler over the sensors, everything that moves. */
import type { RuleEvent } from '../actuators/local-rules.ts';
import type { AgentConfig } from '../config/agent-config.ts';
import { openPorts } from '../hardware/open-ports.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { TelemetryEntry } from '../outbox/telemetry-entry.ts';
import { samplerEntry } from '../sensors/create-sensor.ts';
import { Sampler, type SamplerEntry } from '../sensors/sampler.ts';
import type { Sample } from '../sensors/sensor.ts';
import type { ClientRpc } from '../sensors/sensor-deps.ts';
import type { SensorState } from '../sensors/sensor-state.ts';
import { ActuatorSide } from './actuator-side.ts';

export interface FieldSideDeps {
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly onSamples: (samples: readonly Sample[]) => void;
  /** For drivers of a user's own. */
  readonly clientRpc: ClientRpc;
  /** Entries about the sensors themselves. */
  readonly report: (entries: readonly TelemetryEntry[]) => void;
}

export class FieldSide {
  readonly ports: Ports;
  readonly sampler: Sampler;
  readonly moving: ActuatorSide;
  readonly #deps: FieldSideDeps;

  private constructor(deps: FieldSideDeps, parts: { readonly ports: Ports; readonly moving: ActuatorSide }) {
    this.#deps = deps;
    this.ports = parts.ports;
    this.moving = parts.moving;
    const { clock, log, onSamples } = deps;
    this.sampler = new Sampler(
      { clock, log, onSamples, onStateChange: (state, error) => this.#reportState(state, error?.message) },
      this.#entries(deps.config),
    );
  }

  /** Sets the actuators' safe states for start; hardware that is not there is reported later, not fatal. */
  static async open(deps: FieldSideDeps, signal: AbortSignal): Promise<FieldSide> {
    const { config, clock, log, report } = deps;
    const ports = openPorts({ clock, hardware: config.hardware });
    const onRuleEvent = (event: RuleEvent): void => report([ruleEntry(event, clock)]);
    const moving = await ActuatorSide.open({ config, ports, clock, log, onRuleEvent }, signal);
    return new FieldSide(deps, { ports, moving });
  }

  /** Takes up a changed list of sensors; what did not change goes on without a gap. */
  async configure(config: AgentConfig): Promise<void> {
    await this.sampler.configure(this.#entries(config));
  }

  /** Ends sampling, sets the safe states for stop, closes the ports. */
  async close(): Promise<void> {
    await this.sampler.close();
    await this.moving.close();
    await this.ports.close();
  }

  #entries(config: AgentConfig): SamplerEntry[] {
    const { clock, log, clientRpc } = this.#deps;
    const deps = { ports: this.ports, clock, log, clientRpc, stateFolder: config.stateFolder };
    return config.sensors.filter(({ enabled }) => enabled).map((sensor) => samplerEntry(sensor, deps));
  }

  /** A sensor's failing and mending is telemetry too: `<sensor>_state`. */
  #reportState({ name, state }: SensorState, reason: string | undefined): void {
    const { clock, report } = this.#deps;
    // What waits for a value to hold cannot hold on a sensor that is silent.
    if (state === 'failing') this.moving.rules.sensorLost(name);
    const value = reason === undefined ? state : `${state}: ${reason}`;
    report([{ device: 'self', key: `${name}_state`, value, bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: 'alarm' }]);
  }
}

/** What a local rule did is telemetry: `rule_<name>`. */
function ruleEntry(event: RuleEvent, clock: Clock): TelemetryEntry {
  return {
    device: 'self',
    key: `rule_${event.rule}`,
    value: { ...event },
    bootId: clock.bootId,
    monotonicMs: clock.monotonicMs(),
    class: 'alarm',
  };
}
