/** Devices that move between gateways: one that went is in none of the slots here, whatever is read there, and one that came is known by its name. */
import type { DeviceConfig } from '../config/schema/devices.ts';
import type { KeptNames, KnownDevice } from './kept-names.ts';

export interface MovedDevicesDeps {
  readonly kept: KeptNames;
  /** Slots of the configuration. */
  readonly slots: () => readonly DeviceConfig[];
  readonly slotsOf: (id: string) => readonly string[];
  readonly nameOf: (id: string) => string;
  readonly idOfNumber: (serialNumber: string) => string | undefined;
  /** @throws AgentError `host/write-failed` (retry). */
  readonly save: () => Promise<void>;
}

/** A device that comes from another gateway. */
export type ComingDevice = Pick<KnownDevice, 'name' | 'serialNumber'>;

export class MovedDevices {
  readonly #deps: MovedDevicesDeps;

  constructor(deps: MovedDevicesDeps) {
    this.#deps = deps;
  }

  /** Ids of devices that went to another gateway and are not forgotten. */
  get away(): readonly string[] {
    return [...this.#deps.kept.away.keys()].filter((id) => this.#deps.kept.devices.has(id));
  }

  /** True of a slot whose device went to another gateway. */
  isLeft(slot: string): boolean {
    return !this.#deps.kept.slots.has(slot) && [...this.#deps.kept.away.values()].includes(slot);
  }

  /** Takes a device out of its slots, whatever is read there: it goes to another gateway. @throws AgentError `host/write-failed` (retry). */
  async leave(id: string): Promise<void> {
    const slots = this.#deps.slotsOf(id);
    this.#deps.kept.devices.set(id, this.#deps.kept.devices.get(id) ?? { name: this.#deps.nameOf(id) });
    this.#deps.kept.away.set(id, slots[0] ?? id);
    for (const slot of slots) this.#deps.kept.slots.delete(slot);
    await this.#deps.save();
  }

  /** Id that a device from another gateway gets in a slot, which need not stand in the configuration yet. */
  idOfComing(slot: string, { name, serialNumber }: ComingDevice): string {
    const settings = this.#deps.slots().find((one) => one.name === slot);
    if (settings === undefined ? serialNumber === undefined : settings.serialNumber === undefined) return slot;
    const known = serialNumber === undefined ? this.#deps.kept.slots.get(slot) : this.#deps.idOfNumber(serialNumber);
    return known ?? (this.#deps.slots().some((one) => one.name === name) ? `${name} (${slot})` : name);
  }

  /** Takes a device that comes from another gateway; its serial number, where it has one, says which slot it is in. @throws as `leave`. */
  async take(slot: string, coming: ComingDevice): Promise<void> {
    const id = this.idOfComing(slot, coming);
    this.#deps.kept.away.delete(id);
    this.#deps.kept.devices.set(id, { ...coming, isTaken: true });
    const settings = this.#deps.slots().find((one) => one.name === slot);
    if (settings !== undefined && (id === slot || coming.serialNumber === undefined))
      this.#deps.kept.slots.set(slot, id);
    await this.#deps.save();
  }
}
