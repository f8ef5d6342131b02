/** All boots of the board, one after the other. */
import { Boot } from './boot.ts';
import type { Timeline } from './timeline.ts';

export class Boots {
  readonly #timeline: Timeline;
  readonly #all = new Map<string, Boot>();
  /** The one that runs, or ran last. */
  present: Boot;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
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
}
