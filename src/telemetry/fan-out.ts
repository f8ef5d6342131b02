/**
 * Posts a window of the attached devices' outbox: each device's rows with its own token, side by side over shared connections
 * (outbox/DEVICES.md).
 *
 *   window ─┬─ device A ─▶ post ─ accepted
 *           ├─ device B ─▶ post ─ refused by itself, slow ─▶ its own place
 *           └─ device C, which has a place of its own ─────▶ its own place
 *
 * While the platform itself is away nothing is moved: the window stays as it is, but for what has arrived of it.
 */
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { english } from '../names/sentences.ts';
import type { BatchLimits, EntryColumns } from '../outbox/outbox.ts';
import type { UploadAnswer } from '../platform/device-api.ts';
import { faultOfStatus } from '../platform/host-pace.ts';
import { reasonFor } from './answers/upload-waits.ts';

type FailingAnswer = Exclude<UploadAnswer, { kind: 'accepted' }>;

export interface FanOutDeps {
  readonly clock: Clock;
  readonly devices: {
    /** Says why nothing of the window is sent now, in words; undefined when it can be. */
    readonly settling: () => string | undefined;
    readonly post: (device: string, rows: EntryColumns, signal: AbortSignal) => Promise<UploadAnswer>;
  };
  readonly held: {
    readonly isHeld: (device: string) => boolean;
    /** Resolves when the rows are durable in the device's own place. */
    readonly move: (device: string, rows: EntryColumns, why: string | undefined, signal: AbortSignal) => Promise<void>;
  };
  /** Largest post. */
  readonly limits: () => BatchLimits;
}

interface Part {
  readonly device: string;
  readonly rows: EntryColumns;
}

interface Failed {
  readonly part: Part;
  readonly answer: FailingAnswer;
}

/** Requests side by side: as many as there are sockets. */
export const POSTS_AT_ONCE = 8;
/** A device that takes longer is slow: it goes on in a place of its own. */
const FIRST_BOUND_MS = 5_000;
/** As long as a call may take on a slow line; from then on the line is slow, and not a device. */
const MAX_BOUND_MS = 60_000;
/** A platform that took something within this time is there. */
const LATELY_MS = 30_000;
const ACCEPTED: UploadAnswer = { kind: 'accepted' };

export class FanOut {
  readonly #deps: FanOutDeps;
  /** Sequences of windows that are not over: they have arrived, or lie in a place of their own. */
  readonly #settled = new Set<number>();
  #boundMs = FIRST_BOUND_MS;
  /** Monotonic ms of the last upload that the platform took. */
  #takenAtMs = Number.NEGATIVE_INFINITY;
  /** The last window reached nobody: one device asks before the others. */
  #isAway = false;
  /** Windows that reached nobody: another device asks first each time, as it may be about the first alone. */
  #timesAway = 0;

  constructor(deps: FanOutDeps) {
    this.#deps = deps;
  }

