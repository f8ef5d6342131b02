/**
 * Requests that all callers of one socket have under way together. A stream holds a part of the outbox in memory for as long as its caller
 * reads: when there are as many as the agent can hold, the one that began first gives way, with its connection, so that its caller does not
 * take a part for the whole.
 */

export interface Begun {
  readonly isStream: boolean;
  /** Ends the caller whose stream gives way. */
  readonly giveWay: () => void;
}

/** A request or two for each connection. */
const MAX_REQUESTS = 128;
/** Each holds some 300 kB. */
export const MAX_STREAMS = 8;

export class UnderWay {
  /** Requests under way; one that gave way counts until it has ended. */
  #requests = 0;
  readonly #streams = new Set<Begun>();

  /** False when there is no room; otherwise `over` is to be called when its work has ended, answered or not. */
  begin(one: Begun): boolean {
    if (this.#requests >= MAX_REQUESTS) return false;
    this.#requests += 1;
    if (!one.isStream) return true;
    const [first] = this.#streams;
    if (this.#streams.size >= MAX_STREAMS && first !== undefined) {
      this.#streams.delete(first);
      first.giveWay();
    }
    this.#streams.add(one);
    return true;
  }

  over(one: Begun): void {
    this.#requests -= 1;
    this.#streams.delete(one);
  }
}
