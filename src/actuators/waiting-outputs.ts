/** Outputs whose wish waits at a gate: they pass one at a time, in the order of the file. */
import type { Clock } from '../host/clock.ts';
import type { Output } from './output.ts';

const AGAIN_AFTER_MS = 5_000;

export class WaitingOutputs {
  readonly #outputs: readonly Output[];
  readonly #clock: Pick<Clock, 'after'>;
  #cancel: (() => void) | undefined;

  constructor(outputs: readonly Output[], clock: Pick<Clock, 'after'>) {
    this.#outputs = outputs;
    this.#clock = clock;
  }

  retryLater(): void {
    this.#cancel ??= this.#clock.after(AGAIN_AFTER_MS, () => {
      this.#cancel = undefined;
      this.retry();
    });
  }

  /** With a code: what waits for that alone. */
  retry(code?: string): void {
    for (const output of this.#outputs) output.retry(code);
  }

  /** Nothing is retried later from here on. Idempotent. */
  close(): void {
    this.#cancel?.();
    this.#cancel = () => {};
  }
}
