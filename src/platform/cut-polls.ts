/**
 * Tells of polls that fail after they have stood: the first like any fault, the next one with its remedy, and then their count, once an hour. Each
 * of them begins its backoff anew, so that nothing else keeps their lines apart.
 */
import { messageOf } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';

const TELL_EVERY_MS = 3_600_000;
/** The first poll's time, which a stock server holds. */
const REMEDY =
  'something between here and the platform ends polls while they stand: let it wait 30 s or longer for an answer; polls are made shorter meanwhile';

export class CutPolls {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #log: Log;
  readonly #kind: string;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor({
    clock,
    log,
    kind,
  }: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly log: Log; readonly kind: string }) {
    this.#clock = clock;
    this.#log = log;
    this.#kind = kind;
  }

  /** Notes one that failed after so long. */
  note(error: unknown, stoodMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#sinceMs > TELL_EVERY_MS) this.#count = 0;
    this.#sinceMs = nowMs;
    this.#count += 1;
    const fields = { kind: this.#kind, error: messageOf(error) };
    if (this.#count === 1) this.#log.warn(fields, 'the long poll failed');
    if (this.#count === 1 || (this.#count > 2 && nowMs - this.#toldAtMs < TELL_EVERY_MS)) return;
    this.#toldAtMs = nowMs;
    this.#log.warn({ ...fields, stoodS: Math.round(stoodMs / 1000), count: this.#count }, REMEDY);
  }
}
