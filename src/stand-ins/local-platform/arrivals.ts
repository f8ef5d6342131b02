/**
 * Data of devices on its way to the stores: it is stored after its 200, and data that the real server then loses without a word is lost here
 * too, whole timestamps and whole sets of attributes (platform/wire-facts.md, "Values").
 *
 *   body → 200 → a while → keys and time looked at → stores · lost
 */
import type { PlatformDevice } from './device-registry.ts';
import type { PlatformSettings } from './local-platform-options.ts';
import type { TimedValues } from './payload.ts';
import type { PlatformState } from './platform-state.ts';
import type { StoredValue } from './stored-value.ts';

const MAX_KEY_LENGTH = 255;
const TEMPLATE = /\{\{.*\}\}/s;
/** Java's blanks: those of Unicode but the no-break ones, and some control characters. */
const SPACE = /^\p{Z}$/u;
const NO_BREAK = '\u00a0\u2007\u202f';
const BLANK_CONTROLS = '\t\n\v\f\r\u001c\u001d\u001e\u001f';
/** Partitions are named after years of four digits. */
const FIRST_LOST_MS = Date.UTC(10_000, 0, 1);

export class Arrivals {
  readonly #state: PlatformState;
  readonly #settings: Pick<PlatformSettings, 'clock' | 'storeDelayMs' | 'onStored'>;
  readonly #waiting = new Map<() => void, () => void>();
  /** Values stored of each device, each time that they came. */
  readonly #stored = new Map<string, number>();
  #lost = 0;

  constructor(state: PlatformState, settings: Pick<PlatformSettings, 'clock' | 'storeDelayMs' | 'onStored'>) {
    this.#state = state;
    this.#settings = settings;
  }

  /** Instants, sets of attributes, and uploads that a killed server had not stored: answered with 200 and lost. */
  get lost(): number {
    return this.#lost;
  }

  /** Values of a device that were stored, the same ones each time that they came. */
  stored(deviceId: string): number {
    return this.#stored.get(deviceId) ?? 0;
  }

  telemetry(device: PlatformDevice, records: readonly TimedValues[]): void {
    this.#later(() => {
      for (const record of records) {
        if (!this.#isThere(device) || Object.keys(record.values).length === 0) continue;
        if (record.ts >= FIRST_LOST_MS || !areKept(record.values)) this.#lost += 1;
        else this.#save(device, record);
      }
    });
  }

  attributes(device: PlatformDevice, values: Readonly<Record<string, StoredValue>>): void {
    this.#later(() => {
      if (!this.#isThere(device) || Object.keys(values).length === 0) return;
      if (areKept(values)) this.#state.setAttributes(device.id, 'CLIENT_SCOPE', values);
      else this.#lost += 1;
    });
  }

  /** Stores what waits, as a server does that stops in order. */
  flush(): void {
    for (const [store, cancel] of [...this.#waiting]) {
      cancel();
      store();
    }
  }

  /** Loses what waits, as a server does that is killed. */
  forget(): void {
    this.#lost += this.#waiting.size;
    for (const cancel of this.#waiting.values()) cancel();
    this.#waiting.clear();
  }

  /** Forgets the count of a deleted device. */
  forgetDevice(deviceId: string): void {
    this.#stored.delete(deviceId);
  }

  #save(device: PlatformDevice, record: TimedValues): void {
    this.#state.saveTelemetry(device, record);
    this.#stored.set(device.id, this.stored(device.id) + Object.keys(record.values).length);
    this.#settings.onStored?.(device, record);
  }

  #later(work: () => void): void {
    const { clock, storeDelayMs } = this.#settings;
    if (storeDelayMs === 0) {
      work();
      return;
    }
    const store = (): void => {
      this.#waiting.delete(store);
      work();
    };
    this.#waiting.set(store, clock.after(storeDelayMs, store));
  }

  #isThere({ id }: PlatformDevice): boolean {
    return this.#state.registry.devices.byId(id) !== undefined;
  }
}

/** One bad key takes all that is saved with it along. */
function areKept(values: Readonly<Record<string, StoredValue>>): boolean {
  return Object.keys(values).every(
    (key) =>
      !isBlank(key) &&
      key.length <= MAX_KEY_LENGTH &&
      !key.includes('<') &&
      !TEMPLATE.test(key) &&
      !key.includes('\u0000'),
  );
}

function isBlank(key: string): boolean {
  return [...key].every((char) => BLANK_CONTROLS.includes(char) || (SPACE.test(char) && !NO_BREAK.includes(char)));
}
