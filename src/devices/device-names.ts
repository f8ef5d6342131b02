/**
 * Names of attached devices: which platform device a slot of the configuration is. A slot without a serial number is one device for ever; one
 * with a serial number is the device whose number was read twice alike. What an answer with another number tells is kept under that number.
 *
 *   reading of the serial number ─ twice alike, matches its pattern ─▶ id of this number ─▶ names.json ─▶ entries of the slot
 */
import type { DeviceConfig } from '../config/schema/devices.ts';
import { refusal, retryable } from '../errors/agent-error.ts';
import type { EpochMs } from '../host/clock.ts';
import type { StateFile } from '../store/state-file.ts';
import type { JsonValue } from '../values/json.ts';
import { keepAtMost } from '../values/keep-at-most.ts';
import { filledName, tellsSlot } from './filled-name.ts';
import { HeardNumbers } from './heard-numbers.ts';
import { type KeptNames, type KnownDevice, keptNames, savedNames } from './kept-names.ts';
import { MovedDevices } from './moved-devices.ts';
import { NewPerDay, type NewPerDayDeps } from './new-per-day.ts';

export interface DeviceNamesDeps extends NewPerDayDeps {
  readonly file: StateFile;
  /** The gateway's name on the platform, as far as it is known. */
  readonly gatewayName: () => string;
  /** Matches a whole text against a slot's pattern. */
  readonly matches: (pattern: string, text: string) => boolean;
}

const MAX_KNOWN = 5_000;

export class DeviceNames {
  readonly #deps: DeviceNamesDeps;
  readonly #kept: KeptNames;
  /** Devices that went to another gateway, or came from one. */
  readonly moved: MovedDevices;
  readonly #heard: HeardNumbers;
  #slots: readonly DeviceConfig[] = [];
  readonly #newPerDay: NewPerDay;

