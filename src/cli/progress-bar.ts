/** A bar for work that takes a while: on a terminal a line that moves, elsewhere nothing at all. */
import type { Output } from './edge.ts';

const BAR_WIDTH = 30;
/** Faster than this nobody reads it. */
const STEP_PERCENT = 1;

export class ProgressBar {
  readonly #output: Output;
  readonly #label: string;
  #shownPercent = -1;

  constructor(output: Output, label: string) {
    this.#output = output;
    this.#label = label;
  }

  /** `total` may be unknown: then the amount alone is shown, as `describe` words it. */
  update(done: number, total: number | undefined, describe: (amount: number) => string = String): void {
    if (!this.#output.isTerminal) return;
    if (total === undefined || total <= 0) {
      this.#draw(`${this.#label} ${describe(done)}`);
      return;
    }
    const percent = Math.min(100, Math.floor((done / total) * 100));
    if (percent < this.#shownPercent + STEP_PERCENT) return;
    this.#shownPercent = percent;
    const filled = Math.round((percent / 100) * BAR_WIDTH);
    this.#draw(
      `${this.#label} [${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${String(percent).padStart(3)}% of ${describe(total)}`,
    );
  }

  /** Leaves the line clean. Idempotent. */
  end(): void {
    if (this.#output.isTerminal) this.#output.write('\r\u001b[K');
  }

  #draw(text: string): void {
    this.#output.write(`\r\u001b[K${text.slice(0, this.#output.columns - 1)}`);
  }
}

/** A bar for as long as the work takes. */
export async function withBar<T>(output: Output, label: string, work: (bar: ProgressBar) => Promise<T>): Promise<T> {
  const bar = new ProgressBar(output, label);
  return work(bar).finally(() => bar.end());
}
