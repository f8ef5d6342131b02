/** Contact of the gateway, and of each attached device with outputs: one whose token the platform refuses is silent, whatever the others hear. */
import type { Clock } from '../host/clock.ts';
import { ContactWatch } from './contact-watch.ts';
import type { Output } from './output.ts';

export type Contact = Pick<ContactWatch, 'heard' | 'onQuiet'>;

/** A device without outputs has nothing that silence would move. */
const NO_OUTPUTS: Contact = { heard: () => {}, onQuiet: () => () => {} };

export class ContactWatches implements Contact {
  readonly #watches: ReadonlyMap<string | undefined, ContactWatch>;

  constructor({ outputs, clock }: { readonly outputs: readonly Output[]; readonly clock: Clock }) {
    const own = Map.groupBy(outputs, ({ settings }) => settings.device);
    this.#watches = new Map(
      [...own].map(([device, ofDevice]) => [device, new ContactWatch({ outputs: ofDevice, clock })]),
    );
  }

  /** @param device slot of the configuration; the gateway without one. */
  of(device?: string): Contact {
    return this.#watches.get(device) ?? NO_OUTPUTS;
  }

  /** The gateway was heard just now. */
  heard(): void {
    this.of().heard();
  }

  /** Calls back when the gateway should ask whether the platform is there, until the returned function is called. */
  onQuiet(listener: () => void): () => void {
    return this.of().onQuiet(listener);
  }

  /** Idempotent. */
  close(): void {
    for (const watch of this.#watches.values()) watch.close();
  }
}
