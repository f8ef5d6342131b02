/**
 * Sensors as they are configured, and for a while those that were taken out: they give what is left of their windows as they close, seconds later.
 */
import { givesStill, readingsOf, rulesOfReading } from '../config/keys/sensor-keys.ts';
import type { SensorConfig } from '../config/schema/agent-config.ts';
import { sendableKey } from '../platform/wire-values.ts';
import type { KeyRules } from './deadband-rules.ts';
import type { StateOwner } from './standing-states.ts';

/** Beside those of one change nobody takes out more. */
const MAX_LEFT = 100;

export class ConfiguredSensors {
  readonly #inForce: () => readonly SensorConfig[];
  #configured: readonly SensorConfig[] = [];
  /** Sensors as they were when they were taken out, the latest last. */
  readonly #left = new Map<string, SensorConfig>();
  /** Sensors as they were before a change, until the end of its turn: windows that it ends give what they hold within it. */
  #before: readonly SensorConfig[] = [];
  #names: { readonly of: readonly SensorConfig[]; readonly byName: ReadonlyMap<string, SensorConfig> } | undefined;

  /** @param inForce Sensors of the configuration, asked at each use. */
  constructor(inForce: () => readonly SensorConfig[]) {
    this.#inForce = inForce;
  }

  /** Takes the names of the sensors that run; returns a test for whose state may still stand. */
  configured(sensors: ReadonlySet<string>): (owner: StateOwner) => boolean {
    for (const sensor of this.#configured) if (!sensors.has(sensor.name)) this.#left.set(sensor.name, sensor);
    const most = Math.max(MAX_LEFT, this.#configured.length);
    for (const name of this.#left.keys()) if (sensors.has(name) || this.#left.size > most) this.#left.delete(name);
    this.#before = this.#configured;
    queueMicrotask(() => {
      this.#before = [];
    });
    this.#configured = this.#inForce().filter(({ name }) => sensors.has(name));
    const readings = new Map(this.#configured.map((sensor) => [sensor.name, readingsOf(sensor, sendableKey)]));
    return ({ sensor, reading }) =>
      sensors.has(sensor) && (reading === undefined || readings.get(sensor)?.includes(reading) !== false);
  }

  /** Attached device of a sensor, be it one that was taken out; undefined of the gateway's own. */
  deviceOf(sensor: string): string | undefined {
    return (this.#byName.get(sensor) ?? this.#left.get(sensor))?.device;
  }

  /**
   * Rules of a reading; of a sensor that is no longer configured its last ones, without alarms, which nobody would clear; the same for a reading that a changed sensor no
   * longer gives, or did not report before. Of a sensor that never was configured nothing goes out.
   */
  rulesFor(sensor: string, key: string): KeyRules | undefined {
    const found = this.#byName.get(sensor);
    const config = found?.enabled === true ? found : undefined;
    const left = config === undefined ? this.#left.get(sensor) : this.#before.find(({ name }) => name === sensor);
    const rulesBefore = left === undefined ? undefined : rulesOfReading(left, key);
    if (config === undefined) return left === undefined ? { report: false } : { ...rulesBefore, alarms: [] };
    const isOver =
      left !== undefined &&
      (rulesBefore?.report === false || !givesStill(config, { before: left, reading: key, keyOf: sendableKey }));
    return isOver ? { ...rulesBefore, alarms: [] } : rulesOfReading(config, key);
  }

  get #byName(): ReadonlyMap<string, SensorConfig> {
    const of = this.#inForce();
    if (this.#names?.of !== of) this.#names = { of, byName: new Map(of.map((sensor) => [sensor.name, sensor])) };
    return this.#names.byName;
  }
}
