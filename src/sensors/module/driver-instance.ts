/**
 * One opened driver of a user's own. A fault of its that nobody awaits does not end the agent: the driver counts as broken from then on, as
 * nobody knows what it left undone, so that its sensor fails until it has been opened anew.
 */
import { messageOf } from '../../errors.ts';
import { ownedBy, ownedByNobody } from '../../host/stray-faults.ts';
import { sensorFault } from '../sensor-fault.ts';

export class DriverInstance {
  readonly #file: string;
  readonly #onStray: (fault: unknown) => void;
  /** Ends each run that is under way. */
  readonly #running = new Set<(fault: Error) => void>();
  #stray: { readonly fault: unknown } | undefined;

  /** @param onStray is told of the first stray fault of this instance. */
  constructor(file: string, onStray: (fault: unknown) => void) {
    this.#file = file;
    this.#onStray = onStray;
  }

  /** Runs the driver's code. @throws what it throws, or AgentError `sensors/module-failed` (retry) as soon as something of it went astray. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#stray !== undefined) throw this.#fault(this.#stray.fault);
    return await new Promise<T>((resolve, reject) => {
      this.#running.add(reject);
      const running = ownedBy(this.#takeStray, async () => await work());
      running.then(resolve, reject).finally(() => this.#running.delete(reject));
    });
  }

  /** The same for what returns at once. */
  runNow<T>(work: () => T): T {
    return ownedBy(this.#takeStray, work);
  }

  /** Our own function as the driver may call it: what happens in it is not the driver's. */
  callback<A>(call: (argument: A) => void): (argument: A) => void {
    return (argument) => {
      if (this.#stray === undefined) ownedByNobody(() => call(argument));
    };
  }

  readonly #takeStray = (fault: unknown): void => {
    if (this.#stray !== undefined) return;
    this.#stray = { fault };
    this.#onStray(fault);
    for (const reject of this.#running) reject(this.#fault(fault));
    this.#running.clear();
  };

  #fault(fault: unknown): Error {
    return sensorFault('module-failed', `${this.#file}: a fault that it does not handle: ${messageOf(fault)}`, fault);
  }
}
