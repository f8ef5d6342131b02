/** The last value of each key after conversion, as local rules and the platform see it; what a sensor reports is the raw one. */
import type { JsonValue } from '../host/json.ts';

export class LatestValues {
  readonly #values = new Map<string, JsonValue>();

  note(sensor: string, key: string, value: JsonValue): void {
    this.#values.set(`${sensor}\n${key}`, value);
  }

  get(sensor: string, key: string): JsonValue | undefined {
    return this.#values.get(`${sensor}\n${key}`);
  }
}
