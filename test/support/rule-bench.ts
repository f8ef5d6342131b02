/** Local rules over a pump with fake hardware: each watches a sensor of its own name, above 10; opened, and opened again after a kill. */
import type { ActuatorSettings, ActuatorValue } from '../../src/actuators/kind/actuator.ts';
import { LocalRules } from '../../src/actuators/local-rules.ts';
import type { RuleEvent } from '../../src/actuators/rule-event.ts';
import { type RuleInForce, ruleWords } from '../../src/actuators/rule-in-force.ts';
import type { LocalTime } from '../../src/host/local-time.ts';
import { ActuatorBench } from './actuator-bench.ts';
import { relaySettings } from './fake-actuator.ts';

/** Each sensor gives its value so often, */
const PERIOD_MS = 10_000;
/** and is lost when it has given none for so long. */
const LOST_AFTER_MS = 36_000;

export function rule(name: string, value: ActuatorValue, otherwise?: ActuatorValue): RuleInForce {
  const when = { sensor: name, key: 'value', above: 10, hysteresis: 0, forMs: 0 };
  const end = otherwise === undefined ? {} : { otherwise };
  return {
    name,
    enabled: true,
    protect: false,
    when,
    set: { actuator: 'pump', value },
    ...end,
    sensors: { [name]: { lostAfterMs: LOST_AFTER_MS, isByEvent: false } },
  };
}

export const pump = (changes: Partial<ActuatorSettings> = {}): ActuatorSettings => relaySettings('pump', changes);

export class RuleBench {
  readonly bench = new ActuatorBench();
  /** The pump takes nothing and says nothing. */
  isMute = false;
  /** Undefined: the clock is not trusted. */
  localTime: LocalTime | undefined;
  #rules: LocalRules | undefined;

  constructor() {
    const fake = this.bench.fake('pump');
    const answer = (): void => {
      if (this.isMute) throw new Error('no answer');
    };
    fake.beforeWrite = answer;
    fake.read = async () => {
      answer();
      return fake.shown;
    };
  }

  get rules(): LocalRules {
    if (this.#rules === undefined) throw new Error('open() first');
    return this.#rules;
  }

  get shown(): ActuatorValue {
    return this.bench.fake('pump').shown;
  }

  get events(): readonly RuleEvent[] {
    return this.bench.events;
  }

  async open(configs: readonly RuleInForce[], ...settings: readonly ActuatorSettings[]): Promise<void> {
    this.bench.rules = ruleWords(configs);
    const control = await this.bench.open(...settings);
    this.#rules = new LocalRules({ rules: configs, control, clock: this.bench.clock, localTime: () => this.localTime });
  }

  async restart(configs: readonly RuleInForce[], ...settings: readonly ActuatorSettings[]): Promise<void> {
    this.rules.close();
    await this.bench.control.close();
    await this.open(configs, ...settings);
  }

  /** As a kill does: nothing is set, and nothing of the process before moves anything any more. */
  async kill(downMs: number, configs: readonly RuleInForce[], ...settings: readonly ActuatorSettings[]): Promise<void> {
    const { clock } = this.bench;
    this.rules.close();
    clock.reboot({ bootId: clock.bootId, monotonicMs: clock.monotonicMs() + downMs });
    await this.open(configs, ...settings);
  }

  /** Returns the pump's value after each sensor has given its own every ten seconds. */
  async after(values: Readonly<Record<string, number>>, forMs = PERIOD_MS): Promise<ActuatorValue> {
    for (let leftMs = forMs; leftMs > 0; leftMs -= PERIOD_MS) {
      for (const [sensor, value] of Object.entries(values)) this.rules.take(sensor, 'value', value);
      await this.bench.clock.advance(Math.min(leftMs, PERIOD_MS));
    }
    return this.shown;
  }
}
