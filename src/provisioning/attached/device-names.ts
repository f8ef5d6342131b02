/**
 * Names of attached devices: which platform device a slot of the configuration is. A slot without a serial number is one device for ever; one
 * with a serial number is the device whose number was read twice alike, and until then the last one known.
 *
 *   reading of the serial number ─ twice alike, matches its pattern ─▶ id of this number ─▶ names.json ─▶ entries of the slot
 */
import type { DeviceConfig } from '../../config/schema/devices.ts';
import type { Clock } from '../../host/clock.ts';
import { given } from '../../host/given.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../host/json.ts';
import type { Log } from '../../host/log.ts';
import type { StateFile } from '../../host/state-file.ts';
import { filledName, serialNumberIn, tellsSlot } from './filled-name.ts';

export const DEVICE_NAMES_FORMAT = { format: 'turnstone/device-names', version: 1 } as const;

export interface DeviceNamesDeps {
  readonly file: StateFile;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Log;
  /** The gateway's name on the platform, as far as it is known. */
  readonly gatewayName: () => string;
  /** Matches a whole text against a slot's pattern. */
  readonly matches: (pattern: string, text: string) => boolean;
  /** Most devices that take another's place in a slot within a day. */
  readonly newPerDay: () => number;
}

interface Known {
  /** Name on the platform that it is provisioned under. */
  readonly name: string;
  readonly serialNumber?: string;
  /** A person gave it its name. */
  readonly isRenamed?: boolean;
}

interface Heard {
  readonly text: string;
  readonly times: number;
}

/** Readings of one number that make it believed. */
const READ_ALIKE = 2;
const DAY_MS = 86_400_000;
const MAX_KNOWN = 5_000;

export class DeviceNames {
  readonly #deps: DeviceNamesDeps;
  /** By id. */
  readonly #known = new Map<string, Known>();
  /** Id of the device that is in a slot. */
  readonly #inSlot = new Map<string, string>();
  readonly #heard = new Map<string, Heard>();
  #slots: readonly DeviceConfig[] = [];
  #replaced = { dayMs: 0, count: 0 };
  /** Slots whose new device waits for the next day. */
  readonly #waiting = new Set<string>();

  private constructor(deps: DeviceNamesDeps) {
    this.#deps = deps;
  }

  /** Reads what was known at the last start. */
  static async open(deps: DeviceNamesDeps): Promise<DeviceNames> {
    const names = new DeviceNames(deps);
    names.#take((await deps.file.read()) ?? {});
    return names;
  }

