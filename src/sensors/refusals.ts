/** The values that a working sensor does not give: told when it begins and when it ends. */
import type { Log } from '../host/log.ts';
import type { Refusal } from './sensor.ts';
import type { SensorState } from './sensor-state.ts';

export class Refusals {
  readonly #sensor: string;
  readonly #log: Log;
  #refused: readonly Refusal[] = [];

  constructor(sensor: string, log: Log) {
    this.#sensor = sensor;
    this.#log = log;
  }

  list(): SensorState['refused'] {
    return this.#refused.map(({ key, fault: { code, message } }) => ({ key, code, message }));
  }

  /** Takes those of the newest read. True when a value is missing that was not before, or is there again. */
  note(refused: readonly Refusal[]): boolean {
    const before = this.#refused;
    this.#refused = refused;
    const news = refused.filter(({ key }) => before.every((one) => one.key !== key));
    const given = before.filter(({ key }) => refused.every((one) => one.key !== key));
    for (const { key, fault } of news)
      this.#log.warn({ sensor: this.#sensor, key, code: fault.code, reason: fault.message }, 'the sensor does not give this value');
    for (const { key } of given) this.#log.info({ sensor: this.#sensor, key }, 'the sensor gives this value again');
    return news.length + given.length > 0;
  }
}
