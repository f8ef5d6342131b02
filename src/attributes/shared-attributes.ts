/**
 * The platform's wishes, made real. Each answer of the platform is compared, key by key, with what was acted on last:
 *
 *   same → nothing · new, or saved again, and fits → apply, remember · does not fit → refuse, report · gone → back to the configured value
 *
 * A setting may fit only once another has changed: what was refused of them is looked at again with each answer, so that no order counts.
 * A wish that a limit forbids for now waits, until it is allowed or someone else writes. One that comes under lockout is dropped: when the lock
 * is taken off, nothing may begin to move by itself. So is one that somebody else's switching off overtook, and what stands at the platform
 * when the memory of the values acted on is lost. The next answer may come while hardware hangs: what is under way is not begun again, what
 * switches off goes beside it, and the newest answer is the one that counts.
 */
import { AgentError, hasCode, messageOf } from '../errors/agent-error.ts';
import type { Log } from '../host/log.ts';
import { type JsonObject, type JsonValue, jsonEqual } from '../values/json.ts';
import { mismatchOf } from '../values/value-shape.ts';
import type { AppliedValues } from './applied-values.ts';
import { FirmwareOffers, type FirmwareOffersDeps } from './firmware-offers.ts';
import { type SharedTarget, sharedValue } from './shared-target.ts';

export interface SharedAttributesDeps extends FirmwareOffersDeps {
  /** Asked each time: a changed configuration brings other settings. */
  readonly targets: () => readonly SharedTarget[];
  readonly applied: AppliedValues;
  /** Called when a value was applied, refused, or is refused no longer. */
  readonly onChange: () => void;
  readonly log: Log;
}

const PAST_LOST =
  'the memory of the time before the restart is lost: it may have been acted on, and is again when it changes';

interface Waiting {
  readonly value: JsonValue;
  /** The target's writes when the value was first seen. */
  readonly writes: number;
}

interface Refusal {
  readonly value: JsonValue;
  readonly reason: string;
  /** Code of the reason, whose text may count the seconds: it is reported again when the code changes. */
  readonly code: string;
}

export class SharedAttributes {
  readonly #deps: SharedAttributesDeps;
  readonly #waiting = new Map<string, Waiting>();
  readonly #refused = new Map<string, Refusal>();
  /** Value that is being applied, by key; the newest where several are. */
  readonly #acting = new Map<string, { readonly value: JsonValue }>();
  /** Keys saved since the last answer; and those of this answer that are to be acted on, whatever was acted on before. */
  readonly #saved = new Set<string>();
  readonly #renewed = new Set<string>();
  #latest: JsonObject = {};
  readonly #offers: FirmwareOffers;
  /** True when the platform's first values may have been acted on by an earlier run whose memory is gone. */
  #isPastLost: boolean;

  private constructor(deps: SharedAttributesDeps) {
    this.#deps = deps;
    this.#offers = new FirmwareOffers(deps);
    this.#isPastLost = deps.applied.isLost;
  }

