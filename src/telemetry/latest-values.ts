/** The last value of each key after conversion, as local rules and the platform see it; what a sensor reports is the raw one. */
import type { JsonValue } from '../values/json.ts';

/** Beyond so many the one that was noted first is forgotten: whoever makes keys up as they go must not fill the memory. */
const MAX_KEYS = 10_000;

export class LatestValues {
  readonly #values = new Map<string, JsonValue>();

  note(sensor: string, key: string, value: JsonValue): void {
    this.#values.set(`${sensor}\n${key}`, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= MAX_KEYS) break;
      this.#values.delete(oldest);
    }
  }

  get(sensor: string, key: string): JsonValue | undefined {
    return this.#values.get(`${sensor}\n${key}`);
  }
}
