/**
 * Two rules, somebody who has a say, and all that keeps an output from moving, in any order; then calm. Of what holds the rule that began last
 * has its value at the hardware, where nobody has said otherwise since; off that somebody has said against it stays off.
 */
import * as fc from 'fast-check';
import { it } from 'vitest';
import type { ActuatorSettings } from '../../../src/actuators/actuator.ts';
import type { RuleInForce } from '../../../src/actuators/rule-state.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { pump, RuleBench, rule } from '../../support/rule-bench.ts';

const MINUTE_MS = 60_000;
const PERIOD_MS = 10_000;
const MAX_ON_MS = 4 * MINUTE_MS;
const SILENCE_MS = 2 * MINUTE_MS;
const CALM_MS = 90_000;
const RUNS = 1_000;
/** One that comes across each way to throw a try away: a word that agrees, another rule that ends, the longest time on, a pulse. */
const SEED = 20;

const STEPS = {
  ...{ a: 5, b: 5, on: 3, off: 2, mute: 4 },
  ...{ lock: 1, drain: 1, silent: 3, blind: 1 },
  ...{ pulse: 2, restart: 1, kill: 1, wait: 3 },
} as const;
/** Who watches goes on or off, somebody says on or off, what hinders begins or ends. */
type Step = keyof typeof STEPS;

interface World {
  readonly valueOfB: boolean;
  readonly otherwise: boolean | undefined;
  readonly restores: boolean;
  readonly isLimited: boolean;
  readonly hasSilence: boolean;
  readonly isAnswering: boolean;
}

const step = fc.oneof(...Object.entries(STEPS).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as Step) })));

const world: fc.Arbitrary<World> = fc.record({
  ...{ valueOfB: fc.boolean(), otherwise: fc.constantFrom(undefined, false), restores: fc.boolean() },
  ...{ isLimited: fc.boolean(), hasSilence: fc.boolean(), isAnswering: fc.boolean() },
});

class Run {
  readonly #world = new RuleBench();
  readonly #rules: readonly RuleInForce[];
  readonly #settings: readonly ActuatorSettings[];
  readonly #values: Record<string, number> = { a: 0, b: 0 };
  /** What holds, the one that began last at the end, and what was said since it began; open where that may count or not. */
  #holding: { readonly rule: RuleInForce; said: boolean | 'open' | undefined }[] = [];
  /** Since when the pump is not known to be off, and whether it was on since. */
  #mayBeOnSinceMs: number | undefined;
  #wasOn = false;
  #isSilent = false;
  #isBlind = false;

