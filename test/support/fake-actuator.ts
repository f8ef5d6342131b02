/** An actuator that remembers everything it was told. */
import type { ActuatorDriver, ActuatorSettings, ActuatorValue } from '../../src/actuators/kind/actuator.ts';

export class FakeActuator implements ActuatorDriver {
  shown: ActuatorValue;
  readonly told: ActuatorValue[] = [];
  /** Called before each write; may throw, or wait. */
  beforeWrite: (value: ActuatorValue) => Promise<void> | void = () => {};
  closed = false;

  constructor(shown: ActuatorValue = false) {
    this.shown = shown;
  }

  async write(value: ActuatorValue): Promise<void> {
    await this.beforeWrite(value);
    this.told.push(value);
    this.shown = value;
  }

  read: (signal: AbortSignal) => Promise<ActuatorValue> = async () => this.shown;

  async close(): Promise<void> {
    this.closed = true;
  }

  /** How often it went from off to on. */
  get risings(): number {
    return this.told.filter((value, index) => value === true && this.told[index - 1] !== true).length;
  }
}

/** A relay without any limit, but for what is given. */
export function relaySettings(name: string, changes: Partial<ActuatorSettings> = {}): ActuatorSettings {
  return {
    name,
    valueType: 'boolean',
    limits: {},
    neverWith: [],
    safe: {},
    restore: false,
    operatorUntil: 'ruleChange',
    deadlineMs: 1_000,
    idempotent: true,
    ...changes,
  };
}
