/**
 * Rules that need no platform: while a condition holds for its time, an output's slot says `set`; else `otherwise`. What they say is kept with
 * the slots; waiting survives nothing: what happened in between nobody knows, and it is counted anew.
 *
 *   unread ─ first values → otherwise ─ holds → waiting ─ for its time → set ─ condition ends, with hysteresis → otherwise
 *              any of them ─ a value that decides is lost: nothing, or `sensorLost` ─ the next value → as it says
 */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../host/clock.ts';
import type { LocalTime } from '../host/local-time.ts';
import type { JsonValue } from '../values/json.ts';
import type { ActuatorControl } from './actuator-control.ts';
import type { Output } from './output.ts';
import type { SilentRule } from './output-reason.ts';
import type { RuleSlot } from './priority-slots.ts';
import { type RuleInForce, ruleWords } from './rule-in-force.ts';
import { MINUTE_MS, type RuleValue, RuleValues } from './rule-values.ts';

export interface LocalRulesDeps {
  readonly rules: readonly RuleInForce[];
  readonly control: Pick<ActuatorControl, 'find' | 'configure'>;
  readonly clock: Clock;
  /** Undefined while the clock is not trusted. */
  readonly localTime: () => LocalTime | undefined;
}

interface RuleState {
  readonly config: RuleInForce;
  readonly values: RuleValues;
  /** Since when its condition has held without a break, while it has not held for its time. */
  waitingSinceMs: number | undefined;
  cancelWaiting: (() => void) | undefined;
}

/** A clock that is not trusted is looked at this often. */
const LOOK_AGAIN_MS = 5_000;

export class LocalRules {
  readonly #deps: LocalRulesDeps;
  #states: ReadonlyMap<string, RuleState> = new Map();
  #cancelMinute = (): void => {};
  #isClosed = false;

  constructor(deps: LocalRulesDeps) {
    this.#deps = deps;
    this.#states = new Map(deps.rules.map((config) => [config.name, this.#begin(config)]));
    this.#answerSilence();
    this.#tellTime();
  }

  /** Takes up changed rules. One that is known goes on: in its phase, with its values, and with the time that it has waited. */
  configure(rules: readonly RuleInForce[]): void {
    if (this.#isClosed) return;
    const before = this.#states;
    this.#states = new Map(
      rules.map((config) => {
        const known = before.get(config.name);
        return [
          config.name,
          known !== undefined && isDeepStrictEqual(known.config, config) ? known : this.#begin(config),
        ];
      }),
    );
    this.#answerSilence();
    this.#deps.control.configure(ruleWords(rules));
    for (const known of before.values()) {
      const state = this.#states.get(known.config.name);
      if (state === known) continue;
      if (state !== undefined) this.#follow(state, known);
      end(known);
    }
    this.#tellTime();
  }

