/**
 * Everything that moves, joined: lockout, actuators with their remembered states, local rules. It needs no platform and no network.
 */
import { join } from 'node:path';
import type { ActuatorState } from '../actuators/actuator.ts';
import { ActuatorControl } from '../actuators/actuator-control.ts';
import { ActuatorMemory } from '../actuators/actuator-memory.ts';
import { actuatorSettings } from '../actuators/actuator-settings.ts';
import { DESIRED_STATES_FORMAT, DesiredStates } from '../actuators/desired-states.ts';
import { LocalRules, type RuleEvent } from '../actuators/local-rules.ts';
import { Lockout } from '../actuators/lockout.ts';
import { reopeningDriver } from '../actuators/open-driver.ts';
import { PulseMarks } from '../actuators/pulse-marks.ts';
import type { ActuatorConfig, AgentConfig } from '../config/agent-config.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { StateFile } from '../host/state-file.ts';

export interface ActuatorSideDeps {
  readonly config: AgentConfig;
  readonly ports: Ports;
  readonly clock: Clock;
  readonly log: Log;
  readonly onRuleEvent: (event: RuleEvent) => void;
}

export class ActuatorSide {
  readonly lockout: Lockout;
  readonly actuators: ActuatorControl;
  readonly rules: LocalRules;
  /** Those that were opened; what a changed configuration adds waits for a restart. */
  readonly configs: readonly ActuatorConfig[];
  readonly #looking: Promise<void>;
  readonly #stop = new AbortController();

  private constructor(parts: Pick<ActuatorSide, 'lockout' | 'actuators' | 'rules' | 'configs'>) {
    this.lockout = parts.lockout;
    this.actuators = parts.actuators;
    this.rules = parts.rules;
    this.configs = parts.configs;
    this.#looking = this.lockout.run(this.#stop.signal);
  }

  /** Resolves when the states for start are set, or hardware that is not there has been reported. */
  static async open(deps: ActuatorSideDeps, signal: AbortSignal): Promise<ActuatorSide> {
    const { config, ports, clock, log } = deps;
    const configs = config.actuators.filter(({ enabled }) => enabled);
    const lockout = await Lockout.open({ settings: config.rpc.lockout, gpio: ports.gpio, clock, log }, signal);
    const file = new StateFile({ ...DESIRED_STATES_FORMAT, path: join(config.stateFolder, 'actuators.json'), log });
    const actuators = await ActuatorControl.open(
      {
        actuators: configs.map((each) => ({ settings: actuatorSettings(each), driver: reopeningDriver(each, { ports, clock }) })),
        memory: new ActuatorMemory({
          desired: await DesiredStates.open(file, clock),
          pulseMarks: await PulseMarks.open(config.runFolder, log),
        }),
        locked: () => lockout.locked,
        clock,
        log,
      },
      signal,
    );
    const rules = new LocalRules({ rules: config.rules, actuators, clock, log, onEvent: deps.onRuleEvent });
    return new ActuatorSide({ lockout, actuators, rules, configs });
  }

  /** What each actuator shows, with its kind. */
  states(): readonly (ActuatorState & { readonly kind: string })[] {
    return this.configs.map(({ name, kind }) => ({ ...this.actuators.state(name), kind }));
  }

  /** Rules end first, so that nothing moves against the states for stop. Idempotent. */
  async close(): Promise<void> {
    this.rules.close();
    await this.actuators.close();
    this.#stop.abort();
    await this.#looking;
  }
}
