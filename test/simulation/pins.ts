/** Faults of outputs in the very moment in which they are switched. */

export type Moment = 'before' | 'after';

export class Pins {
  readonly #nowMs: () => number;
  /** When outputs did what they were told, and nobody heard of it. */
  readonly muteTimes: { readonly fromMs: number; untilMs: number }[] = [];
  readonly #mutes = new Set<object>();
  readonly #jams = new Set<object>();
  #next: { switchesLeft: number; readonly at: Moment; readonly act: () => void } | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get areStuck(): boolean {
    return this.#jams.size > 0;
  }

  get areMute(): boolean {
    return this.#mutes.size > 0;
  }

  /** Outputs do what they are told and answer nothing, until the returned function is called. */
  mute(): () => void {
    const time = { fromMs: this.#nowMs(), untilMs: Number.POSITIVE_INFINITY };
    this.muteTimes.push(time);
    this.#mutes.add(time);
    return () => {
      this.#mutes.delete(time);
      time.untilMs = this.#nowMs();
    };
  }

  /** Outputs take what they are told and do not move, until the returned function is called. */
  jam(): () => void {
    const jam = {};
    this.#jams.add(jam);
    return () => this.#jams.delete(jam);
  }

  /** Acts before or after one of the next switchings; the returned function cancels. */
  actAt(switches: number, at: Moment, act: () => void): () => void {
    const next = { switchesLeft: switches, at, act };
    this.#next = next;
    return () => {
      if (this.#next === next) this.#next = undefined;
    };
  }

  /** An output is about to be switched, or has been. */
  switches(at: Moment): void {
    const next = this.#next;
    if (next === undefined || next.at !== at || --next.switchesLeft > 0) return;
    this.#next = undefined;
    next.act();
  }
}
