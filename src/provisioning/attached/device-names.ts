/**
 * Names of attached devices: which platform device a slot of the configuration is. A slot without a serial number is one device for ever; one
 * with a serial number is the device whose number was read twice alike, and until then the last one known.
 *
 *   reading of the serial number ─ twice alike, matches its pattern ─▶ id of this number ─▶ names.json ─▶ entries of the slot
 */
import type { DeviceConfig } from '../../config/schema/devices.ts';
import { retryable } from '../../errors/agent-error.ts';
import type { JsonValue } from '../../host/json.ts';
import type { StateFile } from '../../host/state-file.ts';
import { filledName, tellsSlot } from './filled-name.ts';
import { HeardNumbers } from './heard-numbers.ts';
import { type KeptNames, type KnownDevice, keptNames } from './kept-names.ts';
import { NewPerDay, type NewPerDayDeps } from './new-per-day.ts';

export interface DeviceNamesDeps extends NewPerDayDeps {
  readonly file: StateFile;
  /** The gateway's name on the platform, as far as it is known. */
  readonly gatewayName: () => string;
  /** Matches a whole text against a slot's pattern. */
  readonly matches: (pattern: string, text: string) => boolean;
}

/** A device that comes from another gateway. */
export type ComingDevice = Pick<KnownDevice, 'name' | 'serialNumber'>;

const MAX_KNOWN = 5_000;

export class DeviceNames {
  readonly #deps: DeviceNamesDeps;
  /** By id. */
  readonly #known: Map<string, KnownDevice>;
  /** Id of the device that is in a slot. */
  readonly #inSlot: Map<string, string>;
  /** Slot that a device was in before it went to another gateway, by id. */
  readonly #away: Map<string, string>;
  readonly #heard: HeardNumbers;
  #slots: readonly DeviceConfig[] = [];
  readonly #newPerDay: NewPerDay;

  private constructor(deps: DeviceNamesDeps, kept: KeptNames) {
    this.#deps = deps;
    this.#known = new Map(kept.devices);
    this.#inSlot = new Map(kept.slots);
    this.#away = new Map(kept.away);
    this.#heard = new HeardNumbers(deps.matches);
    this.#newPerDay = new NewPerDay(deps, kept.replaced);
  }

  /** Reads what was known at the last start. */
  static async open(deps: DeviceNamesDeps): Promise<DeviceNames> {
    return new DeviceNames(deps, keptNames((await deps.file.read()) ?? {}));
  }

  /** Takes the slots of the configuration; a slot without a serial number is the device of its own name. */
  configure(slots: readonly DeviceConfig[]): void {
    this.#slots = slots;
    for (const { name, serialNumber } of slots) if (serialNumber === undefined && !this.#away.has(name)) this.#inSlot.set(name, name);
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
    return this.#newPerDay.waits(slot);
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

  /** Ids of devices that went to another gateway and are not forgotten. */
  get away(): readonly string[] {
    return [...this.#away.keys()].filter((id) => this.#known.has(id));
  }

  /** True of a slot whose device went to another gateway. */
  isLeft(slot: string): boolean {
    return !this.#inSlot.has(slot) && [...this.#away.values()].includes(slot);
  }

  /** Takes a device out of its slots, whatever is read there: it goes to another gateway. @throws AgentError `host/write-failed` (retry). */
  async leave(id: string): Promise<void> {
    const slots = this.slotsOf(id);
    this.#known.set(id, this.#known.get(id) ?? { name: this.nameOf(id) });
    this.#away.set(id, slots[0] ?? id);
    for (const slot of slots) this.#inSlot.delete(slot);
    await this.#saveNow();
  }

  /** Id that a device from another gateway gets in a slot, which need not stand in the configuration yet. */
  idOfComing(slot: string, { name, serialNumber }: ComingDevice): string {
    const settings = this.#slots.find((one) => one.name === slot);
    if (settings === undefined ? serialNumber === undefined : settings.serialNumber === undefined) return slot;
    const known = serialNumber === undefined ? this.#inSlot.get(slot) : this.#idOfNumber(serialNumber, () => true);
    return known ?? (this.#slots.some((one) => one.name === name) ? `${name} (${slot})` : name);
  }

  /** Takes a device that comes from another gateway; its serial number, where it has one, says which slot it is in. @throws as `leave`. */
  async take(slot: string, coming: ComingDevice): Promise<void> {
    const id = this.idOfComing(slot, coming);
    this.#away.delete(id);
    this.#known.set(id, { ...coming, isTaken: true });
    const settings = this.#slots.find((one) => one.name === slot);
    if (settings !== undefined && (id === slot || coming.serialNumber === undefined)) this.#inSlot.set(slot, id);
    await this.#saveNow();
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
    return slots.filter((slot) => this.#identify(slot, this.#heard.hear(slot, value))).map(({ name }) => name);
  }

  #identify(slot: DeviceConfig, serialNumber: string | undefined): boolean {
    if (serialNumber === undefined) return false;
    const before = this.#inSlot.get(slot.name);
    const known = before === undefined ? undefined : this.#known.get(before);
    if (known?.serialNumber === serialNumber) {
      this.#newPerDay.settle(slot.name);
      return false;
    }
    if (before !== undefined && known?.isTaken === true && known.serialNumber === undefined) {
      // Where it came from nobody read its number.
      this.#known.set(before, { ...known, serialNumber });
      this.#save();
      return false;
    }
    const id = this.#idFor(slot, serialNumber);
    if (id === undefined || id === before) return false;
    if (this.#away.has(id)) {
      if (this.#inSlot.delete(slot.name)) this.#save();
      return before !== undefined;
    }
    if (!this.#known.has(id)) {
      // The first device of a slot takes nobody's place.
      if (before !== undefined && !this.#newPerDay.mayReplace(slot.name)) return false;
      if (this.#known.size >= MAX_KNOWN) return false;
      this.#known.set(id, { name: id, serialNumber });
    }
    this.#newPerDay.settle(slot.name);
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
    const known = this.#idOfNumber(serialNumber, ({ isTaken }) => isTaken === true || !tellsSlot(slot));
    // Names of slots are ids of their own.
    return known ?? (this.#slots.some(({ name }) => name === filled) ? `${filled} (${slot.name})` : filled);
  }

  #idOfNumber(serialNumber: string, fits: (known: KnownDevice) => boolean): string | undefined {
    return [...this.#known].find(([, known]) => known.serialNumber === serialNumber && fits(known))?.[0];
  }

  #filled(slot: DeviceConfig, serialNumber: string | undefined): string | undefined {
    const { gatewayName, log } = this.#deps;
    const name = filledName(slot, { gateway: gatewayName(), serialNumber });
    if (name === undefined) log.error({ slot: slot.name }, 'the device name of this slot is empty or too long with what it is filled with');
    return name;
  }

  #save(): void {
    this.#deps.file.save({
      slots: Object.fromEntries([...this.#inSlot].filter(([slot, id]) => slot !== id)),
      devices: Object.fromEntries([...this.#known].map(([id, known]) => [id, { ...known }])),
      ...(this.#away.size > 0 && { away: Object.fromEntries(this.#away) }),
      replaced: { ...this.#newPerDay.replaced },
    });
  }

  async #saveNow(): Promise<void> {
    this.#save();
    await this.#deps.file.flush();
    if (!this.#deps.file.isSaved) throw retryable('host/write-failed', 'the disk does not take it now: it is tried again');
  }
}
