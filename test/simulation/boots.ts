/** All boots of the board, one after the other, and when it slept in them. */
import { LOOK_AGAIN_MS } from '../../src/host/time-since-boot.ts';
import { Boot } from './boot.ts';
import type { Hindrances } from './hindrances.ts';
import type { Timeline } from './timeline.ts';

export class Boots {
  /** When the board was suspended. */
  readonly sleeps: { readonly fromMs: number; readonly untilMs: number }[] = [];
  readonly #timeline: Timeline;
  readonly #hindrances: Hindrances;
  readonly #all = new Map<string, Boot>();
  /** The one that runs, or ran last. */
  present: Boot;

  constructor(timeline: Timeline, hindrances: Hindrances) {
    this.#timeline = timeline;
    this.#hindrances = hindrances;
    this.present = new Boot(timeline, 'boot-0');
  }

  begin(): Boot {
    this.present = new Boot(this.#timeline, `boot-${this.#all.size + 1}`);
    this.#all.set(this.present.bootId, this.present);
    return this.present;
  }

  /** Times at which the board booted. */
  get bootedAtMs(): readonly number[] {
    return [...this.#all.values()].map(({ bootedAtMs }) => bootedAtMs);
  }

  /** When something that happened in a boot was, in the world's time. */
  trueTimeOf(bootId: string, monotonicMs: number): number {
    return this.#all.get(bootId)?.trueTimeOf(monotonicMs) ?? Number.NEGATIVE_INFINITY;
  }

  /** The board is suspended; nobody can be asked for anything until it goes on. @returns whether it was awake. */
  suspend(ms: number): boolean {
    if (this.present.isAsleep) return false;
    const { nowMs } = this.#timeline;
    this.sleeps.push({ fromMs: nowMs, untilMs: nowMs + ms });
    // Timers that were due meanwhile fire when the process has looked at the clock again.
    const end = this.#hindrances.begin();
    void this.present.sleep(ms).then(() => this.#timeline.after(LOOK_AGAIN_MS, end));
    return true;
  }

  /** At once, but while the board sleeps. */
  whenAwake(act: () => void): void {
    if (this.present.isAsleep) void this.present.awake().then(act);
    else act();
  }
}
