/** The side of the agent that faces the field: ports, the sampler over the sensors, the actuators behind their one door. */
import { join } from 'node:path';
import { ActuatorControl } from '../actuators/actuator-control.ts';
import { actuatorSettings } from '../actuators/actuator-settings.ts';
import { DESIRED_STATES_FORMAT, DesiredStates } from '../actuators/desired-states.ts';
import { reopeningDriver } from '../actuators/open-driver.ts';
import type { AgentConfig } from '../config/agent-config.ts';
import { openPorts } from '../hardware/open-ports.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { StateFile } from '../host/state-file.ts';
import type { TelemetryEntry } from '../outbox/telemetry-entry.ts';
import { samplerEntry } from '../sensors/create-sensor.ts';
import type { SensorState } from '../sensors/sampled-sensor.ts';
import { Sampler, type SamplerEntry } from '../sensors/sampler.ts';
import type { Sample } from '../sensors/sensor.ts';

export interface FieldSideDeps {
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly onSamples: (samples: readonly Sample[]) => void;
  /** Entries about the sensors themselves. */
  readonly report: (entries: readonly TelemetryEntry[]) => void;
  /** Whether someone works on the machine: nothing remote moves. */
  readonly locked: () => boolean;
}

export class FieldSide {
  readonly ports: Ports;
  readonly sampler: Sampler;
  readonly actuators: ActuatorControl;
  readonly #deps: FieldSideDeps;

  private constructor(deps: FieldSideDeps, parts: { readonly ports: Ports; readonly actuators: ActuatorControl }) {
    this.#deps = deps;
    this.ports = parts.ports;
    this.actuators = parts.actuators;
    const { clock, log, onSamples } = deps;
    this.sampler = new Sampler(
      { clock, log, onSamples, onStateChange: (state, error) => this.#reportState(state, error?.message) },
      this.#entries(deps.config),
    );
  }

  /** Sets the actuators' safe states for start; hardware that is not there is reported later, not fatal. */
  static async open(deps: FieldSideDeps, signal: AbortSignal): Promise<FieldSide> {
    const { config, clock, log, locked } = deps;
    const ports = openPorts({ clock, hardware: config.hardware });
    const file = new StateFile({ path: join(config.stateFolder, 'actuators.json'), ...DESIRED_STATES_FORMAT, log });
    const actuators = await ActuatorControl.open(
      {
        actuators: config.actuators.map((one) => ({ settings: actuatorSettings(one), driver: reopeningDriver(one, { ports, clock }) })),
        desired: await DesiredStates.open(file, clock),
        locked,
        clock,
        log,
      },
      signal,
    );
    return new FieldSide(deps, { ports, actuators });
  }

  /** Takes up a changed list of sensors; what did not change goes on without a gap. */
  async configure(config: AgentConfig): Promise<void> {
    await this.sampler.configure(this.#entries(config));
  }

  /** Ends sampling, sets the safe states for stop, closes the ports. */
  async close(): Promise<void> {
    await this.sampler.close();
    await this.actuators.close();
    await this.ports.close();
  }

  #entries(config: AgentConfig): SamplerEntry[] {
    const { clock, log } = this.#deps;
    const deps = { ports: this.ports, clock, log, stateFolder: config.stateFolder };
    return config.sensors.filter(({ enabled }) => enabled).map((sensor) => samplerEntry(sensor, deps));
  }

  /** A sensor's failing and mending is telemetry too: `<sensor>_state`. */
  #reportState({ name, state }: SensorState, reason: string | undefined): void {
    const { clock, report } = this.#deps;
    const value = reason === undefined ? state : `${state}: ${reason}`;
    report([{ device: 'self', key: `${name}_state`, value, bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: 'alarm' }]);
  }
}
