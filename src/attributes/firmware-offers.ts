/** Keys of a firmware offer among the shared attributes, handed over together whenever one of them changes. */
import { type JsonObject, type JsonValue, jsonEqual } from '../host/json.ts';

export interface FirmwareOffersDeps {
  readonly firmwareKeys: readonly string[];
  readonly onFirmwareOffer: (attributes: JsonObject) => void;
}

export class FirmwareOffers {
  readonly #deps: FirmwareOffersDeps;
  #last: JsonObject | undefined;

  constructor(deps: FirmwareOffersDeps) {
    this.#deps = deps;
  }

  /** Returns true where the offer is news. */
  take(shared: JsonObject): boolean {
    const offer = Object.fromEntries(
      this.#deps.firmwareKeys.flatMap((key) => (Object.hasOwn(shared, key) ? [[key, shared[key] as JsonValue]] : [])),
    );
    if (this.#last !== undefined && jsonEqual(this.#last, offer)) return false;
    const first = this.#last === undefined;
    this.#last = offer;
    this.#deps.onFirmwareOffer(offer);
    // Nothing offered is no news, but for an update that was begun before the start.
    return !first || Object.keys(offer).length > 0;
  }
}
