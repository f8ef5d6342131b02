/**
 * What local rules have set and not taken back: kept across restarts, since an output stays on where nobody remembers that a rule holds it.
 * At most one entry for a rule and an actuator, in the order in which they began.
 */
import { isDeepStrictEqual } from 'node:util';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import type { StateFile } from '../host/state-file.ts';
import type { ActuatorValue } from './actuator.ts';

export const STANDING_RULES_FORMAT = { format: 'turnstone/standing-rules', version: 1 } as const;

export interface StandingRule {
  readonly rule: string;
  /** What it watched when it set its actuator. */
  readonly sensor: string;
  readonly key: string;
  readonly actuator: string;
  /** What the actuator gets at the end; undefined when nothing is to happen then. */
  readonly otherwise: ActuatorValue | undefined;
  /** It is over, and the actuator has not taken `otherwise` yet. */
  readonly ended: boolean;
  /** Somebody else, or the longest time on, has said otherwise since. */
  readonly overruled: boolean;
}

/** A disk that takes longer does not keep a fan from cooling. */
const KEPT_WITHIN_MS = 1_000;

export class StandingRules {
  readonly #file: StateFile;
  readonly #standing: Map<string, StandingRule>;
  readonly #mayStand: Set<string>;

  constructor(file: StateFile, standing: readonly StandingRule[] = [], mayStand: readonly string[] = []) {
    this.#file = file;
    this.#standing = new Map(standing.map((one) => [keyOf(one), one]));
    this.#mayStand = new Set(mayStand);
  }

  /** Where the state of an earlier process cannot be told, each of `rules` may stand; the next process goes by it too. */
  static async open(file: StateFile, rules: readonly string[]): Promise<StandingRules> {
    const json = await file.read();
    const mayStand = Array.isArray(json?.mayStand) ? json.mayStand : [];
    const doubtful = rules.filter((rule) => file.isLost || mayStand.includes(rule));
    const standing = new StandingRules(file, Array.isArray(json?.standing) ? json.standing.flatMap(standingOf) : [], doubtful);
    if (file.isLost && !file.liesUnread) standing.#save();
    return standing;
  }

  /** Whether an earlier process may have set it and nobody knows. */
  mayStand(rule: string): boolean {
    return this.#mayStand.has(rule);
  }

  /** It is known again what this rule has set. */
  settled(rule: string): void {
    if (this.#mayStand.delete(rule)) this.#save();
  }

  get all(): readonly StandingRule[] {
    return [...this.#standing.values()];
  }

  /** The rules that set it and began after this one; none for one that does not stand. */
  begunAfter(rule: string, actuator: string): readonly string[] {
    const order = this.all.filter((one) => one.actuator === actuator).map((one) => one.rule);
    return order.includes(rule) ? order.slice(order.indexOf(rule) + 1) : [];
  }

  /** False when it stood so already. */
  note(one: StandingRule): boolean {
    const key = keyOf(one);
    const known = this.#standing.get(key);
    this.#standing.set(key, one);
    const changed = known === undefined || !isDeepStrictEqual(known, one);
    if (changed) this.#save();
    return changed;
  }

  forget(one: StandingRule): void {
    if (this.#standing.get(keyOf(one)) !== one) return;
    this.#standing.delete(keyOf(one));
    this.#save();
  }

  /** Resolves when what was noted is durable, could not be made so, or takes too long. */
  async kept(clock: Clock, signal: AbortSignal): Promise<void> {
    await endedWithin(clock, KEPT_WITHIN_MS, this.#file.flush(), signal);
  }

  /** Resolves when what was noted is durable, or could not be made so. Idempotent. */
  async close(): Promise<void> {
    await this.#file.close();
  }

  #save(): void {
    this.#file.save({ standing: this.all.map(standingAsJson), mayStand: [...this.#mayStand] });
  }
}

/** No name has a blank in it. */
function keyOf({ rule, actuator }: Pick<StandingRule, 'rule' | 'actuator'>): string {
  return `${rule} ${actuator}`;
}

function standingAsJson({ otherwise, overruled, ...one }: StandingRule): JsonObject {
  return { ...one, ...given({ otherwise, overruled: overruled || undefined }) };
}

function standingOf(json: JsonValue): StandingRule[] {
  if (!isJsonObject(json)) return [];
  const { rule, sensor, key, actuator, otherwise } = json;
  if (typeof rule !== 'string' || typeof sensor !== 'string' || typeof key !== 'string' || typeof actuator !== 'string') return [];
  const isValue = typeof otherwise === 'boolean' || typeof otherwise === 'number' || typeof otherwise === 'string';
  const [ended, overruled] = [json.ended === true, json.overruled === true];
  return [{ rule, sensor, key, actuator, otherwise: isValue ? otherwise : undefined, ended, overruled }];
}
