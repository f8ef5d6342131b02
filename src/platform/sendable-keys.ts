/** Remembers under which name a key is sent: keys come again and again, and looking at each costs more than the map does. */
import { sendableKey } from './wire-values.ts';

/** A device has some hundred keys; whoever makes keys up as they go must not fill the memory. */
const MAX_KEYS = 4096;
const MAX_LENGTH = 1024;

export class SendableKeys {
  readonly #known = new Map<string, string>();

  /** The key itself, or the name under which the server keeps what it would lose under this one. */
  of(key: string): string {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const name = sendableKey(key);
    if (key.length > MAX_LENGTH) return name;
    if (this.#known.size >= MAX_KEYS) this.#known.clear();
    this.#known.set(key, name);
    return name;
  }
}
