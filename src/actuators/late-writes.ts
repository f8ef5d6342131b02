/**
 * Watches an output after a write without an answer: a gateway may hold the request and send it on later, also after a newer one. The output is
 * read back until one value has stood for longer than a gateway holds a request. Until then nobody knows its state.
 *
 *   write without an answer ─► unknown ─► one value, read for HELD_MS without a gap ─► known
 *                                 ├─────► reading is refused for HELD_MS ────────────► stays unknown
 *                                 └─────► its answer comes after all ────────────────► known
 */
import { AgentError, messageOf, retryable } from '../errors/agent-error.ts';
import type { Sentence } from '../errors/sentence.ts';
import { endedWithin, withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { english, sentence } from '../names/sentences.ts';
import { toldError } from '../names/told-error.ts';
import {
  type ActuatorDriver,
  type ActuatorSettings,
  type ActuatorValue,
  inWords,
  type LateAnswer,
} from './kind/actuator.ts';

/** Modbus-proxy 0.8.0 sends a request twice, with 10 s for each answer, before it takes the next. */
const HELD_MS = 20_000;
const LOOK_EVERY_MS = 1_000;
/** Hardware that does not answer is asked less and less often: a gateway may keep each question. */
const MAX_LOOK_EVERY_MS = 10_000;
/** A newer write waits for so long, then it is refused. */
const WAIT_MS = HELD_MS + 10_000;

export interface LateWritesDeps {
  readonly settings: ActuatorSettings;
  readonly driver: Pick<ActuatorDriver, 'read' | 'readLate'>;
  readonly clock: Clock;
  /** The hardware shows another value than it took last. */
  readonly onMoved: () => void;
  /** Value that an earlier process has written, without an answer. */
  readonly left?: ActuatorValue | undefined;
  /** Gets the value that has stood; undefined when the hardware cannot be read, or has refused the write for the reason that is given. */
  readonly onKnown: LateAnswer;
}

/** Answer of the hardware to one look. */
type Look = { readonly value: ActuatorValue } | 'refused' | 'silent';

export class LateWrites {
  readonly #deps: LateWritesDeps;
  readonly #closing = new AbortController();
  #looking = new AbortController();
  /** Value of the last write that had no answer; undefined once the outcome is known. */
  #unanswered: ActuatorValue | undefined;
  /** Number of writes without an answer. */
  #count = 0;
  #taken: ActuatorValue | undefined;
  #known = Promise.withResolvers<void>();

  constructor(deps: LateWritesDeps) {
    this.#deps = deps;
    if (deps.left !== undefined) this.unanswered(deps.left);
  }

  /** Value of the last write without an answer; undefined when none is outstanding. */
  get outstanding(): ActuatorValue | undefined {
    return this.#unanswered;
  }

  /** Reason why the state is not known; undefined when no write is outstanding. */
  get told(): Sentence | undefined {
    return this.#unanswered === undefined ? undefined : sentence('writeUnanswered', { value: this.#unanswered });
  }

  /** The same in words. */
  get fault(): string | undefined {
    const { told } = this;
    return told === undefined ? undefined : english(told);
  }

  /** True while the hardware has taken this value since the last write without an answer, and shows nothing else. */
  hasTaken(value: ActuatorValue): boolean {
    return this.#unanswered !== undefined && this.#taken === value;
  }

  unanswered(value: ActuatorValue): void {
    const isFirst = this.#unanswered === undefined;
    this.#unanswered = value;
    this.#taken = undefined;
    this.#count += 1;
    if (!isFirst) return;
    this.#looking = new AbortController();
    void this.#watch(AbortSignal.any([this.#looking.signal, this.#closing.signal]));
  }

  taken(value: ActuatorValue): void {
    this.#taken = value;
  }

  /** Resolves when no write is outstanding. @throws AgentError `actuators/unsettled` (retry) after half a minute, or when the signal aborts. */
  async known(signal: AbortSignal): Promise<void> {
    const { told } = this;
    if (told === undefined || (await endedWithin(this.#deps.clock, WAIT_MS, this.#known.promise, signal))) return;
    throw toldError('actuators/unsettled', sentence('notMoved', { output: this.#deps.settings.name, why: told }), {
      recovery: 'retry',
    });
  }

  /** The last write without an answer has one: with the state after it, or why it was refused. */
  answered(value: ActuatorValue | undefined, refusal?: string): void {
    if (this.#unanswered === undefined || this.#closing.signal.aborted) return;
    this.#looking.abort();
    this.#end(value, refusal);
  }

  /** Looks no longer. Idempotent. */
  close(): void {
    this.#closing.abort();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let stood: { readonly look: Exclude<Look, 'silent'>; readonly sinceMs: number } | undefined;
    for (let waitMs = LOOK_EVERY_MS; ; ) {
      await clock.sleep(waitMs, signal);
      const count = this.#count;
      const look = await this.#look(signal);
      if (signal.aborted) return;
      waitMs = look === 'silent' ? Math.min(2 * waitMs, MAX_LOOK_EVERY_MS) : LOOK_EVERY_MS;
      const isSame = stood !== undefined && count === this.#count && isAlike(look, stood.look);
      if (look === 'silent' || count !== this.#count) stood = undefined;
      else if (!isSame || stood === undefined) stood = { look, sinceMs: clock.monotonicMs() };
      else if (clock.monotonicMs() - stood.sinceMs >= HELD_MS)
        return this.#end(look === 'refused' ? undefined : look.value);
      this.#compare(look);
    }
  }

  async #look(signal: AbortSignal): Promise<Look> {
    const { clock, driver, settings } = this.#deps;
    const read = driver.readLate ?? driver.read;
    if (read === undefined) return 'refused';
    try {
      return { value: await withinMs(clock, settings.deadlineMs, (within) => read(within), signal) };
    } catch (error) {
      return error instanceof AgentError && error.recovery === 'drop' ? 'refused' : 'silent';
    }
  }

  /** A value that was taken since, and is not there any more, was written over by an older one. */
  #compare(look: Look): void {
    if (typeof look === 'string' || this.#taken === undefined || look.value === this.#taken) return;
    this.#taken = undefined;
    this.#deps.onMoved();
  }

  #end(value: ActuatorValue | undefined, refusal?: string): void {
    this.#unanswered = undefined;
    this.#taken = undefined;
    this.#deps.onKnown(value, refusal);
    this.#known.resolve();
    this.#known = Promise.withResolvers();
  }
}

function isAlike(one: Look, other: Look): boolean {
  return typeof one === 'string' || typeof other === 'string' ? one === other : one.value === other.value;
}

/** Makes the error of a write whose outcome is not known. */
export function outcomeUnknown({ name }: ActuatorSettings, value: ActuatorValue, cause: unknown): AgentError {
  return retryable(
    'actuators/outcome-unknown',
    `it is not known whether ${name} takes ${inWords(value)}, now or later: ${messageOf(cause)}`,
    cause,
  );
}
