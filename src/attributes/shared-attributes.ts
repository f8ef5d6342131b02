/**
 * The platform's wishes, made real. Each answer of the platform is compared, key by key, with what was acted on last:
 *
 *   same → nothing · new and fits → apply, remember · does not fit → refuse, report · gone → back to the configured value
 *
 * A wish that a limit forbids for now waits, until it is allowed or someone else writes. One that comes under lockout is dropped: when the lock
 * is taken off, nothing may begin to move by itself.
 */
import { AgentError, messageOf } from '../errors.ts';
import { type JsonObject, type JsonValue, jsonEqual } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import { misfitOf } from '../host/value-shape.ts';
import type { AppliedValues } from './applied-values.ts';
import type { SharedTarget } from './shared-target.ts';

export interface SharedAttributesDeps {
  /** Asked each time: a changed configuration brings other settings. */
  readonly targets: () => readonly SharedTarget[];
  readonly applied: AppliedValues;
  /** Keys of a firmware offer, handed over together whenever one of them changes. */
  readonly firmwareKeys: readonly string[];
  readonly onFirmwareOffer: (attributes: JsonObject) => void;
  /** Called when a value was applied, refused, or is refused no longer. */
  readonly onChange: () => void;
  readonly log: Log;
}

interface Waiting {
  readonly value: JsonValue;
  /** The target's writes when the value was first seen. */
  readonly writes: number;
}

interface Refusal {
  readonly value: JsonValue;
  readonly reason: string;
}

export class SharedAttributes {
  readonly #deps: SharedAttributesDeps;
  readonly #waiting = new Map<string, Waiting>();
  readonly #refused = new Map<string, Refusal>();
  #offer: JsonObject | undefined;

  private constructor(deps: SharedAttributesDeps) {
    this.#deps = deps;
  }

  /** Applies what an earlier run had applied, so that settings hold before there is any contact. */
  static async open(deps: SharedAttributesDeps, signal: AbortSignal): Promise<SharedAttributes> {
    const shared = new SharedAttributes(deps);
    for (const target of deps.targets()) {
      const value = target.restored ? deps.applied.applied(target.key) : undefined;
      if (value !== undefined) await shared.#act(target, value, signal);
    }
    return shared;
  }

  /** Every key that must be asked for. */
  get keys(): readonly string[] {
    return [...this.#deps.targets().map(({ key }) => key), ...this.#deps.firmwareKeys];
  }

  /** Why wishes are not fulfilled, by key. */
  get refusals(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#refused].map(([key, { reason }]) => [key, reason]));
  }

  /** Whether a wish waits for a limit. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Takes the platform's whole answer: a requested key that is not in it was deleted. Resolves to whether anything was done. */
  async reconcile(shared: JsonObject, signal: AbortSignal): Promise<boolean> {
    let acted = this.#offerFirmware(shared);
    for (const target of this.#deps.targets()) {
      const value = Object.hasOwn(shared, target.key) ? shared[target.key] : undefined;
      if (value === undefined) acted = (await this.#clear(target)) || acted;
      else if (!this.#isSettled(target.key, value)) acted = (await this.#act(target, value, signal)) || acted;
    }
    return acted;
  }

  /** Tries again what had to wait. */
  async retryWaiting(signal: AbortSignal): Promise<void> {
    for (const target of this.#deps.targets()) {
      const waiting = this.#waiting.get(target.key);
      if (waiting !== undefined) await this.#act(target, waiting.value, signal);
    }
  }

  #isSettled(key: string, value: JsonValue): boolean {
    const refused = this.#refused.get(key);
    if (refused !== undefined && !this.#waiting.has(key) && jsonEqual(refused.value, value)) return true;
    return this.#deps.applied.isKnown(key, value);
  }

  async #act(target: SharedTarget, value: JsonValue, signal: AbortSignal): Promise<boolean> {
    const { key } = target;
    const misfit = misfitOf(target.shape, value, key);
    if (misfit !== undefined) return this.#refuse(key, value, misfit);
    const waiting = this.#waiting.get(key);
    const writes = waiting !== undefined && jsonEqual(waiting.value, value) ? waiting.writes : target.writes();
    if (target.writes() !== writes) return this.#drop(key, value, 'someone else has written since');
    try {
      await target.apply(value, signal);
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof AgentError)) return this.#refuse(key, value, messageOf(error));
      if (error.recovery === 'hold') return this.#drop(key, value, error.message);
      this.#refuse(key, value, error.message);
      // A movement that failed half-way has been a write of ours.
      if (error.recovery === 'retry') this.#waiting.set(key, { value, writes: target.writes() });
      return true;
    }
    this.#waiting.delete(key);
    this.#refused.delete(key);
    this.#deps.applied.set(key, value, 'applied');
    this.#deps.log.info({ key }, 'shared attribute applied');
    this.#deps.onChange();
    return true;
  }

  async #clear(target: SharedTarget): Promise<boolean> {
    const { key } = target;
    if (!this.#deps.applied.has(key) && !this.#refused.has(key)) return false;
    this.#waiting.delete(key);
    this.#refused.delete(key);
    this.#deps.applied.delete(key);
    try {
      await target.clear();
    } catch (error) {
      this.#deps.log.warn({ key, error: messageOf(error) }, 'a deleted shared attribute left its value behind');
    }
    this.#deps.onChange();
    return true;
  }

  /** Not applied, and reported; the value in force stays. */
  #refuse(key: string, value: JsonValue, reason: string): true {
    const known = this.#refused.get(key);
    this.#waiting.delete(key);
    this.#refused.set(key, { value, reason });
    if (known?.reason !== reason) this.#deps.log.warn({ key, reason }, 'shared attribute refused');
    this.#deps.onChange();
    return true;
  }

  /** As refused, and not looked at again after a restart either. */
  #drop(key: string, value: JsonValue, reason: string): true {
    this.#deps.applied.set(key, value, 'dropped');
    return this.#refuse(key, value, reason);
  }

  #offerFirmware(shared: JsonObject): boolean {
    const offer = Object.fromEntries(
      this.#deps.firmwareKeys.flatMap((key) => (Object.hasOwn(shared, key) ? [[key, shared[key] as JsonValue]] : [])),
    );
    if (this.#offer !== undefined && jsonEqual(this.#offer, offer)) return false;
    const first = this.#offer === undefined;
    this.#offer = offer;
    // Nothing offered and nothing withdrawn is no news.
    if (first && Object.keys(offer).length === 0) return false;
    this.#deps.onFirmwareOffer(offer);
    return true;
  }
}
