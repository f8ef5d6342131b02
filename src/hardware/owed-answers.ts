/**
 * Commands on a port whose answers may come yet. An answer does not say to what: while an earlier command owes its own, it is not taken for
 * that of the present one.
 */
import { hasCode } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';

/** Time after which an answer no longer comes. */
const OWED_FOR_MS = 60_000;
/** Off that is refused is told again every two seconds. */
const MAX_OWED = 100;

export interface ToldCommand {
  /** The same for commands of which one's answer proves the other; a value of its own for what counts each time, such as a tare. */
  readonly command: unknown;
  /** True when its answer ends the waiting for all before it. */
  readonly endsAll: boolean;
}

export class OwedAnswers {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** In the order in which they were told. */
  #list: readonly { readonly command: unknown; readonly untilMs: number }[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Tells a command and hears an answer: returns it, and whether it can be no other command's. @throws whatever `tell` throws. */
  async heard<T>(
    { command, endsAll }: ToldCommand,
    tell: () => Promise<T>,
  ): Promise<{ readonly answer: T; readonly isProof: boolean }> {
    let answer: T;
    try {
      answer = await tell();
    } catch (error) {
      // Without a port nothing was told.
      if (!hasCode(error, 'hardware/serial-unplugged')) this.#owe(command, this.#clock.monotonicMs() + OWED_FOR_MS);
      throw error;
    }
    const earlier = this.#list.filter(({ untilMs }) => this.#clock.monotonicMs() < untilMs);
    const isProof = earlier.every((one) => one.command === command);
    this.#list = isProof && endsAll ? [] : earlier.slice(1);
    // One of them is missing still: for as long as that of an earlier command may come.
    const last = earlier.at(-1);
    if (!isProof && last !== undefined) this.#owe(command, last.untilMs);
    return { answer, isProof };
  }

  #owe(command: unknown, untilMs: number): void {
    this.#list = [...this.#list.slice(0, MAX_OWED - 1), { command, untilMs }];
  }
}
