/** Status of attached devices, and the requests of people about them. */
import { join } from 'node:path';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { Device } from '../devices/device.ts';
import { DeviceNames } from '../devices/device-names.ts';
import { KNOWN_DEVICES } from '../devices/forget-devices.ts';
import { DEVICE_NAMES_FORMAT } from '../devices/kept-names.ts';
import { leaveDevice, type MoveDeviceDeps, packDevice, takeDevice } from '../devices/move-device.ts';
import { namedDevice } from '../devices/named-device.ts';
import { refusal } from '../errors/agent-error.ts';
import type { BoardIdentity } from '../host/identity.ts';
import type { AgentLog } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { DevicesControl } from '../operations/device-operations.ts';
import type { EntryQuery, OutboxStatus, ResolvedEntry } from '../outbox/outbox.ts';
import { isBehind } from '../status/platform-status.ts';
import type { DeviceStatus } from '../status/shape/device-status.ts';
import { removeTreeDurably } from '../store/durable-file.ts';
import { StateFile } from '../store/state-file.ts';
import { placeName } from '../telemetry/held-devices.ts';
import type { DeviceSlots } from './device-slots.ts';

export interface SlotsControlDeps {
  /** Undefined where the configuration has no devices. */
  readonly slots: DeviceSlots | undefined;
  readonly config: () => AgentConfig;
  readonly machine: Pick<HostMachine, 'clock' | 'files' | 'randomBytes'>;
  readonly log: AgentLog;
  readonly board: BoardIdentity;
}

type Held = Pick<DeviceStatus, 'heldEntries' | 'reason' | 'isBehind'>;

export class SlotsControl implements DevicesControl {
  readonly #deps: SlotsControlDeps;
  /** Monotonic ms of the start, told of devices without a state of their own. */
  readonly #since: number;
  /** Sensors of each slot. */
  #counted: { readonly of: AgentConfig['sensors']; readonly counts: ReadonlyMap<string, number> } | undefined;

  constructor(deps: SlotsControlDeps) {
    this.#deps = deps;
    this.#since = deps.machine.clock.monotonicMs();
  }

