/**
 * Client attributes: the platform holds a copy, sent on a change, read back at times, and healed where it differs. Changes that come faster
 * than once a second go together; the newest value wins. Refused values are sent again with growing backoff.
 */
import { hasCode, messageOf } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { askedDelayMs, PlatformError } from '../platform/platform-error.ts';
import { SendableKeys } from '../platform/wire-values.ts';
import { type JsonObject, type JsonValue, jsonEqual } from '../values/json.ts';

export interface ClientAttributesDeps {
  readonly deviceApi: Pick<DeviceApi, 'postAttributes'>;
  /** Least time between two posts on a link that is too dear for one at each change. */
  readonly wakes?: (() => number | undefined) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Time in which changes are gathered for one report. */
const GATHER_MS = 20;
const MIN_INTERVAL_MS = 1_000;
const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
const REFUSED_BACKOFF = { firstMs: 5_000, maxMs: 300_000 };
/** How soon it is noticed that each change may go again. */
const LOOK_AT_WAKES_MS = 30_000;
/** Whoever has something to send wakes it; a timer needs some end. */
const LOOK_AGAIN_MS = 3_600_000;

type Attribute = readonly [key: string, value: JsonValue];

interface Refusal {
  readonly backoff: Backoff;
  againAtMs: number;
}

export class ClientAttributes {
  readonly #deps: ClientAttributesDeps;
  readonly #wanted = new Map<string, JsonValue>();
  /** Values that the platform is known to hold. */
  readonly #held = new Map<string, JsonValue>();
  /** Values as the platform stored them although another was sent twice: it will not change its mind. */
  readonly #stubborn = new Map<string, JsonValue>();
  /** Values that were refused, until they change or are accepted. */
  readonly #refused = new Map<string, Refusal>();
  readonly #keys = new SendableKeys();
  #maxTogether = Number.POSITIVE_INFINITY;
  /** True when refused values were due the last time and let the others go first. */
  #refusedWaited = false;
  #wake = (): void => {};

  constructor(deps: ClientAttributesDeps) {
    this.#deps = deps;
  }

  /** The values as they are now. Null and NaN cannot be told and are left out; a key that the platform would lose goes by another name. */
  report(attributes: JsonObject): void {
    for (const [given, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value))) continue;
      const key = this.#keys.of(given);
      const known = this.#wanted.get(key);
      if (known !== undefined && jsonEqual(known, value)) continue;
      this.#wanted.set(key, value);
      this.#stubborn.delete(key);
      this.#refused.delete(key);
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
      if (value !== undefined && jsonEqual(value, held)) {
        // It can hold it: what differs from now on does so for another reason.
        this.#stubborn.delete(key);
        continue;
      }
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
    const { clock } = this.#deps;
    const backoff = new Backoff(BACKOFF, clock);
    let triedAtMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      if (this.#unsent().length === 0) await this.#woken(signal);
      await clock.sleep(GATHER_MS, signal);
      for (let restMs = this.#restMs(triedAtMs); restMs > 0 && !signal.aborted; restMs = this.#restMs(triedAtMs))
        await clock.sleep(Math.min(LOOK_AT_WAKES_MS, restMs), signal);
      if (signal.aborted) return;
      triedAtMs = clock.monotonicMs();
      const failure = await this.#send(signal);
      if (failure === undefined) backoff.reset();
      await clock.sleep(
        failure === undefined ? MIN_INTERVAL_MS - GATHER_MS : backoff.nextMs(askedDelayMs(failure)),
        signal,
      );
    }
  }

  #restMs(triedAtMs: number): number {
    return triedAtMs + (this.#deps.wakes?.() ?? 0) - this.#deps.clock.monotonicMs();
  }