  /** Applies what an earlier run had applied, so that settings hold before there is any contact. */
  static async open(deps: SharedAttributesDeps, signal: AbortSignal): Promise<SharedAttributes> {
    const shared = new SharedAttributes(deps);
    const known = deps.targets().flatMap((target) => {
      const value = target.restored ? deps.applied.applied(target.key) : undefined;
      return value === undefined ? [] : [{ target, value }];
    });
    shared.#latest = Object.fromEntries(known.map(({ target, value }) => [target.key, value]));
    for (const { target, value } of known) await shared.#act(target, value, signal);
    await shared.#retrySettings(signal);
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

  /** The refusals that do not end by themselves, of what can be shared now. */
  get lastingRefusals(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(this.refusals).filter(([key]) => !this.#waiting.has(key) && this.keys.includes(key)),
    );
  }

  /** True when a desired state waits for a limit. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Takes the keys of an update; their values come with the next answer. */
  noteSaved(keys: readonly string[], deleted: readonly string[] = []): void {
    this.#offers.noteSaved([...keys, ...deleted]);
    const own = new Set(this.#deps.targets().map(({ key }) => key));
    for (const key of keys) if (own.has(key)) this.#saved.add(key);
  }

  /** Takes the platform's whole answer: a requested key that is not in it was deleted. Resolves to whether anything was done, once that has ended. */
  async reconcile(shared: JsonObject, signal: AbortSignal): Promise<boolean> {
    this.#latest = shared;
    for (const key of this.#saved) this.#renewed.add(key);
    this.#saved.clear();
    let acted = this.#offers.take(shared);
    const targets = this.#deps.targets();
    const isOff = ({ key, switchesOff }: SharedTarget): boolean => switchesOff(sharedValue(shared, key) ?? null);
    // Values that switch off wait for nobody, least of all for hardware that hangs.
    const off = await Promise.all(targets.filter(isOff).map((target) => this.#follow(target, signal)));
    for (const target of targets) {
      // A newer answer sees to the rest.
      if (this.#latest !== shared) return true;
      if (!isOff(target)) acted = (await this.#follow(target, signal)) || acted;
    }
    // Each key was looked at, and is noted: the next process can go by it.
    if (this.#isPastLost) this.#deps.applied.believe();
    this.#isPastLost = false;
    if (acted) await this.#retrySettings(signal);
    return acted || off.includes(true);
  }

  /** Tries again what had to wait; may be called while it still does. */
  async retryWaiting(signal: AbortSignal): Promise<void> {
    const retry = async (target: SharedTarget): Promise<void> => {
      const waiting = this.#waiting.get(target.key);
      if (waiting !== undefined && !this.#acting.has(target.key)) await this.#act(target, waiting.value, signal);
    };
    const targets = this.#deps.targets();
    const isOff = ({ key, switchesOff }: SharedTarget): boolean => switchesOff(this.#waiting.get(key)?.value ?? null);
    await Promise.all(targets.filter(isOff).map(retry));
    for (const target of targets) if (!isOff(target)) await retry(target);
  }

  /** Each round makes room for the next. */
  async #retrySettings(signal: AbortSignal): Promise<void> {
    for (let before = Number.POSITIVE_INFINITY; ; ) {
      const refused = this.#deps.targets().filter(({ key, restored }) => restored && this.#refused.has(key));
      if (refused.length === 0 || refused.length >= before) return;
      before = refused.length;
      for (const target of refused) await this.#follow(target, signal);
    }
  }

  async #follow(target: SharedTarget, signal: AbortSignal): Promise<boolean> {
    const { key, restored, switchesOff } = target;
    const value = sharedValue(this.#latest, key);
    if (value === undefined || (value === null && !restored)) return await this.#clear(target);
    const acting = this.#acting.get(key);
    const isRenewed = this.#renewed.delete(key);
    // Also what is known then may be older than what was lost.
    if (this.#isPastLost && !restored && !isRenewed) return this.#drop(key, value, PAST_LOST);
    if (isRenewed) for (const known of [this.#waiting, this.#refused]) known.delete(key);
    else if (this.#isSettled(target, value)) return false;
    // A movement under way is followed by the newest wish when it has ended.
    if (acting !== undefined && (jsonEqual(acting.value, value) || !switchesOff(value))) return false;
    // A platform that wakes for the same value again and again has no news.
    const isNews = !isRenewed || !this.#deps.applied.isKnown(key, value);
    return (await this.#act(target, value, signal)) && isNews;
  }

  #isSettled({ key, restored }: SharedTarget, value: JsonValue): boolean {
    const refused = this.#refused.get(key);
    const isRefused = refused !== undefined && jsonEqual(refused.value, value);
    if (isRefused && !this.#waiting.has(key)) return !restored;
    const isKnown = this.#deps.applied.isKnown(key, value);
    if (!isKnown || isRefused) return isKnown;
    // The value that waited is replaced: it waits no more, and the one under way is followed by this.
    this.#waiting.delete(key);
    if (this.#refused.delete(key)) this.#deps.onChange();
    return !this.#acting.has(key);
  }

  async #act(target: SharedTarget, value: JsonValue, signal: AbortSignal): Promise<boolean> {
    const { key } = target;
    const mismatch = mismatchOf(target.shape, value, key);
    if (mismatch !== undefined) return this.#refuse({ key, value, reason: mismatch });
    const waiting = this.#waiting.get(key);
    const writes = waiting !== undefined && jsonEqual(waiting.value, value) ? waiting.writes : target.writes();
    if (target.writes() !== writes) return this.#drop(key, value, 'someone else has written since');
    const mine = { value };
    this.#acting.set(key, mine);
    const takeBack = target.isMovement?.(value) === true ? this.#deps.applied.begin(key, value) : undefined;
    if (takeBack !== undefined) await this.#deps.applied.flush();
    const [outcome] = await Promise.allSettled([(async () => await target.apply(value, signal))()]);
    const hasFailed = outcome.status === 'rejected';
    // A value that another one has replaced, or that was deleted meanwhile, has no outcome.
    if (this.#acting.get(key) !== mine) return false;
    this.#acting.delete(key);
    // A failed try may have moved it half-way: the last applied value is written again when it is desired again.
    const mayHaveMoved = hasFailed && target.writes() !== writes;
    // A movement that every attempt repeats is not retried.
    if (mayHaveMoved && takeBack !== undefined) return this.#drop(key, value, messageOf(outcome.reason));
    if (mayHaveMoved) this.#deps.applied.delete(key);
    else if (hasFailed) takeBack?.();
    if (hasFailed && signal.aborted) return false;
    const acted = hasFailed ? this.#failed(target, value, outcome.reason) : this.#keep(key, value);
    const wished = sharedValue(this.#latest, key);
    return wished === undefined || jsonEqual(wished, value) ? acted : (await this.#follow(target, signal)) || acted;
  }

  #keep(key: string, value: JsonValue): boolean {
    this.#waiting.delete(key);
    this.#refused.delete(key);
    this.#deps.applied.set(key, value, 'applied');
    this.#deps.log.info({ key }, 'shared attribute applied');
    this.#deps.onChange();
    return true;
  }

  #failed({ key, writes }: SharedTarget, value: JsonValue, error: unknown): boolean {
    if (hasCode(error, 'actuators/overridden')) return this.#drop(key, value, error.message);
    // Nobody knows that it was refused: the output itself tells what comes of it.
    if (hasCode(error, 'actuators/outcome-unknown')) return this.#keep(key, value);
    if (!(error instanceof AgentError)) return this.#refuse({ key, value, reason: messageOf(error) });
    if (error.recovery === 'hold') return this.#drop(key, value, error.message);
    const isNew = this.#refuse({ key, value, reason: error.message, code: error.code });
    // A movement that failed half-way has been a write of ours.
    if (error.recovery === 'retry') this.#waiting.set(key, { value, writes: writes() });
    return isNew;
  }

  async #clear(target: SharedTarget): Promise<boolean> {
    const { key } = target;
    const wasApplied = this.#deps.applied.applied(key) !== undefined;
    this.#renewed.delete(key);
    if (!this.#acting.delete(key) && !this.#deps.applied.has(key) && !this.#refused.has(key)) return false;
    this.#waiting.delete(key);
    this.#refused.delete(key);
    this.#deps.applied.delete(key);
    try {
      await target.clear(wasApplied);
    } catch (error) {
      this.#deps.log.warn({ key, error: messageOf(error) }, 'a deleted shared attribute left its value behind');
    }
    this.#deps.onChange();
    return true;
  }

  /** Not applied, and reported; the value in force stays. False when it was so before. */
  #refuse({
    key,
    value,
    reason,
    code = reason,
  }: Omit<Refusal, 'code'> & { readonly key: string; readonly code?: string }): boolean {
    const known = this.#refused.get(key);
    this.#waiting.delete(key);
    if (known !== undefined && known.code === code && jsonEqual(known.value, value)) return false;
    this.#refused.set(key, { value, reason, code });
    this.#deps.log.warn({ key, reason }, 'shared attribute refused');
    this.#deps.onChange();
    return true;
  }

  /** As refused, and not looked at again after a restart either. */
  #drop(key: string, value: JsonValue, reason: string): boolean {
    this.#deps.applied.set(key, value, 'dropped');
    return this.#refuse({ key, value, reason });
  }
}