  readonly list = (): readonly DeviceStatus[] => {
    const { slots } = this.#deps;
    if (slots === undefined) return [];
    const { names, devices, held } = slots;
    const places = new Map<string, Held>();
    for (const { device: kept, outbox, uploader, why } of held.list()) {
      const id = names.resolve(kept) ?? unidentifiedId(kept, names);
      const heldEntries = outbox.heldEntries + (outbox.deadLetters ?? 0) + (places.get(id)?.heldEntries ?? 0);
      const reason = heldEntries === 0 ? undefined : (uploader.reason ?? why);
      const isLate = places.get(id)?.isBehind === true || this.#isBehind(outbox);
      places.set(id, { heldEntries, isBehind: isLate || undefined, reason });
    }
    const present = names.present.map((id) => this.#status(id, devices.find(id), places.get(id)));
    const unidentified = names.unidentified.map(({ name, label }) =>
      this.#unidentified(name, label, places.get(`?${name}`)),
    );
    const doubled = [...names.doubled].map(([slot, first]) => this.#doubled(slot, first, places));
    const ids = new Set([...present, ...unidentified, ...doubled].map(({ id }) => id));
    const { heldEntries = 0, oldestMs = 0 } = slots.outbox.status();
    const left =
      heldEntries === 0 ? [] : [...names.left].filter(([, leftAtMs]) => oldestMs <= leftAtMs).map(([id]) => id);
    const gone = [...new Set([...places.keys(), ...names.moved.away, ...left])].filter((id) => !ids.has(id));
    const removed = gone.map((id) =>
      // An id of a slot and a serial number that is not confirmed yet.
      id.startsWith('?') && id.includes('=')
        ? { ...this.#unidentified(id.slice(1), undefined, places.get(id)), slots: [] }
        : this.#removed(
            id,
            devices.find(id),
            places.get(id) ?? { heldEntries: 0, ...(left.includes(id) && { reason: WAITS_WITH_OTHERS }) },
          ),
    );
    return [...present, ...unidentified, ...doubled, ...removed];
  };

  readonly named: DevicesControl['named'] = (text) => namedDevice(this.list(), text);

  readonly claim: DevicesControl['claim'] = (id, request, signal) => this.#device(id).claim(request, signal);

  readonly rotate: DevicesControl['rotate'] = async (id, accessToken) => {
    const device = this.#device(id);
    const { devices, held, names } = this.#slots;
    if (await device.enterToken(accessToken)) await devices.change(id, () => {});
    for (const { device: kept } of held.list()) if (names.resolve(kept) === id) held.retry(kept);
  };

  readonly remove: DevicesControl['remove'] = async (id) => {
    const { machine } = this.#deps;
    const { devices, held, names } = this.#slots;
    await devices.change(id, async () => {
      await removeTreeDurably(machine.files, join(this.#folder, placeName(id)));
      names.forget(id);
      for (const { device: kept } of held.list())
        if (kept === id || (names.resolve(kept) ?? unidentifiedId(kept, names)) === id) await held.discard(kept);
    });
  };

  readonly rename: DevicesControl['rename'] = async (id, name) => {
    const { devices, names } = this.#slots;
    await devices.change(id, () => names.rename(id, name));
  };

  readonly pack: DevicesControl['pack'] = (id, passphrase) => packDevice(this.#moves(), id, passphrase);

  readonly leave: DevicesControl['leave'] = (id) => leaveDevice(this.#moves(), id);

  readonly take: DevicesControl['take'] = async (arrival) => {
    const slots = this.#deps.config().devices;
    if (this.#deps.slots !== undefined) return takeDevice(this.#moves(), arrival, slots);
    const names = await this.#firstNames();
    // No slot runs that would have to be ended: the device's slot comes with the next start.
    const devices = {
      find: () => undefined,
      end: async () => {},
      change: async (_id: string, change: () => Promise<void> | void) => change(),
    };
    return takeDevice(this.#moves({ names, devices }), arrival, slots).finally(() => names.close());
  };

  /** Entries that are still kept of the device in a slot, delivered or not. */
  async *read(slot: string, query: EntryQuery, signal: AbortSignal): AsyncGenerator<ResolvedEntry> {
    const { slots } = this.#deps;
    if (slots === undefined) return;
    const ids = new Set(this.idsOf(slot));
    for await (const entry of slots.outbox.read(query, signal)) if (ids.has(entry.device)) yield entry;
  }

  /** Returns the ids of a slot's entries: of its device, of a device whose serial number is not confirmed yet, and from before the identification. */
  idsOf(slot: string): readonly string[] {
    const names = this.#deps.slots?.names;
    const present = names?.present.filter((id) => names.slotsOf(id).includes(slot)) ?? [];
    return [...new Set([...present, names?.idOf(slot) ?? `?${slot}`, `?${slot}`])];
  }

  #moves({ names, devices }: Pick<MoveDeviceDeps, 'names' | 'devices'> = this.#slots): MoveDeviceDeps {
    const { machine, log, board } = this.#deps;
    return { machine, log, board, names, devices, placeName, folder: this.#folder };
  }

  /** Opens the names for a device that comes before the configuration has any. */
  #firstNames(): Promise<DeviceNames> {
    const { machine, log, board, config } = this.#deps;
    const { clock, files } = machine;
    const path = join(config().stateFolder, 'device-names.json');
    const file = new StateFile({ ...DEVICE_NAMES_FORMAT, path, files, clock, log });
    return DeviceNames.open({ file, clock, log, gatewayName: () => board.hostname, matches: () => false });
  }

  get #folder(): string {
    return join(this.#deps.config().stateFolder, KNOWN_DEVICES);
  }

  get #slots(): DeviceSlots {
    const { slots } = this.#deps;
    if (slots === undefined)
      throw refusal(
        'provisioning/no-such-device',
        'there are no attached devices: the first stands under devices: in the configuration',
      );
    return slots;
  }

  /** @throws AgentError `provisioning/no-such-device` (drop). */
  #device(id: string): Device {
    return this.#slots.devices.expect(id);
  }

  #status(id: string, device: Device | undefined, place: Held | undefined): DeviceStatus {
    const { names } = this.#slots;
    const slots = names.slotsOf(id);
    return {
      id,
      slots,
      name: names.shownName(id, device?.name),
      state: device?.state ?? 'provisioning',
      sinceMs: device?.sinceMs ?? this.#since,
      reason:
        device?.reason ?? place?.reason ?? (slots.some((slot) => names.waitsForTomorrow(slot)) ? TOO_MANY : undefined),
      heldEntries: place?.heldEntries ?? 0,
      isBehind: place?.isBehind,
      acceptedEntries: device?.acceptedEntries ?? 0,
      sensors: this.#sensors(slots),
      lastAcceptedAtMs: device?.lastAcceptedAtMs,
      label: names.slotOf(id)?.label,
      tokenIn: device?.tokenIn,
    };
  }

  #isBehind({ heldEntries, oldestMs }: OutboxStatus): boolean {
    const { machine, config } = this.#deps;
    if (heldEntries === 0 || oldestMs === undefined) return false;
    return isBehind(machine.clock.wallMs() - oldestMs, config().upload.intervalMs);
  }

  #unidentified(slot: string, label: string | undefined, place: Held | undefined): DeviceStatus {
    return {
      ...this.#bareSlot(slot, place),
      id: `?${slot}`,
      state: 'unidentified',
      label,
      reason: this.#slots.names.moved.isLeft(slot) ? LEFT : undefined,
    };
  }

  /** A slot that reads the device of another: what it reads waits, until the two are told apart. */
  #doubled(slot: string, sharesWith: string, places: ReadonlyMap<string, Held>): DeviceStatus {
    const id = this.#slots.names.idOf(slot);
    return { ...this.#bareSlot(slot, places.get(id)), id, state: 'blocked', sharesWith };
  }

  /** Facts of a slot that is no device yet. */
  #bareSlot(slot: string, place: Held | undefined): Omit<DeviceStatus, 'id' | 'state'> {
    return {
      name: slot,
      slots: [slot],
      sinceMs: this.#since,
      heldEntries: place?.heldEntries ?? 0,
      acceptedEntries: 0,
      sensors: this.#sensors([slot]),
    };
  }

  #removed(id: string, device: Device | undefined, place: Held): DeviceStatus {
    return {
      id,
      name: this.#slots.names.shownName(id, device?.name),
      slots: [],
      state: 'removed',
      sinceMs: device?.sinceMs ?? this.#since,
      goneBy: this.#goneBy(id),
      heldEntries: place.heldEntries,
      acceptedEntries: device?.acceptedEntries ?? 0,
      sensors: 0,
      lastAcceptedAtMs: device?.lastAcceptedAtMs,
      reason: device?.reason ?? place.reason,
    };
  }

