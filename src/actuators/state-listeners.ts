/** Listeners to the states of outputs: one that throws must not turn a movement into a failure. */
import { messageOf } from '../errors/agent-error.ts';
import type { Log } from '../host/log.ts';
import type { ActuatorState } from './kind/actuator.ts';

type Listener = (state: ActuatorState) => void;

export class StateListeners {
  readonly #log: Log;
  readonly #listeners = new Set<Listener>();

  constructor(log: Log) {
    this.#log = log;
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(state: ActuatorState): void {
    for (const listener of this.#listeners) {
      try {
        listener(state);
      } catch (error) {
        this.#log.warn({ actuator: state.name, error: messageOf(error) }, 'an actuator was not reported');
      }
    }
  }
}