  /**
   * Sends pending values and returns the failure, if there is one. Refused values never share a post with the others, and neither holds up the
   * other for long. A failure that may mean too many values halves the next piece: a platform that limits data points answers like one with a
   * passing fault. A value that fails alone goes behind all others.
   */
  async #send(signal: AbortSignal): Promise<unknown> {
    const unsent = this.#unsent();
    const refused = unsent.filter(([key]) => this.#refused.has(key));
    const others = unsent.filter(([key]) => !this.#refused.has(key));
    const refusedGo = refused.length > 0 && (others.length === 0 || this.#refusedWaited);
    this.#refusedWaited = refused.length > 0 && !refusedGo;
    const piece = (refusedGo ? refused : others).slice(0, this.#maxTogether);
    const failure = await this.#sendSome(piece, signal);
    if (failure === undefined) this.#maxTogether *= 2;
    else if (isPerhapsTooMuch(failure)) this.#maxTogether = Math.max(1, piece.length >> 1);
    const [[last = ''] = []] = piece;
    const value = this.#wanted.get(last);
    if (failure !== undefined && piece.length === 1 && value !== undefined) {
      this.#wanted.delete(last);
      this.#wanted.set(last, value);
    }
    return failure;
  }

  /** Bisects a refused post, down to one value: few posts for a platform that refuses only now and then, whatever it is. */
  async #sendSome(attributes: readonly Attribute[], signal: AbortSignal): Promise<unknown> {
    const [first, ...more] = attributes;
    if (first === undefined) return undefined;
    try {
      await this.#post(attributes, signal);
      return undefined;
    } catch (error) {
      if (signal.aborted || !isOfContent(error)) {
        this.#deps.log.debug({ error: messageOf(error) }, 'client attributes were not taken');
        return error;
      }
      if (more.length === 0) {
        this.#noteRefused(first[0], error);
        return undefined;
      }
    }
    const half = attributes.length >> 1;
    return (
      (await this.#sendSome(attributes.slice(0, half), signal)) ??
      (await this.#sendSome(attributes.slice(half), signal))
    );
  }

  async #post(attributes: readonly Attribute[], signal: AbortSignal): Promise<void> {
    await this.#deps.deviceApi.postAttributes(Object.fromEntries(attributes), signal);
    for (const [key, value] of attributes) {
      this.#held.set(key, value);
      this.#refused.delete(key);
    }
  }

  #noteRefused(key: string, error: unknown): void {
    const { clock, log } = this.#deps;
    const refusal = this.#refused.get(key) ?? { backoff: new Backoff(REFUSED_BACKOFF, clock), againAtMs: 0 };
    if (refusal.backoff.attempts === 0)
      log.warn({ key, error: messageOf(error) }, 'a client attribute is refused by the platform and is tried again');
    refusal.againAtMs = clock.monotonicMs() + refusal.backoff.nextMs();
    this.#refused.set(key, refusal);
  }

  #unsent(): readonly Attribute[] {
    const nowMs = this.#deps.clock.monotonicMs();
    return [...this.#wanted].filter(([key, value]) => {
      const held = this.#held.get(key);
      const isWanted = held === undefined || !jsonEqual(held, value);
      return isWanted && (this.#refused.get(key)?.againAtMs ?? 0) <= nowMs;
    });
  }

  /** Resolves when there is something to send, perhaps again. */
  async #woken(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const againAtMs = Math.min(
      ...[...this.#refused.values()].map((refusal) => refusal.againAtMs),
      clock.monotonicMs() + LOOK_AGAIN_MS,
    );
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await endedWithin(clock, againAtMs - clock.monotonicMs(), promise, signal);
  }
}

/** True when the failure is due to the content and not to the time: too large is so at each try (wire-facts.md, "Answers to an upload"). */
function isOfContent(error: unknown): boolean {
  return hasCode(error, 'platform/refused') || (error instanceof PlatformError && error.status === 413);
}

/** A limit of data points is said by 500 or 429, a limit of bytes perhaps by a connection that is cut (wire-facts.md, "Rate limits"). */
function isPerhapsTooMuch(failure: unknown): boolean {
  return failure instanceof PlatformError && (failure.status !== undefined || failure.cut);
}
