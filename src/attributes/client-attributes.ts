/**
 * What the device says of itself: the platform holds a copy, sent when something changes, read back at times, and healed where it differs.
 * Changes that come faster than once a second go together; the newest value wins.
 */
import { hasCode, messageOf } from '../errors.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { type JsonObject, type JsonValue, jsonEqual } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { DeviceApi } from '../platform/device-api.ts';

export interface ClientAttributesDeps {
  readonly deviceApi: Pick<DeviceApi, 'postAttributes'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
}

/** What changes together is reported within a few ms of each other. */
const GATHER_MS = 20;
const LEAST_INTERVAL_MS = 1_000;
const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };

export class ClientAttributes {
  readonly #deps: ClientAttributesDeps;
  readonly #wanted = new Map<string, JsonValue>();
  /** What the platform is known to hold. */
  readonly #held = new Map<string, JsonValue>();
  /** What the platform made of a value that was sent twice: it will not change its mind. */
  readonly #stubborn = new Map<string, JsonValue>();
  #wake = (): void => {};

  constructor(deps: ClientAttributesDeps) {
    this.#deps = deps;
  }

  /** The values as they are now. Null and NaN cannot be told to the platform and are left out. */
  report(attributes: JsonObject): void {
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value))) continue;
      const known = this.#wanted.get(key);
      if (known !== undefined && jsonEqual(known, value)) continue;
      this.#wanted.set(key, value);
      this.#stubborn.delete(key);
    }
    if (this.#unsent().length > 0) this.#wake();
  }

  /** Every key that is reported. */
  get keys(): readonly string[] {
    return [...this.#wanted.keys()];
  }

  /** Compares with what the platform holds, and sends again what differs. */
  heal(found: JsonObject): void {
    for (const [key, held] of this.#held) {
      const value = Object.hasOwn(found, key) ? found[key] : undefined;
      if (value !== undefined && jsonEqual(value, held)) continue;
      // "007" is stored as 7 however often it is sent (wire-facts.md, "Values").
      const stubborn = this.#stubborn.get(key);
      if (value !== undefined && stubborn !== undefined && jsonEqual(value, stubborn)) continue;
      if (value !== undefined) this.#stubborn.set(key, value);
      this.#held.delete(key);
      this.#deps.log.info({ key }, 'a client attribute differed at the platform and is sent again');
    }
    if (this.#unsent().length > 0) this.#wake();
  }

  /** Sends until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const backoff = new Backoff({ ...BACKOFF, ...(random === undefined ? {} : { random }) });
    while (!signal.aborted) {
      if (this.#unsent().length === 0) await this.#woken(signal);
      await clock.sleep(GATHER_MS, signal);
      if (signal.aborted) return;
      if (await this.#send(signal)) {
        backoff.reset();
        await clock.sleep(LEAST_INTERVAL_MS - GATHER_MS, signal);
      } else await clock.sleep(backoff.nextMs(), signal);
    }
  }

  async #send(signal: AbortSignal): Promise<boolean> {
    const unsent = this.#unsent();
    if (unsent.length === 0) return true;
    try {
      await this.#deps.deviceApi.postAttributes(Object.fromEntries(unsent), signal);
      for (const [key, value] of unsent) this.#held.set(key, value);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (hasCode(error, 'platform/refused')) return await this.#sendEach(unsent, signal);
      this.#deps.log.debug({ error: messageOf(error) }, 'client attributes were not taken');
      return false;
    }
  }

  /** One of them is at fault: the others go by themselves, and the one is not sent again until it changes. */
  async #sendEach(unsent: readonly (readonly [string, JsonValue])[], signal: AbortSignal): Promise<boolean> {
    for (const [key, value] of unsent) {
      try {
        if (unsent.length > 1) await this.#deps.deviceApi.postAttributes({ [key]: value }, signal);
      } catch (error) {
        if (!hasCode(error, 'platform/refused')) return false;
        this.#deps.log.warn({ key, error: messageOf(error) }, 'a client attribute is refused by the platform');
      }
      this.#held.set(key, value);
    }
    return true;
  }

  #unsent(): readonly (readonly [string, JsonValue])[] {
    return [...this.#wanted].filter(([key, value]) => {
      const held = this.#held.get(key);
      return held === undefined || !jsonEqual(held, value);
    });
  }

  #woken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake = () => {};
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
