/** The agent's lives as an onlooker sees them: from when each ran, when it ended, and how. While none runs nobody switches anything. */
import type { Hindrances } from './hindrances.ts';
import type { Life } from './life.ts';
import type { Timeline } from './timeline.ts';

/** Entries that gave way undelivered. */
interface GaveWay {
  dropped: number;
  thinned: number;
}

/** Others filled the disk. */
export interface Fill {
  /** In the world's time. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Entries, within that time. */
  readonly gaveWay: number;
}

const NOTHING: Readonly<GaveWay> = { dropped: 0, thinned: 0 };

export class Lives {
  /** How lives ended that nobody ended. */
  readonly deaths: string[] = [];
  /** When lives ended, in the world's time; of these, when one ended as it was told to. */
  readonly ends: number[] = [];
  readonly stops: number[] = [];
  /** From when a life began until it said that it runs. */
  readonly starts: { readonly fromMs: number; readonly untilMs: number }[] = [];
  /** Entries that lives that are over said to have given way, whether or not the disk kept the number. */
  readonly gaveWay: GaveWay = { dropped: 0, thinned: 0 };
  /** Counts of the present life at its beginning; undefined until it said that it runs. */
  #gaveWayBefore: Readonly<GaveWay> | undefined;
  readonly #timeline: Timeline;
  readonly #hindrances: Hindrances;
  #present: Life | undefined;
  #absence: (() => void) | undefined;

  constructor(timeline: Timeline, hindrances: Hindrances) {
    this.#timeline = timeline;
    this.#hindrances = hindrances;
  }

  /** Entries of all lives, as they said themselves. */
  get gaveWayTillNow(): number {
    const present = this.#gaveWaySince(gaveWayIn(this.#present));
    return this.gaveWay.dropped + this.gaveWay.thinned + present.dropped + present.thinned;
  }

  get present(): Life | undefined {
    return this.#present;
  }

  /** @param onEnd called when it ends by itself. */
  begin(life: Life, onEnd: (how: string) => void): void {
    this.#present = life;
    // From the moment it runs it can be held to what it promises.
    void this.#waitForStart(life);
    void life.ended.then((how) => {
      if (this.#present !== life) return;
      this.#ended(gaveWayIn(life));
      if (how === 'stopped') this.stops.push(this.#timeline.nowMs);
      else this.deaths.push(how);
      onEnd(how);
    });
  }

  kill(): void {
    const gaveWay = gaveWayIn(this.#present);
    this.#present?.kill();
    this.#ended(gaveWay);
  }

  #ended(gaveWay: Readonly<GaveWay> | undefined): void {
    const { dropped, thinned } = this.#gaveWaySince(gaveWay);
    this.gaveWay.dropped += dropped;
    this.gaveWay.thinned += thinned;
    this.#present = undefined;
    this.#gaveWayBefore = undefined;
    this.ends.push(this.#timeline.nowMs);
    this.#absence ??= this.#hindrances.begin();
  }

  /** Returns the counts of a life without those it had found. */
  #gaveWaySince(said: Readonly<GaveWay> | undefined): Readonly<GaveWay> {
    const before = this.#gaveWayBefore;
    return said === undefined || before === undefined
      ? NOTHING
      : { dropped: said.dropped - before.dropped, thinned: said.thinned - before.thinned };
  }

  async #waitForStart(life: Life): Promise<void> {
    const fromMs = this.#timeline.nowMs;
    while (this.#present === life && life.agent === undefined) await this.#timeline.wait(100);
    if (this.#present !== life) return;
    this.#gaveWayBefore = gaveWayIn(life) ?? NOTHING;
    this.starts.push({ fromMs, untilMs: this.#timeline.nowMs });
    this.#absence?.();
    this.#absence = undefined;
  }
}

/** As far as it remembers; undefined while it does not run. */
export function gaveWayIn(life: Life | undefined): Readonly<GaveWay> | undefined {
  return life?.agent?.status().outbox;
}