  /** Takes the slots of the configuration; a slot without a serial number is the device of its own name. */
  configure(slots: readonly DeviceConfig[]): void {
    this.#slots = slots;
    for (const { name, serialNumber } of slots) if (serialNumber === undefined) this.#inSlot.set(name, name);
    for (const slot of this.#inSlot.keys()) if (!slots.some(({ name }) => name === slot)) this.#inSlot.delete(slot);
  }

  /** Id of the device in a slot; `?slot` while it is not known which one that is. */
  idOf(slot: string): string {
    return this.#inSlot.get(slot) ?? `?${slot}`;
  }

  /** Id of the device that entries under `id` belong to now; undefined while that is not known. */
  resolve(id: string): string | undefined {
    return id.startsWith('?') ? this.#inSlot.get(id.slice(1)) : id;
  }

  /** Ids of the devices in the slots, each once. */
  get present(): readonly string[] {
    return [...new Set(this.#inSlot.values())];
  }

  /** Ids of all devices that were ever known. */
  get all(): readonly string[] {
    return [...new Set([...this.present, ...this.#known.keys()])];
  }

  /** Slots in which the device is. */
  slotsOf(id: string): readonly string[] {
    return [...this.#inSlot].filter(([, own]) => own === id).map(([slot]) => slot);
  }

  /** Slots whose device is not known. */
  get unidentified(): readonly DeviceConfig[] {
    return this.#slots.filter(({ name }) => !this.#inSlot.has(name));
  }

  /** True while a new device of the slot waits, as too many came today. */
  waitsForTomorrow(slot: string): boolean {
    return this.#waiting.has(slot);
  }

  /** Settings of the slot in which the device is. */
  slotOf(id: string): DeviceConfig | undefined {
    const [slot] = this.slotsOf(id);
    return this.#slots.find(({ name }) => name === slot);
  }

  serialNumberOf(id: string): string | undefined {
    return this.#known.get(id)?.serialNumber;
  }

  /** Name that the device is provisioned under. */
  nameOf(id: string): string {
    const known = this.#known.get(id);
    const slot = this.#slots.find(({ name }) => name === id);
    if (known !== undefined || slot === undefined) return known?.name ?? id;
    return this.#filled(slot, undefined) ?? id;
  }

  /** Name for people: the one that somebody gave it here, else the one that the platform knows. */
  shownName(id: string, onPlatform: string | undefined): string {
    return this.#known.get(id)?.isRenamed === true ? this.nameOf(id) : (onPlatform ?? this.nameOf(id));
  }

  /** Gives a device another name here. */
  rename(id: string, name: string): void {
    // In a template braces would be placeholders.
    this.#known.set(id, { ...this.#known.get(id), name: name.replace(/[{}]/g, ''), isRenamed: true });
    this.#save();
  }

  /** Forgets a device that is in no slot. */
  forget(id: string): void {
    this.#known.delete(id);
    this.#save();
  }

  /** Resolves when what is known is durable, or could not be made so. Idempotent. */
  close(): Promise<void> {
    return this.#deps.file.close();
  }

  /** Takes a reading; returns the slots whose device is another from now on. */
  observe(sensor: string, key: string, value: JsonValue): readonly string[] {
    const slots = this.#slots.filter(({ serialNumber: from }) => from !== undefined && from.sensor === sensor && from.key === key);
    return slots.filter((slot) => this.#hear(slot, serialNumberIn(value))).map(({ name }) => name);
  }

  #hear(slot: DeviceConfig, text: string | undefined): boolean {
    const { pattern } = slot.serialNumber ?? {};
    const isNumber = text !== undefined && (pattern === undefined || this.#deps.matches(pattern, text));
    const before = this.#heard.get(slot.name);
    if (!isNumber) {
      this.#heard.delete(slot.name);
      return false;
    }
    const times = before?.text === text ? before.times + 1 : 1;
    this.#heard.set(slot.name, { text, times: Math.min(times, READ_ALIKE) });
    return times >= READ_ALIKE && this.#identify(slot, text);
  }

  #identify(slot: DeviceConfig, serialNumber: string): boolean {
    const before = this.#inSlot.get(slot.name);
    if (before !== undefined && this.#known.get(before)?.serialNumber === serialNumber) {
      this.#waiting.delete(slot.name);
      return false;
    }
    const id = this.#idFor(slot, serialNumber);
    if (id === undefined) return false;
    if (!this.#known.has(id)) {
      // The first device of a slot takes nobody's place, and one that was forgotten takes its own.
      if (before !== undefined && before !== id && !this.#mayReplace(slot.name)) return false;
      if (this.#known.size >= MAX_KNOWN) return false;
      this.#known.set(id, { name: id, serialNumber });
      this.#save();
    }
    this.#waiting.delete(slot.name);
    if (id === before) return false;
    this.#inSlot.set(slot.name, id);
    this.#deps.log.info({ slot: slot.name, device: id, serialNumber, before }, 'a device was identified by its serial number');
    this.#save();
    return true;
  }

  /** A number that is known keeps its id, unless its name tells the slot, too. */
  #idFor(slot: DeviceConfig, serialNumber: string): string | undefined {
    const filled = this.#filled(slot, serialNumber);
    if (filled === undefined) return undefined;
    if (this.#known.has(filled)) return filled;
    const known = tellsSlot(slot) ? undefined : [...this.#known].find(([, one]) => one.serialNumber === serialNumber)?.[0];
    // Names of slots are ids of their own.
    return known ?? (this.#slots.some(({ name }) => name === filled) ? `${filled} (${slot.name})` : filled);
  }

  #filled(slot: DeviceConfig, serialNumber: string | undefined): string | undefined {
    const { gatewayName, log } = this.#deps;
    const name = filledName(slot, { gateway: gatewayName(), serialNumber });
    if (name === undefined) log.error({ slot: slot.name }, 'the device name of this slot is empty or too long with what it is filled with');
    return name;
  }

  #mayReplace(slot: string): boolean {
    const dayMs = Math.floor(this.#deps.clock.wallMs() / DAY_MS) * DAY_MS;
    if (this.#replaced.dayMs !== dayMs) this.#replaced = { dayMs, count: 0 };
    if (this.#replaced.count >= this.#deps.newPerDay()) {
      if (!this.#waiting.has(slot)) this.#deps.log.error({ slot }, 'too many new devices today: this one waits (provisioning.newPerDay)');
      this.#waiting.add(slot);
      return false;
    }
    this.#replaced.count += 1;
    return true;
  }

  #save(): void {
    this.#deps.file.save({
      slots: Object.fromEntries([...this.#inSlot].filter(([slot, id]) => slot !== id)),
      devices: Object.fromEntries([...this.#known].map(([id, known]) => [id, { ...known }])),
      replaced: { ...this.#replaced },
    });
  }

  #take({ slots, devices, replaced }: JsonObject): void {
    for (const [id, known] of Object.entries(isJsonObject(devices) ? devices : {})) {
      if (!isJsonObject(known) || typeof known.name !== 'string') continue;
      const { name, serialNumber, isRenamed } = known;
      const own = { serialNumber: typeof serialNumber === 'string' ? serialNumber : undefined };
      this.#known.set(id, given({ name, ...own, isRenamed: isRenamed === true ? true : undefined }));
    }
    for (const [slot, id] of Object.entries(isJsonObject(slots) ? slots : {})) if (typeof id === 'string') this.#inSlot.set(slot, id);
    if (isJsonObject(replaced) && typeof replaced.dayMs === 'number' && typeof replaced.count === 'number')
      this.#replaced = { dayMs: replaced.dayMs, count: replaced.count };
  }
}
