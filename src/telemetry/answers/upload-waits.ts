/** How long the uploader waits after an answer that took nothing, and what it says meanwhile. */
import type { Told } from '../../errors/sentence.ts';
import { Backoff } from '../../host/backoff.ts';
import type { Clock } from '../../host/clock.ts';
import { sentence } from '../../names/sentences.ts';
import type { UploadAnswer } from '../../platform/device-api.ts';

export type FailingAnswer = Exclude<UploadAnswer, { readonly kind: 'accepted' }>;

/** A server that is only busy is asked again soon; the bound is well under the patience of somebody who watches. */
const BUSY_BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
/** Nothing but a person changes credentials or a portal; still, the device must notice by itself when one did. */
const HOLD_BACKOFF = { firstMs: 30_000, maxMs: 300_000 };
/** A refused batch is bisected step by step, no quicker than a host is asked that answers with faults. */
const STEP_MS = 2_000;
/** An alarm that comes meanwhile waits no longer for the pace. */
const MAX_PACE_MS = 10_000;
/** The same while one entry after the other is refused, and nothing taken. */
const REFUSED_BACKOFF = { firstMs: 2_000, maxMs: 20_000 };

export class UploadWaits {
  readonly #busy: Backoff;
  readonly #hold: Backoff;
  readonly #refused: Backoff;

  constructor(clock: Pick<Clock, 'jitter'>) {
    this.#busy = new Backoff(BUSY_BACKOFF, clock);
    this.#hold = new Backoff(HOLD_BACKOFF, clock);
    this.#refused = new Backoff(REFUSED_BACKOFF, clock);
  }

  /** Single entries refused since something was taken. */
  get refusals(): number {
    return this.#refused.attempts;
  }

  /** Ms until the next try; `isAlone`: it was about one entry; `isNextLess`: the next post is smaller, to find a limit; `atLeastMs`: the pace behind one. */
  after(
    answer: FailingAnswer,
    {
      isAlone,
      isNextLess = false,
      atLeastMs = 0,
    }: { readonly isAlone: boolean; readonly isNextLess?: boolean; readonly atLeastMs?: number },
  ): number {
    switch (answer.kind) {
      case 'portal':
      case 'unauthorised':
        return this.#hold.nextMs();
      case 'busy':
        if (isNextLess && answer.retryAfterMs === undefined) return STEP_MS;
        return Math.max(this.#busy.nextMs(answer.retryAfterMs), Math.min(atLeastMs, MAX_PACE_MS));
      case 'refused':
      case 'too-large':
        return isAlone ? this.#refused.nextMs(STEP_MS) : STEP_MS;
    }
  }

  /** Something was taken. */
  reset(): void {
    this.#busy.reset();
    this.#hold.reset();
    this.#refused.reset();
  }
}

/** True where the platform was not reached, refuses this device, or where somebody else answered in its place. */
export function isAboutContact(answer: FailingAnswer): boolean {
  if (answer.kind === 'busy') return answer.status === undefined;
  return answer.kind === 'portal' || (answer.kind === 'unauthorised' && answer.status !== 0);
}

export function reasonFor(answer: FailingAnswer): Told {
  // Nobody was asked: the agent itself holds back, and says why.
  if ('text' in answer && answer.status === 0) return answer.text;
  switch (answer.kind) {
    case 'portal':
      return sentence('uploadPortal', { status: answer.status });
    case 'unauthorised':
      return sentence('uploadUnknown', { status: answer.status });
    case 'busy':
      return answer.status === undefined
        ? sentence('uploadNotReached', { why: answer.text })
        : sentence('uploadBusy', { status: answer.status });
    case 'too-large':
    case 'refused':
      return sentence('uploadRefused', { status: answer.status });
  }
}
