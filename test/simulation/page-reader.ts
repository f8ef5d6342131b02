/** Somebody who looks at the gateway itself: every few seconds at what happened, and now and then at the plots of a day. */

import type { TimelineEvent } from '../../src/timeline/event.ts';
import type { TimelineAnswer } from '../../src/timeline/query.ts';
import { type JsonObject, stringifyJson } from '../../src/values/json.ts';
import { WORLD_BEGINS_MS } from './board-clock.ts';
import type { Life } from './life.ts';
import { COUNT } from './measures.ts';
import { seconds } from './witness/sentence.ts';
import type { World } from './world.ts';

export const LOOK_EVERY_MS = 20_000;
const LOOKS_A_PLOT = 45;
const EVENTS_A_LOOK = 100;
const DAY_MS = 86_400_000;
/** A band is as long, so that a day of them has so many points. */
export const BAND_MS = 300_000;
const PLOTTED_KEYS = 6;
/** What is told is on the disk by then. */
const WRITTEN_WITHIN_MS = 15_000;
/** A standing poll, its margin and a call's time-out, a look at the timeline. */
const SILENCE_TOLD_MS = 120_000;
/** From an answer to the words of it. */
const TOLD_WITHIN_MS = 1_000;

/** An event as it was first seen. */
export interface SeenEvent {
  readonly event: TimelineEvent;
  /** Time of the look before, and of that at which it was there; in the world's time. */
  readonly afterMs: number;
  readonly atMs: number;
}

/** Bands of one key, as they were shown. */
export interface Plot {
  readonly key: string;
  readonly atMs: number;
  /** Each with its beginning, in the world’s time as the wall clock has it. */
  readonly bands: readonly { readonly fromMs: number; readonly least: number; readonly greatest: number }[];
}

export class PageReader {
  readonly seen: SeenEvent[] = [];
  readonly plots: Plot[] = [];
  /** Numbers that came twice or went back, and words of the contact that were not so. */
  readonly numberFaults: string[] = [];
  readonly contactFaults: string[] = [];
  readonly #world: World;
  /** Events by their number, as far as a later life must have them. */
  readonly #known = new Map<number, SeenEvent>();
  #lookedAtMs = 0;
  #life: Life | undefined;
  #looks = 0;

  constructor(world: World) {
    this.#world = world;
    this.#lookLater();
  }

