/** Serial numbers as they are read: one is believed when it matches its pattern and was read twice alike. */
import type { DeviceConfig } from '../../config/schema/devices.ts';
import type { JsonValue } from '../../host/json.ts';
import { keepAtMost } from '../../host/keep-at-most.ts';
import { serialNumberIn } from './filled-name.ts';

interface Heard {
  readonly text: string;
  readonly times: number;
}

/** Readings of one number that make it believed. */
const READ_ALIKE = 2;
const MAX_BELIEVED = 5_000;

export class HeardNumbers {
  readonly #matches: (pattern: string, text: string) => boolean;
  readonly #heard = new Map<string, Heard>();
  /** Slots and numbers that were believed, the oldest first. */
  readonly #believed = new Map<string, true>();

  /** @param matches a whole text against a slot's pattern. */
  constructor(matches: (pattern: string, text: string) => boolean) {
    this.#matches = matches;
  }

  /** Returns the number of the slot's last answer, believed or not; undefined of one without. */
  last(slot: string): string | undefined {
    return this.#heard.get(slot)?.text;
  }

  /** True of a number that was believed in the slot since the start, and may wait for its device to be made. */
  wasBelieved(slot: string, text: string): boolean {
    return this.#believed.has(`${slot}=${text}`);
  }

  /** Takes a reading; returns the number that is in the slot, once it is believed. */
  hear({ name, serialNumber }: DeviceConfig, value: JsonValue): string | undefined {
    const text = serialNumberIn(value);
    const { pattern } = serialNumber ?? {};
    if (text === undefined || (pattern !== undefined && !this.#matches(pattern, text))) {
      this.#heard.delete(name);
      return undefined;
    }
    const before = this.#heard.get(name);
    const times = before?.text === text ? Math.min(READ_ALIKE, before.times + 1) : 1;
    this.#heard.set(name, { text, times });
    if (times < READ_ALIKE) return undefined;
    this.#believed.set(`${name}=${text}`, true);
    keepAtMost(this.#believed, MAX_BELIEVED);
    return text;
  }
}
