/**
 * Keys of a firmware offer among the shared attributes, handed over together whenever one of them changes or is saved again: the platform writes the
 * same values for a package that is assigned once more, so its notice of them is all that tells.
 */
import { type JsonObject, type JsonValue, jsonEqual } from '../values/json.ts';

export interface FirmwareOffersDeps {
  readonly firmwareKeys: readonly string[];
  /** Gets the attributes as they were read, and which of them the platform has told of since the last reading. */
  readonly onFirmwareOffer: (attributes: JsonObject, saved: ReadonlySet<string>) => void;
}

export class FirmwareOffers {
  readonly #deps: FirmwareOffersDeps;
  #last: JsonObject | undefined;
  readonly #saved = new Set<string>();

  constructor(deps: FirmwareOffersDeps) {
    this.#deps = deps;
  }

  /** Takes the keys of an update, written or deleted; their values come with the next answer. */
  noteSaved(keys: Iterable<string>): void {
    for (const key of keys) if (this.#deps.firmwareKeys.includes(key)) this.#saved.add(key);
  }

  /** Returns true where the offer is news. */
  take(shared: JsonObject): boolean {
    const offer = Object.fromEntries(
      this.#deps.firmwareKeys.flatMap((key) => (Object.hasOwn(shared, key) ? [[key, shared[key] as JsonValue]] : [])),
    );
    const isSame = this.#last !== undefined && jsonEqual(this.#last, offer);
    const saved = new Set(this.#saved);
    this.#saved.clear();
    if (isSame && saved.size === 0) return false;
    const first = this.#last === undefined;
    this.#last = offer;
    this.#deps.onFirmwareOffer(offer, saved);
    if (isSame) return false;
    // Nothing offered is no news, but for an update that was begun before the start.
    return !first || Object.keys(offer).length > 0;
  }
}