  #lookLater(): void {
    this.#world.timeline.after(LOOK_EVERY_MS, () => {
      this.#looks += 1;
      // Who asks a process that ends meanwhile is not answered.
      this.#look().catch(() => {});
      if (this.#looks % LOOKS_A_PLOT === 0) this.#lookAtPlots().catch(() => {});
      this.#lookLater();
    });
  }

  async #look(): Promise<void> {
    const { life, timeline } = this.#world;
    if (life?.agent === undefined || life.isDead) return;
    const atMs = timeline.nowMs;
    const sinceMs = this.#world.lives.starts.at(-1)?.untilMs ?? atMs;
    const { answeredAtMs, failedAtMs, spokeAtMs } = this.#world.network.outcomes;
    const isReached = answeredAtMs > Math.max(failedAtMs, sinceMs) && atMs - answeredAtMs > TOLD_WITHIN_MS;
    // Who has nothing to ask with, as credentials cannot be read, hears no silence: the alert says so.
    const hasAsked = failedAtMs > Math.max(answeredAtMs, sinceMs);
    const isSilent = hasAsked && atMs - Math.max(answeredAtMs, spokeAtMs, sinceMs) > SILENCE_TOLD_MS;
    const events = await ask(life, { limit: EVENTS_A_LOOK });
    const [contact] = (await ask(life, { kinds: ['contact'], limit: 10 })).filter(({ by }) => by !== 'link');
    if (life !== this.#world.life || !this.#hasBegun(life, events)) return;
    this.#take(life, events, atMs);
    this.#lookedAtMs = atMs;
    // The platform answers attached devices whatever it says of the gateway's own token.
    if (isReached && contact?.value !== 'reached' && this.#world.site.attached.length === 0)
      this.contactFaults.push(`at ${seconds(atMs)} the platform answers, and the last that is told: ${contact?.words}`);
    if (isSilent && (contact === undefined || contact.value === 'reached'))
      this.contactFaults.push(`at ${seconds(atMs)} the platform is silent, and nobody is told`);
  }

  /** True once a life has read what those before it told: then its own start is among it. */
  #hasBegun(life: Life, events: readonly TimelineEvent[]): boolean {
    if (life === this.#life) return true;
    const start = events.find(({ kind, by }) => kind === 'start' && by !== 'stop');
    return start !== undefined && !isSame(this.#known.get(start.seq)?.event, start);
  }

  #take(life: Life, events: readonly TimelineEvent[], atMs: number): void {
    if (life !== this.#life) this.#forgetUnwritten();
    this.#life = life;
    let lastSeq = 0;
    const newest = Math.max(0, ...this.#known.keys());
    for (const event of events.toReversed()) {
      const { seq } = event;
      const known = this.#known.get(seq)?.event;
      const told = stringifyJson(event.words);
      if (seq <= lastSeq) this.#blame(atMs, `${seq} comes after ${lastSeq}: ${told}`);
      else if (known !== undefined && !isSame(known, event))
        this.#blame(atMs, `${seq} is ${told}, and was ${stringifyJson(known.words)}`);
      else if (known === undefined && seq < newest) this.#blame(atMs, `${seq} is new, after ${newest}: ${told}`);
      lastSeq = seq;
      if (known !== undefined) continue;
      const seen = { event, afterMs: this.#lookedAtMs, atMs };
      this.seen.push(seen);
      this.#known.set(seq, seen);
    }
    const last = events[0]?.seq ?? 0;
    if (last < newest) this.#blame(atMs, `the newest is ${last}, and was ${newest}`);
  }

  /** A kill takes what was not written, a power cut what was not synced, and a disk that fails whatever it likes. */
  #forgetUnwritten(): void {
    const { disk, fills, rig, lives } = this.#world;
    const endMs = lives.ends.find((one) => one >= this.#lookedAtMs) ?? this.#lookedAtMs;
    const isLost = disk.wasFaulty || fills.length > 0 || (rig.cuts.at(-1) ?? 0) >= this.#lookedAtMs;
    for (const [seq, { atMs }] of this.#known) if (isLost || atMs > endMs - WRITTEN_WITHIN_MS) this.#known.delete(seq);
  }

  #blame(atMs: number, words: string): void {
    this.numberFaults.push(`at ${seconds(atMs)} ${words}`);
  }

  async #lookAtPlots(): Promise<void> {
    const { life, timeline, durable } = this.#world;
    const page = life?.page;
    if (page === undefined) return;
    const atMs = timeline.nowMs;
    const numbers = durable.filter(({ entry }) => entry.device === 'self' && typeof entry.value === 'number');
    const all = [...new Set(numbers.map(({ entry }) => entry.key))];
    const keys = [COUNT, 'twice', ...all].filter((key, at, list) => list.indexOf(key) === at && all.includes(key));
    const toMs = Math.ceil((page.clock.wallMs() + 1) / BAND_MS) * BAND_MS;
    const query = { keys: keys.slice(0, PLOTTED_KEYS), fromMs: toMs - DAY_MS, toMs, points: DAY_MS / BAND_MS };
    const series = await page.series(query, new AbortController().signal);
    for (const [key, [times, least, greatest = least]] of Object.entries(series)) {
      const bands = times.map((middleMs, n) => ({
        fromMs: middleMs - BAND_MS / 2 - WORLD_BEGINS_MS,
        least: least[n] as number,
        greatest: greatest[n] as number,
      }));
      this.plots.push({ key, atMs, bands });
    }
  }
}

async function ask(life: Life, query: JsonObject): Promise<readonly TimelineEvent[]> {
  const { events } = (await life.ask('timeline', query)) as unknown as TimelineAnswer;
  return events;
}

/** Secrets that are known since are not shown any more. */
function isSame(one: TimelineEvent | undefined, other: TimelineEvent): boolean {
  return one?.ts === other.ts && one.kind === other.kind && one.by === other.by;
}