  #goneBy(id: string): DeviceStatus['goneBy'] {
    const { names } = this.#slots;
    if (names.moved.away.includes(id)) return 'move';
    return names.left.has(id) || id.startsWith('?') ? undefined : 'swap';
  }

  #sensors(slots: readonly string[]): number {
    const { sensors } = this.#deps.config();
    if (this.#counted?.of !== sensors) {
      const counts = new Map<string, number>();
      for (const { device, enabled } of sensors)
        if (enabled && device !== undefined) counts.set(device, (counts.get(device) ?? 0) + 1);
      this.#counted = { of: sensors, counts };
    }
    const { counts } = this.#counted;
    return slots.reduce((sum, slot) => sum + (counts.get(slot) ?? 0), 0);
  }
}

/** Returns the id that kept entries are listed under: those of a slot without a device belong to the slot. */
function unidentifiedId(kept: string, { unidentified }: DeviceNames): string {
  const slot = unidentified.find(({ name }) => kept.startsWith(`?${name}=`));
  return slot === undefined ? kept : `?${slot.name}`;
}

const LEFT = 'the device of this slot went to another gateway';
const TOO_MANY = 'another device is in its slot, and waits until tomorrow: many were new today';
const WAITS_WITH_OTHERS = 'what was read of it waits with that of the others';
