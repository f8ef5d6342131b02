/**
 * Notices that the platform has not been heard for as long as an output may be left alone. Half way into the shortest such time, and once more,
 * it has the platform asked: an idle link is not a lost one. Silence is counted from the last answer, or from the start, so that a gateway
 * which never reaches its platform is safe too.
 */
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { isActive } from './kind/actuator.ts';
import type { Output } from './output.ts';

export interface ContactWatchDeps {
  readonly outputs: readonly Output[];
  readonly clock: Clock;
}

/** The second in case the first is lost on the way. */
const ASKED_AT = [0.5, 0.75] as const;
/** Bounds the wait of outputs that go on for those that go off and hang. */
const OFF_WITHIN_MS = 3_000;

export class ContactWatch {
  readonly #deps: ContactWatchDeps;
  readonly #listeners = new Set<() => void>();
  /** Becomes due one after the other while nothing is heard. */
  readonly #steps: readonly { readonly afterMs: number; readonly act: () => void }[];
  #done = 0;
  #heardAtMs: number;
  #cancel = (): void => {};
  #isClosed = false;

  constructor(deps: ContactWatchDeps) {
    this.#deps = deps;
    this.#heardAtMs = deps.clock.monotonicMs();
    const times = [...new Set(deps.outputs.flatMap(({ settings }) => settings.safe.noContact?.afterMs ?? []))].sort(
      (a, b) => a - b,
    );
    const ask = (): void => {
      for (const listener of this.#listeners) listener();
    };
    this.#steps = [
      ...times
        .slice(0, 1)
        .flatMap((shortestMs) => ASKED_AT.map((share) => ({ afterMs: shortestMs * share, act: ask }))),
      ...times.map((afterMs) => ({ afterMs, act: () => void this.#fill(afterMs) })),
    ];
    this.#arm();
  }

  /** The platform was heard just now. */
  heard(): void {
    if (this.#isClosed) return;
    this.#heardAtMs = this.#deps.clock.monotonicMs();
    this.#done = 0;
    for (const output of this.#deps.outputs) void output.take({ kind: 'heard' });
    this.#arm();
  }

  /** Calls back when the platform should be asked whether it is there, until the returned function is called. */
  onQuiet(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #arm(): void {
    this.#cancel();
    const next = this.#steps[this.#done];
    if (next === undefined || this.#isClosed) return;
    this.#cancel = this.#deps.clock.after(Math.max(0, this.#leftMs(next.afterMs)), () => {
      // A timer may be shorter than what was asked for.
      if (this.#leftMs(next.afterMs) <= 0) {
        this.#done += 1;
        next.act();
      }
      this.#arm();
    });
  }

  /** Switches off first: an output that is on may keep another from going on. */
  async #fill(afterMs: number): Promise<void> {
    const due = this.#deps.outputs.flatMap((output) => {
      const { noContact } = output.settings.safe;
      return noContact?.afterMs !== afterMs ? [] : [{ output, value: noContact.value }];
    });
    const off = due.filter(({ value }) => !isActive(value));
    const moving = Promise.all(off.map(({ output, value }) => output.take({ kind: 'silent', value })));
    await endedWithin(this.#deps.clock, OFF_WITHIN_MS, moving);
    if (this.#isClosed || this.#leftMs(afterMs) > 0) return;
    for (const { output, value } of due.filter((one) => !off.includes(one)))
      void output.take({ kind: 'silent', value });
  }

  #leftMs(afterMs: number): number {
    return this.#heardAtMs + afterMs - this.#deps.clock.monotonicMs();
  }
}
