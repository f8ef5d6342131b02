/** Dependencies of the outputs of an agent. */
import type { Sentence } from '../errors/sentence.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { ActuatorMemory } from './actuator-memory.ts';
import type { ActuatorDriver, ActuatorSettings } from './kind/actuator.ts';
import type { RuleWords } from './priority-slots.ts';
import type { RuleEvent } from './rule-event.ts';

export interface ActuatorControlDeps {
  readonly actuators: readonly { readonly settings: ActuatorSettings; readonly driver: ActuatorDriver }[];
  /** Those that the configuration has disabled: they exclude, and are never moved. */
  readonly disabled?: readonly ActuatorSettings[];
  readonly memory: ActuatorMemory;
  /** True while someone works on the machine. */
  readonly locked: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** The rules of each output, in the order of the file, as the agent begins. */
  readonly rules?: ReadonlyMap<string, readonly RuleWords[]>;
  readonly onRule?: (event: RuleEvent, instead?: Sentence) => void;
  /** An actuator that is not as it has to be, for a person to know; undefined takes it back. */
  readonly onAlarm?: (actuator: string, message: Sentence | undefined) => void;
}