  /** A value of a sensor, under the key that the platform knows, after scaling; undefined when it came and says nothing of any condition. */
  take(sensor: string, key: string, value: JsonValue | undefined): void {
    const judged = new Set<RuleState>();
    this.#each(sensor, (state, one) => {
      if (one.key !== key) return;
      if (one.watched.isLost) stopWaiting(state);
      state.values.take(one, value, this.#slot(state)?.phase);
      if (value !== undefined) judged.add(state);
    });
    for (const state of judged) this.#judge(state);
  }

  /** The sensor is another one: what waits for its time is counted anew. */
  sensorChanged(sensor: string): void {
    this.#each(sensor, (state, { watched }) => {
      stopWaiting(state);
      watched.forget();
    });
  }

  /**
   * The sensor does not answer just now, or does not give these keys: what waits for its time is counted anew, and one that reports by event is
   * lost.
   */
  sensorFailed(sensor: string, keys?: readonly string[]): void {
    this.#each(sensor, (state, { key = '', watched }) => {
      if (keys?.includes(key) === false) return;
      stopWaiting(state);
      if (state.config.sensors[sensor]?.isByEvent === true) watched.lose();
    });
  }

  /** Nothing moves and nothing is learned from here on. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#cancelMinute();
    for (const state of this.#states.values()) end(state);
  }

  #begin(config: RuleInForce): RuleState {
    const values = new RuleValues(config, this.#deps.clock, () => this.#judge(state));
    const state: RuleState = { config, values, waitingSinceMs: undefined, cancelWaiting: undefined };
    return state;
  }

  #follow(state: RuleState, known: RuleState): void {
    state.waitingSinceMs = known.waitingSinceMs;
    state.values.follow(known.values, this.#slot(state)?.phase);
    const now = this.#deps.localTime();
    if (now !== undefined) state.values.takeTime(now);
    this.#judge(state);
  }

  /** Each output with a rule may ask which of its rules have no say. */
  #answerSilence(): void {
    for (const state of this.#states.values()) {
      const { actuator } = state.config.set;
      this.#output(state)?.askSilentRules(() => this.#silentRules(actuator));
    }
  }

  #silentRules(actuator: string): readonly SilentRule[] {
    const own = [...this.#states.values()].filter(({ config }) => config.set.actuator === actuator);
    return own.flatMap((state) => {
      const why = this.#silence(state);
      return why === undefined ? [] : [{ rule: state.config.name, why }];
    });
  }

  /** Returns why a rule has no say; undefined where it has one. */
  #silence(state: RuleState): string | undefined {
    const { config, values } = state;
    if (!config.enabled) return 'it is disabled';
    const { truth } = values;
    if (typeof truth === 'boolean')
      return this.#slot(state)?.isBarred === true ? 'maxOn has ended it, until its condition begins anew' : undefined;
    const part = values.all.find(({ watched }) => watched.truth === truth);
    if (part?.sensor === undefined) return 'the clock is not trusted';
    return truth === 'lost' ? `its sensor ${part.sensor} is lost` : `its sensor ${part.sensor} has no reading yet`;
  }

  #each(sensor: string, act: (state: RuleState, one: RuleValue) => void): void {
    for (const state of this.#isClosed ? [] : this.#states.values())
      for (const one of state.values.all) if (one.sensor === sensor) act(state, one);
  }

  /** Each minute, to the rules that go by it. */
  #tellTime(): void {
    this.#cancelMinute();
    const { clock, localTime } = this.#deps;
    const timed = [...this.#states.values()].filter(({ values }) => values.goesByTime);
    if (timed.length === 0) return;
    const now = localTime();
    if (now !== undefined)
      for (const state of timed) {
        state.values.takeTime(now);
        this.#judge(state);
      }
    const nextMs = now === undefined ? LOOK_AGAIN_MS : MINUTE_MS - (clock.wallMs() % MINUTE_MS);
    this.#cancelMinute = clock.after(nextMs, () => this.#tellTime());
  }

  #judge(state: RuleState): void {
    const { config, values } = state;
    const { forMs = 0 } = config.when ?? {};
    const { truth } = values;
    if (truth !== true) stopWaiting(state);
    if (truth === 'lost') void this.#output(state)?.take({ kind: 'sensorLost', rule: config.name });
    if (typeof truth !== 'boolean') return;
    // A condition that has not held for its time does not hold.
    const slot = this.#slot(state);
    const holds = truth && (forMs === 0 || (slot?.phase === 'set' && !slot.isLost));
    this.#tell(state, holds);
    if (!truth || holds) return;
    const { clock } = this.#deps;
    state.waitingSinceMs ??= clock.monotonicMs();
    state.cancelWaiting ??= clock.after(Math.max(0, state.waitingSinceMs + forMs - clock.monotonicMs()), () => {
      stopWaiting(state);
      if (values.truth === true) this.#tell(state, true);
    });
  }

  #output({ config: { set } }: RuleState): Output | undefined {
    return this.#deps.control.find(set.actuator);
  }

  #slot(state: RuleState): RuleSlot | undefined {
    return this.#output(state)?.slots.rules.find(({ name }) => name === state.config.name);
  }

  #tell(state: RuleState, holds: boolean): void {
    const output = this.#output(state);
    const set = holds && output !== undefined ? state.values.onCurve(output.settings, this.#slot(state)) : undefined;
    void output?.take({
      kind: 'read',
      rule: state.config.name,
      holds,
      set,
    });
  }
}

function stopWaiting(state: RuleState): void {
  state.cancelWaiting?.();
  state.cancelWaiting = undefined;
  state.waitingSinceMs = undefined;
}

function end(state: RuleState): void {
  stopWaiting(state);
  state.values.end();
}
