/**
 * Which outputs with a supply of their own (behind a bus, a wire or a program) are in a pulse. A power cut of this board takes the marks of the
 * run folder and not such an output's state, so this list is on the card, before the output goes on. It is taken off the card soon after the
 * pulse: what stands there too long is switched off once too often, at a start after a cut.
 */
import { retryable } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { StateFile } from '../store/state-file.ts';

export const KEPT_PULSES_FORMAT = { format: 'turnstone/pulses', version: 1 } as const;

/** A pulse is refused when it is not on the card after this long. */
const KEPT_WITHIN_MS = 1_000;

export class KeptPulses {
  readonly #file: StateFile;
  readonly #clock: Clock;
  readonly #names: Set<string>;
  /** Pulses of an earlier process. */
  readonly #left: ReadonlySet<string>;

  private constructor(file: StateFile, clock: Clock, names: readonly string[]) {
    this.#file = file;
    this.#clock = clock;
    this.#names = new Set(names);
    this.#left = new Set(names);
  }

  /** Where the list of an earlier process cannot be told, each of `ownSupply` may be in a pulse, until it is off; the next process goes by it too. */
  static async open(file: StateFile, clock: Clock, ownSupply: readonly string[]): Promise<KeptPulses> {
    const names = (await file.read())?.actuators;
    const known = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
    const pulses = new KeptPulses(file, clock, file.isLost ? [...known, ...ownSupply] : known);
    if (file.isLost && !file.liesUnread) pulses.#save();
    return pulses;
  }

  /** True when an earlier process may have left it in a pulse. */
  wasLeft(name: string): boolean {
    return this.#left.has(name);
  }

  /** Resolves when it is on the card. @throws AgentError `actuators/not-marked` (retry) when it is not in time. */
  async keep(name: string): Promise<void> {
    const wasThere = this.#names.has(name);
    if (wasThere && this.#file.isSaved) return;
    this.#names.add(name);
    this.#save();
    await endedWithin(this.#clock, KEPT_WITHIN_MS, this.#file.flush());
    if (this.#file.isSaved) return;
    if (!wasThere) this.drop(name);
    const message = `${name} is not switched on, as nobody would know of it after a power cut: the disk does not take it`;
    throw retryable('actuators/not-marked', message);
  }

  /** Does nothing when it is not there. */
  drop(name: string): void {
    if (this.#names.delete(name)) this.#save();
  }

  /** Idempotent. */
  close(): Promise<void> {
    return this.#file.close();
  }

  #save(): void {
    this.#file.save({ actuators: [...this.#names] });
  }
}