  constructor({ valueOfB, otherwise, restores, isLimited, hasSilence, isAnswering }: World) {
    this.#rules = [rule('a', true, otherwise), rule('b', valueOfB, valueOfB ? otherwise : undefined)];
    const limits = isLimited ? { maxOnMs: MAX_ON_MS } : {};
    const safe = hasSilence ? { noContact: { afterMs: SILENCE_MS, value: false } } : {};
    this.#settings = [pump({ limits, safe, restore: restores, neverWith: ['drain'] }), relaySettings('drain')];
    if (!isAnswering) (this.#world.bench.fake('pump') as { read: unknown }).read = undefined;
  }

  async go(steps: readonly Step[]): Promise<void> {
    await this.#world.open(this.#rules, ...this.#settings);
    for (const each of steps) {
      await this.#do(each);
      await this.#pass(each === 'wait' ? 5 * MINUTE_MS : 2 * PERIOD_MS);
    }
    Object.assign(this.#world, { isMute: false });
    this.#world.bench.locked = false;
    [this.#isSilent, this.#isBlind] = [false, false];
    await this.#world.bench.set('drain', false);
    await this.#pass(CALM_MS);
    this.#check();
  }

  async #do(each: Step): Promise<void> {
    const { bench } = this.#world;
    if (each === 'a' || each === 'b') this.#take(each);
    else if (each === 'on' || each === 'off') await this.#say(each === 'on');
    else if (each === 'mute') this.#world.isMute = !this.#world.isMute;
    else if (each === 'lock') bench.locked = !bench.locked;
    else if (each === 'drain') await bench.set('drain', !bench.fake('drain').shown);
    else if (each === 'silent') this.#isSilent = !this.#isSilent;
    else if (each === 'blind') this.#isBlind = !this.#isBlind;
    else if (each === 'pulse') void bench.pulse('pump', 2_000);
    if (each === 'restart' || each === 'kill') this.#forget();
    if (each === 'restart') await this.#meanwhile(this.#world.restart(this.#rules, ...this.#settings));
    else if (each === 'kill') await this.#meanwhile(this.#world.kill(PERIOD_MS, this.#rules, ...this.#settings));
  }

  #take(of: 'a' | 'b'): void {
    const known = this.#holding.some((one) => one.rule.name === of);
    this.#values[of] = known ? 0 : 90;
    this.#world.rules.take(of, 'value', known ? 0 : 90);
    this.#holding = this.#holding.filter((one) => one.rule.name !== of);
    const begun = this.#rules.find(({ name }) => !known && name === of);
    for (const one of this.#holding) if (one.said !== undefined && one.rule.set.value === begun?.set.value) one.said = 'open';
    if (begun !== undefined) this.#holding.push({ rule: begun, said: undefined });
  }

  async #say(value: boolean): Promise<void> {
    const { bench } = this.#world;
    const said = await bench.set('pump', value, { by: this.#isSilent ? 'local' : 'rpc' });
    // What a gate refuses was not said.
    if (!value || said === 'moved' || said === 'no answer') for (const one of this.#holding) one.said = value;
  }

  /** Off that the hardware did not take is tried by nobody any more after a restart. */
  #forget(): void {
    for (const one of this.#holding) if (one.said === false && this.#world.shown !== false) one.said = 'open';
  }

  async #meanwhile(opening: Promise<void>): Promise<void> {
    let isOpen = false;
    void opening.finally(() => {
      isOpen = true;
    });
    for (let turns = 0; turns < 100 && !isOpen; turns += 1) await this.#world.bench.clock.advance(500);
    await opening;
  }

  async #pass(forMs: number): Promise<void> {
    for (let leftMs = forMs; leftMs > 0; leftMs -= PERIOD_MS) {
      if (!this.#isSilent) this.#world.bench.control.contact.heard();
      await this.#world.after(this.#isBlind ? {} : this.#values);
      this.#look(this.#world.bench.clock.monotonicMs());
    }
  }

  #look(nowMs: number): void {
    const isOn = this.#world.shown === true;
    const mayBeOn = isOn || this.#world.bench.control.state('pump').value !== false;
    this.#mayBeOnSinceMs = mayBeOn ? (this.#mayBeOnSinceMs ?? nowMs - PERIOD_MS) : undefined;
    this.#wasOn = mayBeOn && (this.#wasOn || isOn);
    if (!this.#wasOn || nowMs - (this.#mayBeOnSinceMs ?? nowMs) < MAX_ON_MS - MINUTE_MS) return;
    // The longest time on may have had a say as well.
    for (const one of this.#holding) if (one.rule.set.value === true && one.said !== false) one.said = 'open';
  }

  #check(): void {
    const last = this.#holding.at(-1);
    if (last === undefined) return;
    const { said } = last;
    const { name, set } = last.rule;
    const isAgainst = said !== undefined && said !== set.value;
    // On that somebody has said may be switched off by much.
    if (isAgainst && said !== false) return;
    const must = isAgainst ? said : set.value;
    const { shown } = this.#world;
    if (shown !== must)
      throw new Error(
        `${name} wants ${set.value}, said was ${said}: is ${shown}; ${JSON.stringify(this.#world.bench.control.state('pump'))}`,
      );
  }
}

it.each([1, 2, 3, 4])(
  'what holds is so at the hardware once all is calm, and what was said against it stays, quarter %i',
  async (quarter) => {
    const run = fc.asyncProperty(world, fc.array(step, { maxLength: 10 }), (given, steps) => new Run(given).go(steps));
    await fc.assert(run, { numRuns: RUNS / 4, seed: SEED + quarter });
  },
  30_000,
);
