/**
 * Progress of long work: how much is done and how long it still takes, by the rate of the last seconds. On a terminal one line that is
 * redrawn; elsewhere a line now and then, and one at the end.
 *
 *     download: 12.4 of 31.0 MB, 40 %, 8 s left
 */
import { type Clock, systemClock } from '../host/clock.ts';
import type { Output } from './edge.ts';
import { spokenAge } from './value-text.ts';
import { cutText } from './wrapped-text.ts';

/** A redraw that is sooner than that is left out, ms. */
const DRAW_EVERY_MS = 200;
/** Spacing of redraws that time alone asks for, ms. */
const TICK_MS = 1_000;
/** Spacing of lines where no terminal is, ms; shorter work says nothing there. */
const LINE_EVERY_MS = 10_000;
/** Span of the rate, ms. */
const RATE_OVER_MS = 10_000;
/** Spacing of the amounts that the rate is made of, ms: with the span it bounds how many are kept. */
const SAMPLE_EVERY_MS = 250;
/** Time after which a rate tells something, ms. */
const TELL_LEFT_AFTER_MS = 3_000;
/** Longest time that is told, ms. */
const MAX_LEFT_MS = 24 * 3_600_000;
const CLEAR = '\r\u001b[K';

/** Words for an amount of a total, which may be unknown. */
type Amounts = (done: number, total: number | undefined) => string;

/** `3 of 112 addresses`. */
export function amountsOf(unit: string): Amounts {
  return (done, total) => `${done}${total === undefined ? '' : ` of ${total}`} ${unit}`;
}

/** `12.4 of 31.0 MB`, both in the unit of the larger one. */
export const sizes: Amounts = (done, total) => {
  const largest = total ?? done;
  const [unit, bytes] = largest >= 1e9 ? ['GB', 1e9] : largest >= 1e6 ? ['MB', 1e6] : ['kB', 1e3];
  const shown = (amount: number): string => (amount / Number(bytes)).toFixed(1);
  return `${shown(done)}${total === undefined ? '' : ` of ${shown(total)}`} ${unit}`;
};

export interface Progress {
  /** Tells how much is done; after it the words go on with the time that is left. */
  update(done: number, total: number | undefined, words: Amounts): void;
  /** Tells which step of unknown length is under way. */
  step(words: string): void;
}

type ProgressClock = Pick<Clock, 'after' | 'monotonicMs'>;

/** Runs work and shows its progress until it ends, which leaves a terminal's line clean. */
export async function withProgress<T>(
  output: Output,
  label: string,
  work: (progress: Progress) => Promise<T>,
  clock: ProgressClock = systemClock,
): Promise<T> {
  const shown = new ShownProgress(output, label, clock);
  try {
    return await work(shown);
  } finally {
    shown.end();
  }
}

class ShownProgress implements Progress {
  readonly #output: Output;
  readonly #label: string;
  readonly #clock: ProgressClock;
  readonly #startedMs: number;
  readonly #timeLeft: TimeLeft;
  #words: (() => string) | undefined;
  #shown = '';
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #isTold = false;
  #cancelTick: () => void = () => {};

  constructor(output: Output, label: string, clock: ProgressClock) {
    this.#output = output;
    this.#label = label;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#timeLeft = new TimeLeft(clock);
    this.#tickLater();
  }

  update(done: number, total: number | undefined, words: Amounts): void {
    this.#timeLeft.see(done);
    this.#words = () => {
      const percent = total === undefined || total <= 0 ? [] : [`${percentOf(done, total)} %`];
      return [words(done, total), ...percent, ...this.#timeLeft.words(total)].join(', ');
    };
    this.#drawSoon();
  }

  step(words: string): void {
    this.#words = () => words;
    this.#drawSoon();
  }

  end(): void {
    this.#cancelTick();
    if (this.#output.isTerminal) {
      if (this.#shown !== '') this.#output.write(CLEAR);
    } else if (this.#isTold) this.#line(`ended after ${spokenAge(this.#clock.monotonicMs() - this.#startedMs)}`);
  }

  #tickLater(): void {
    this.#cancelTick = this.#clock.after(this.#output.isTerminal ? TICK_MS : LINE_EVERY_MS, () => {
      if (this.#output.isTerminal) this.#draw();
      else this.#tell();
      this.#tickLater();
    });
  }

  #drawSoon(): void {
    if (this.#output.isTerminal && this.#clock.monotonicMs() - this.#drawnAtMs >= DRAW_EVERY_MS) this.#draw();
  }

  #draw(): void {
    const { columns } = this.#output;
    const text = cutText(`${this.#label}: ${this.#words?.() ?? this.#underWay()}`, columns - 1);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#drawnAtMs = this.#clock.monotonicMs();
    this.#output.write(`${CLEAR}${text}`);
  }

  #tell(): void {
    const text = this.#words?.() ?? this.#underWay();
    if (text === this.#shown) return;
    this.#shown = text;
    this.#isTold = true;
    this.#line(text);
  }

  #line(text: string): void {
    this.#output.write(`turnstone: ${this.#label}: ${text}\n`);
  }

  #underWay(): string {
    return `under way for ${spokenAge(this.#clock.monotonicMs() - this.#startedMs)}`;
  }
}

function percentOf(done: number, total: number): number {
  return Math.min(100, Math.max(0, Math.floor((done / total) * 100)));
}

/** Tells how long work still takes, by the rate of its last seconds. */
export class TimeLeft {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #startedMs: number;
  /** Oldest first. */
  #samples: { readonly atMs: number; readonly done: number }[] = [];
  #done = 0;
  #seenAtMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#seenAtMs = this.#startedMs;
  }

  see(done: number): void {
    const atMs = this.#clock.monotonicMs();
    // Another part of the work begins from nothing.
    if (done < this.#done) this.#samples = [];
    this.#done = done;
    this.#seenAtMs = atMs;
    const last = this.#samples.at(-1);
    if (last !== undefined && atMs - last.atMs < SAMPLE_EVERY_MS) return;
    this.#samples.push({ atMs, done });
    this.#forgetBefore(atMs - RATE_OVER_MS);
  }

  /** Returns the words, or none while no rate is known. */
  words(total: number | undefined): readonly string[] {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetBefore(nowMs - RATE_OVER_MS);
    const [first] = this.#samples;
    if (total === undefined || first === undefined || nowMs - this.#startedMs < TELL_LEFT_AFTER_MS) return [];
    const perMs = (this.#done - first.done) / (this.#seenAtMs - first.atMs);
    const leftMs = (total - this.#done) / perMs - (nowMs - this.#seenAtMs);
    if (!Number.isFinite(leftMs) || total <= this.#done) return [];
    if (leftMs > MAX_LEFT_MS) return ['more than a day left'];
    return [`${spokenAge(Math.max(1_000, Math.round(leftMs / 1_000) * 1_000))} left`];
  }

  /** Keeps the newest sample at or before that time: the rate begins there. */
  #forgetBefore(ms: number): void {
    const first = this.#samples.findLastIndex(({ atMs }) => atMs <= ms);
    if (first > 0) this.#samples = this.#samples.slice(first);
  }
}