  /** Resolves to `accepted` when each row has arrived or lies in its device's own place; else to the answer that holds for all. */
  async post(rows: EntryColumns, signal: AbortSignal): Promise<UploadAnswer> {
    const settling = this.#deps.devices.settling();
    if (settling !== undefined) return { kind: 'busy', status: 0, text: settling };
    const isNew = this.#settled.size === 0;
    const open = isNew ? rows : rows.where((row) => !this.#settled.has(rows.sequences[row] as number));
    const parts = [...open.byDevice()].map(([device, own]): Part => ({ device, rows: own }));
    const done: Part[] = [];
    let isOver = false;
    try {
      const answer = await this.#postParts(parts, done, signal);
      isOver = answer.kind === 'accepted';
      return answer;
    } finally {
      // A window that is over, as most are at once, needs no account of its rows.
      if (!isOver) for (const { rows: own } of done) for (const sequence of own.sequences) this.#settled.add(sequence);
      else if (!isNew) for (const sequence of rows.sequences) this.#settled.delete(sequence);
    }
  }

  /** @param done Gets the parts that have arrived, or lie in a place of their own. */
  async #postParts(parts: readonly Part[], done: Part[], signal: AbortSignal): Promise<UploadAnswer> {
    const failed: Failed[] = [];
    let isReached = false;
    const first = this.#timesAway % Math.max(1, parts.length);
    const waiting = [...parts.slice(first), ...parts.slice(0, first)];
    // A window that nobody takes ends with the first who were asked.
    const isLost = (): boolean =>
      failed.length > 0 && !isReached && !failed.some(({ answer }) => this.#isAboutDevice(answer));
    const postNext = async (): Promise<void> => {
      for (let part = waiting.shift(); part !== undefined && !signal.aborted; part = waiting.shift()) {
        const answer = await this.#postPart(part, signal);
        if (answer === undefined || answer.kind === 'accepted') done.push(part);
        if (answer?.kind === 'accepted') isReached = true;
        if (answer?.kind === 'accepted') this.#takenAtMs = this.#deps.clock.monotonicMs();
        else if (answer !== undefined) failed.push({ part, answer });
        if (isLost()) return;
      }
    };
    if (this.#isAway) await postNext();
    if (!isLost()) await Promise.all(Array.from({ length: Math.min(POSTS_AT_ONCE, waiting.length) }, postNext));
    this.#isAway = isLost();
    if (!this.#isAway && failed.length < parts.length) this.#boundMs = FIRST_BOUND_MS;
    if (signal.aborted) return failed[0]?.answer ?? { kind: 'busy', text: 'the upload was ended' };
    if (this.#isAway) return this.#away(failed.map(({ answer }) => answer));
    if (!(await this.#tryAlone(failed, done, signal))) return this.#away(failed.map(({ answer }) => answer));
    for (const { part, answer } of failed) {
      await this.#deps.held.move(part.device, part.rows, english(reasonFor(answer)), signal);
      done.push(part);
    }
    return waiting.length === 0 ? ACCEPTED : this.#postParts(waiting, done, signal);
  }

  /**
   * Tries once more, one after the other, what was too slow beside others: on a slow line all of them are. Takes what passes from `failed`.
   * Resolves to false when the first two reach nobody: one alone may be a slow device.
   */
  async #tryAlone(failed: Failed[], done: Part[], signal: AbortSignal): Promise<boolean> {
    const slow = failed.filter(({ answer }) => answer.kind === 'busy' && answer.status === undefined);
    if (slow.length < 2) return true;
    let isReached = false;
    for (const [at, one] of slow.entries()) {
      const answer = await this.#postPart(one.part, signal);
      if (answer === undefined || answer.kind === 'accepted') {
        failed.splice(failed.indexOf(one), 1);
        done.push(one.part);
        isReached = true;
      } else if (at > 0 && !isReached) return false;
    }
    return true;
  }

  /** Resolves to undefined when the rows went to the device's own place, untried. */
  async #postPart({ device, rows }: Part, signal: AbortSignal): Promise<UploadAnswer | undefined> {
    const { clock, devices, held } = this.#deps;
    if (held.isHeld(device)) {
      await held.move(device, rows, undefined, signal);
      return undefined;
    }
    for (const piece of piecesOf(rows, this.#deps.limits())) {
      const answer = await withinMs(clock, this.#boundMs, (bounded) => devices.post(device, piece, bounded), signal);
      if (answer.kind !== 'accepted') return answer;
    }
    return ACCEPTED;
  }

  /**
   * True for an answer about this device or what it sent, so that others may pass: the platform's own, a hold of the agent's, or a fault of the
   * platform while it has just taken what others sent.
   */
  #isAboutDevice(answer: FailingAnswer): boolean {
    const { kind, status } = answer;
    if (kind === 'refused' || kind === 'too-large') return true;
    if (kind === 'unauthorised' || status === 0) return true;
    const isFault = kind === 'busy' && status !== undefined && faultOfStatus(status) === 'answered';
    return isFault && this.#deps.clock.monotonicMs() - this.#takenAtMs < LATELY_MS;
  }

  /** Nobody was reached. When that is a matter of time, the next window may take longer. */
  #away(answers: readonly FailingAnswer[]): UploadAnswer {
    this.#boundMs = Math.min(MAX_BOUND_MS, this.#boundMs * 2);
    this.#timesAway += 1;
    return answers.find(({ kind }) => kind === 'portal') ?? (answers[0] as FailingAnswer);
  }
}

/** The rows in posts within the limits, at least one row each. */
function* piecesOf(rows: EntryColumns, limits: BatchLimits): Generator<EntryColumns, undefined> {
  if (rows.length > 1 && (rows.length > limits.maxEntries || rows.jsonBytes() > limits.maxBytes)) {
    // A row and its mark have one sequence, and stay together where that is possible.
    let half = Math.ceil(rows.length / 2);
    if (rows.isMark(half) && half + 1 < rows.length) half += 1;
    yield* piecesOf(rows.part(0, half), limits);
    yield* piecesOf(rows.part(half, rows.length), limits);
  } else yield rows;
  return undefined;
}