  private constructor(deps: DeviceNamesDeps, kept: KeptNames) {
    this.#deps = deps;
    this.#kept = kept;
    this.moved = new MovedDevices({
      kept,
      slots: () => this.#slots,
      slotsOf: (id) => this.slotsOf(id),
      nameOf: (id) => this.nameOf(id),
      idOfNumber: (serialNumber) => this.#idOfNumber(serialNumber, () => true),
      save: () => this.#saveNow(),
    });
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
    for (const { name, serialNumber } of slots)
      if (serialNumber === undefined && !this.#kept.away.has(name)) this.#kept.slots.set(name, name);
    for (const [slot, id] of this.#kept.slots) {
      if (slots.some(({ name }) => name === slot)) continue;
      this.#kept.slots.delete(slot);
      this.#kept.left.set(id, this.#deps.clock.wallMs());
    }
    for (const id of this.#kept.slots.values()) this.#kept.left.delete(id);
    this.#save();
  }

  /** Id of the device in a slot; `?slot` while it is not known which one that is, and `?slot=number` while only its number is, or that went away. */
  idOf(slot: string): string {
    const present = this.#kept.slots.get(slot);
    const heard = this.#heard.last(slot);
    if (present === undefined)
      return heard !== undefined && this.#isAway(slot, heard) ? `?${slot}=${heard}` : `?${slot}`;
    const before = this.serialNumberOf(present);
    if (heard !== undefined && this.doubles(slot) !== undefined) return `?${slot}=${heard}`;
    if (before === undefined || heard === undefined || heard === before) return present;
    const coming = `?${slot}=${heard}`;
    return this.resolve(coming) ?? coming;
  }

  /** Id of the device that entries under `id` belong to: those of a slot that was not identified are its first device's. Undefined while that is not known. */
  resolve(id: string): string | undefined {
    if (!id.startsWith('?')) return id;
    const [, slot = '', serialNumber] = /^\?([^=]*)(?:=(.*))?$/s.exec(id) ?? [];
    if (serialNumber === undefined) {
      const first = this.#kept.first.get(slot);
      // A reading that comes before the slot's number need not be of the device that went.
      return first === undefined || this.#kept.away.has(first) ? this.#kept.slots.get(slot) : first;
    }
    if (this.#heard.last(slot) === serialNumber && this.doubles(slot) !== undefined) return undefined;
    if (this.#isAway(slot, serialNumber)) return undefined;
    const known = this.#idInSlot(slot, serialNumber);
    if (known !== undefined && this.#kept.devices.has(known)) return known;
    const heard = this.#heard.last(slot);
    // A number that was read once, and another one after it, was misread.
    const mayCome = heard === undefined || heard === serialNumber || this.#heard.wasBelieved(slot, serialNumber);
    return mayCome ? undefined : this.#kept.slots.get(slot);
  }

  /** Slot that was the device's before this one, and reads it still: what this one reads is held. Undefined of a slot that is alone with its device. */
  doubles(slot: string): string | undefined {
    const id = this.#kept.slots.get(slot);
    for (const [other, own] of this.#kept.slots) {
      if (other === slot) return undefined;
      if (own === id && this.#heard.isSharedBy(other, slot)) return other;
    }
    return undefined;
  }

  /** Time at which a person removed the device, UTC epoch ms: what was read of it before is given up. */
  removedAtMs(id: string): EpochMs | undefined {
    return this.#kept.removed.get(id);
  }

  /** Devices that were taken out of the configuration, and when that was found, UTC epoch ms. */
  get left(): ReadonlyMap<string, EpochMs> {
    return this.#kept.left;
  }

  /** Ids of the devices in the slots, each once. */
  get present(): readonly string[] {
    return [...new Set(this.#kept.slots.values())];
  }

  /** Slots in which the device is. */
  slotsOf(id: string): readonly string[] {
    const slots = [...this.#kept.slots].filter(([, own]) => own === id).map(([slot]) => slot);
    return slots.filter((slot) => this.doubles(slot) === undefined);
  }

  /** Slots whose device is not known. */
  get unidentified(): readonly DeviceConfig[] {
    return this.#slots.filter(({ name }) => !this.#kept.slots.has(name));
  }

  /** Slots that read the device of another slot, each with that one. */
  get doubled(): ReadonlyMap<string, string> {
    const found = [...this.#kept.slots.keys()].flatMap((slot) => {
      const first = this.doubles(slot);
      return first === undefined ? [] : [[slot, first] as const];
    });
    return new Map(found);
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
    return this.#kept.devices.get(id)?.serialNumber;
  }

  /** Name that the device is provisioned under. */
  nameOf(id: string): string {
    const known = this.#kept.devices.get(id);
    const slot = this.#slots.find(({ name }) => name === id);
    if (known !== undefined || slot === undefined) return known?.name ?? id;
    return this.#filled(slot, undefined) ?? id;
  }

  /** Name for people: the one that somebody gave it here, else the one that the platform knows. */
  shownName(id: string, onPlatform: string | undefined): string {
    return this.#kept.devices.get(id)?.isRenamed === true ? this.nameOf(id) : (onPlatform ?? this.nameOf(id));
  }

  /** Gives a device another name here. */
  rename(id: string, name: string): void {
    // In a template braces would be placeholders.
    const plain = name.replace(/[{}]/g, '').trim();
    if (plain === '') throw refusal('provisioning/bad-request', 'a name needs more than braces');
    this.#kept.devices.set(id, { ...this.#kept.devices.get(id), name: plain, isRenamed: true });
    this.#save();
  }

  /** Forgets a device, and gives up what was read of it until now. */
  forget(id: string): void {
    this.#kept.devices.delete(id);
    this.#kept.left.delete(id);
    this.#kept.removed.set(id, this.#deps.clock.wallMs());
    keepAtMost(this.#kept.removed, MAX_KNOWN);
    this.#save();
  }

  /** Resolves when what is known is durable, or could not be made so. Idempotent. */
  close(): Promise<void> {
    return this.#deps.file.close();
  }

  /** True of a reading that tells some slot's serial number. */
  isNumber(sensor: string, key: string): boolean {
    return this.#slots.some((slot) => isNumberOf(slot, sensor, key));
  }

  /** Takes a reading; returns the slots whose device is another from now on. */
  observe(sensor: string, key: string, value: JsonValue): readonly string[] {
    const slots = this.#slots.filter((slot) => isNumberOf(slot, sensor, key));
    return slots.filter((slot) => this.#identify(slot, this.#heard.hear(slot, value))).map(({ name }) => name);
  }

  #identify(slot: DeviceConfig, serialNumber: string | undefined): boolean {
    if (serialNumber === undefined) return false;
    const before = this.#kept.slots.get(slot.name);
    const known = before === undefined ? undefined : this.#kept.devices.get(before);
    if (known?.serialNumber === serialNumber) {
      this.#newPerDay.settle(slot.name);
      return false;
    }
    if (before !== undefined && known?.isTaken === true && known.serialNumber === undefined) {
      // Where it came from nobody read its number.
      this.#kept.devices.set(before, { ...known, serialNumber });
      this.#save();
      return false;
    }
    const id = this.#idFor(slot, serialNumber);
    if (id === undefined) return false;
    if (this.#kept.away.has(id)) {
      if (this.#kept.slots.delete(slot.name)) this.#save();
      return before !== undefined;
    }
    if (!this.#kept.devices.has(id)) {
      // The first device of a slot takes nobody's place, and one that was forgotten takes its own.
      const isComing = before !== undefined && before !== id && !this.#kept.removed.has(id);
      if (isComing && !this.#newPerDay.mayReplace(slot.name, this.#slots.length)) return false;
      if (this.#kept.devices.size >= MAX_KNOWN) return false;
      this.#kept.devices.set(id, { name: id, serialNumber });
      this.#save();
    }
    this.#newPerDay.settle(slot.name);
    if (id === before) return false;
    if (before === undefined) this.#kept.first.set(slot.name, id);
    // The newest stands last: of two slots that read one device the first keeps it.
    this.#kept.slots.delete(slot.name);
    this.#kept.slots.set(slot.name, id);
    this.#deps.log.info(
      { slot: slot.name, device: id, serialNumber, before },
      'a device was identified by its serial number',
    );
    this.#save();
    return true;
  }

  /** True of a number whose device went to another gateway. */
  #isAway(slot: string, serialNumber: string): boolean {
    const id = this.#idInSlot(slot, serialNumber);
    return id !== undefined && this.#kept.away.has(id);
  }

  #idInSlot(slot: string, serialNumber: string): string | undefined {
    const settings = this.#slots.find(({ name }) => name === slot);
    return settings === undefined ? undefined : this.#idFor(settings, serialNumber);
  }

  /** A number that is known keeps its id, unless its name tells the slot, too. */
  #idFor(slot: DeviceConfig, serialNumber: string): string | undefined {
    const filled = this.#filled(slot, serialNumber);
    if (filled === undefined) return undefined;
    if (this.#kept.devices.has(filled)) return filled;
    const known = this.#idOfNumber(serialNumber, ({ isTaken }) => isTaken === true || !tellsSlot(slot));
    // Names of slots are ids of their own.
    return known ?? (this.#slots.some(({ name }) => name === filled) ? `${filled} (${slot.name})` : filled);
  }

  #idOfNumber(serialNumber: string, fits: (known: KnownDevice) => boolean): string | undefined {
    return [...this.#kept.devices].find(([, known]) => known.serialNumber === serialNumber && fits(known))?.[0];
  }

  #filled(slot: DeviceConfig, serialNumber: string | undefined): string | undefined {
    const { gatewayName, log } = this.#deps;
    const name = filledName(slot, { gateway: gatewayName(), serialNumber });
    if (name === undefined)
      log.error({ slot: slot.name }, 'the device name of this slot is empty or too long with what it is filled with');
    return name;
  }

  #save(): void {
    this.#deps.file.save(savedNames(this.#kept, this.#newPerDay.replaced));
  }

  async #saveNow(): Promise<void> {
    this.#save();
    await this.#deps.file.flush();
    if (!this.#deps.file.isSaved)
      throw retryable('host/write-failed', 'the disk does not take it now: it is tried again');
  }
}

function isNumberOf({ serialNumber }: DeviceConfig, sensor: string, key: string): boolean {
  return serialNumber !== undefined && serialNumber.sensor === sensor && serialNumber.key === key;
}
