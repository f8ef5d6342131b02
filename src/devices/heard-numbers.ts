/** Serial numbers as they are read: one is believed when it matches its pattern and was read twice alike. */
import type { DeviceConfig } from '../config/schema/devices.ts';
import type { JsonValue } from '../values/json.ts';
import { keepAtMost } from '../values/keep-at-most.ts';
import { serialNumberIn } from './filled-name.ts';

interface Heard {
  readonly text: string;
  readonly times: number;
  /** Turns of the readings since the start at which it was first read, and last. */
  readonly firstTurn: number;
  readonly lastTurn: number;
}

/** Readings of one number that make it believed. */
const READ_ALIKE = 2;
const MAX_BELIEVED = 5_000;

export class HeardNumbers {
  readonly #matches: (pattern: string, text: string) => boolean;
  readonly #heard = new Map<string, Heard>();
  #turn = 0;
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

  /** True where both slots read the same number, and the first has read it since the second began to: they read one thing. */
  isSharedBy(first: string, second: string): boolean {
    const [one, other] = [this.#heard.get(first), this.#heard.get(second)];
    return one !== undefined && one.text === other?.text && one.lastTurn > other.firstTurn;
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
    const isSame = before?.text === text;
    const times = isSame ? Math.min(READ_ALIKE, before.times + 1) : 1;
    this.#turn += 1;
    this.#heard.set(name, { text, times, firstTurn: isSame ? before.firstTurn : this.#turn, lastTurn: this.#turn });
    if (times < READ_ALIKE) return undefined;
    this.#believed.set(`${name}=${text}`, true);
    keepAtMost(this.#believed, MAX_BELIEVED);
    return text;
  }
}
