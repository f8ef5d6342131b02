/**
 * Attached devices of the agent, joined (outbox/DEVICES.md):
 *
 *   entries of a device ─▶ devices/outbox ─▶ windows ─▶ fan-out ─┬─▶ platform, with the device's token
 *                                                               └─▶ devices/held/<device> ─▶ uploader of its own
 */
import { join } from 'node:path';
import type { AgentConfig, OutboxConfig } from '../config/schema/agent-config.ts';
import type { Device } from '../devices/device.ts';
import { DeviceNames } from '../devices/device-names.ts';
import { slotCredentials } from '../devices/device-settings.ts';
import { Devices } from '../devices/devices.ts';
import { KNOWN_DEVICES } from '../devices/forget-devices.ts';
import { DEVICE_NAMES_FORMAT } from '../devices/kept-names.ts';
import { gatewayName, permissionBeside } from '../devices/self.ts';
import { messageOf } from '../errors/agent-error.ts';
import { endedWithin, outcomeWithin } from '../host/bounded-wait.ts';
import type { AgentLog } from '../host/log.ts';
import { keepRunning } from '../host/loops.ts';
import type { LinkUploads } from '../link/link.ts';
import { openOutbox } from '../outbox/open-outbox.ts';
import type { BatchLimits, PatientOutbox } from '../outbox/outbox.ts';
import type { PlatformClients } from '../platform/platform-clients.ts';
import type { SharedOutbox } from '../status/shape/device-status.ts';
import { StateFile } from '../store/state-file.ts';
import { FanOut } from '../telemetry/fan-out.ts';
import { HeldDevices, placeName } from '../telemetry/held-devices.ts';
import type { SlotTelemetry, TelemetryPath } from '../telemetry/telemetry-path.ts';
import { Uploader, type UploadSettings } from '../telemetry/uploader.ts';
import type { JsonValue } from '../values/json.ts';
import { loadLinearPatterns } from '../values/linear-pattern.ts';
import { SELF } from '../values/self.ts';
import type { OpenPartsDeps } from './open-parts.ts';

export interface DeviceSlotsDeps extends Pick<OpenPartsDeps, 'machine' | 'timeSync' | 'rightClock'> {
  readonly log: AgentLog;
  readonly config: () => AgentConfig;
  readonly self: Device;
  readonly clients: Pick<PlatformClients, 'equip' | 'ofMany'>;
  /** Resolves when the state folder is this agent's alone. */
  readonly expectFolder: () => Promise<void>;
  readonly presentMs?: () => number;
  readonly telemetry: () => Pick<TelemetryPath, 'uploads'>;
  /** Uploads that the link leaves. */
  readonly link: () => LinkUploads;
  /** Told that the platform was heard, of the device in a slot. */
  readonly onHeard: (slot: string) => void;
  /** Commands and attributes of a device, once it has credentials. */
  readonly beside: (device: Device, names: DeviceNames, signal: AbortSignal) => Promise<void>;
}

/** Beside the gateway's own, attached devices have `outbox.maxBytes` again: for what waits of all, and for those that are held. */
const SHARES = { shared: 2 / 3, held: 1 / 3 };
/** A platform that has restarted may have lost what a held device got last. */
const HELD_RETAIN = { forMs: 120_000, bytes: 1_000_000 };
const MIN_BYTES = 1_000_000;
/** A window is many devices' posts. */
const WINDOW_POSTS = 20;
const MAX_WINDOW_ENTRIES = 40_000;
const MAX_WINDOW_BYTES = 8_000_000;
const LOOK_WITHIN_MS = 5_000;
/** A disk that has not taken an entry by then may never take it. */
const FLUSH_WITHIN_MS = 5_500;

export class DeviceSlots {
  readonly outbox: PatientOutbox;
  readonly names: DeviceNames;
  readonly devices: Devices;
  readonly held: HeldDevices;
  readonly uploader: Uploader;
  readonly #deps: DeviceSlotsDeps;

  private constructor(deps: DeviceSlotsDeps, names: DeviceNames, outbox: PatientOutbox, signal: AbortSignal) {
    const { machine, rightClock: clock, log, self, config } = deps;
    const { files } = machine;
    const { stateFolder } = config();
    this.#deps = deps;
    this.outbox = outbox;
    this.names = names;
    this.devices = new Devices({
      names,
      log,
      files,
      placeName,
      clock,
      randomBytes: machine.randomBytes,
      board: self.board,
      folder: join(stateFolder, KNOWN_DEVICES),
      credentials: (id) =>
        slotCredentials(config(), { slot: names.slotOf(id), name: names.nameOf(id), store: self.store }),
      permission: permissionBeside(self),
      isConnected: () => self.isConnected,
      onAccepted: (id) => {
        for (const slot of names.slotsOf(id)) deps.onHeard(slot);
      },
      beside: async (device, besideSignal) => {
        // It has credentials now: what waits for them is tried at once.
        for (const { device: kept } of this.held.list()) if (names.resolve(kept) === device.id) this.held.retry(kept);
        await deps.beside(device, names, besideSignal);
      },
    });
    const shared = { clock, log, link: deps.link };
    const settings = (): UploadSettings => {
      const { upload, outbox: kept } = config();
      return {
        ...upload,
        backlogRatePerS: kept.backlogRatePerS,
      };
    };
    this.held = new HeldDevices({
      ...shared,
      files,
      settings,
      post: this.devices.post,
      folder: join(stateFolder, 'devices', 'held'),
      openOutbox: (folder) =>
        openOutbox({ ...outboxDeps(deps), stateFolder: folder, config: heldOutbox(config()) }, signal),
    });
    const fanOut = new FanOut({ clock, devices: this.devices, held: this.held, limits: () => postLimits(settings()) });
    this.uploader = new Uploader({
      ...shared,
      outbox,
      settings: () => inWindows(settings()),
      postTelemetry: (rows, postSignal) => deps.telemetry().uploads.measure(() => fanOut.post(rows, postSignal)),
    });
  }

  /** Undefined where the configuration has no devices, and never had. */
  static async open(deps: DeviceSlotsDeps, signal: AbortSignal): Promise<DeviceSlots | undefined> {
    const { machine, rightClock: clock, log, config, self } = deps;
    const { files } = machine;
    const { devices, stateFolder, outbox, provisioning } = config();
    const folder = join(stateFolder, 'devices');
    // A disk that does not answer has none to tell of now.
    const wasThere = (): Promise<boolean> =>
      files.facts(folder).then(
        (facts) => facts !== undefined,
        () => false,
      );
    if (devices.length === 0 && !(await outcomeWithin(clock, LOOK_WITHIN_MS, wasThere, () => false))) return undefined;
    // First, as it sets aside what another board's card has left.
    const share = { ...outbox, maxBytes: shareOf(outbox, SHARES.shared) };
    const sharedOutbox = await openOutbox({ ...outboxDeps(deps), stateFolder: folder, config: share }, signal);
    const hasPattern = devices.some(({ serialNumber }) => serialNumber?.pattern !== undefined);
    const compile = hasPattern ? await loadLinearPatterns() : undefined;
    const file = new StateFile({
      ...DEVICE_NAMES_FORMAT,
      path: join(stateFolder, 'device-names.json'),
      files,
      clock,
      log,
    });
    const names = await DeviceNames.open({
      file,
      clock,
      log,
      gatewayName: () => gatewayName(self, provisioning?.deviceName),
      matches: (pattern, text) => compile?.(`^(?:${pattern})$`).test(text) ?? false,
    });
    names.configure(devices);
    return new DeviceSlots(deps, names, sharedOutbox, signal);
  }

  /** Id of the device of a slot; the gateway's without one. */
  readonly idOf = (slot: string | undefined): string => (slot === undefined ? SELF : this.names.idOf(slot));

  get outboxes(): SlotTelemetry['outboxes'] {
    return [this.outbox, this.held];
  }

  /** Takes a reading, as local rules see it. */
  observe(sensor: string, key: string, value: JsonValue): void {
    this.devices.observe(sensor, key, value);
  }

  /** Speaks with the platform until the signal aborts; what asks it waits until the gateway itself may. */
  async run(signal: AbortSignal): Promise<void> {
    const { rightClock: clock, log } = this.#deps;
    await this.held
      .open()
      .catch((error: unknown) => log.error({ error: messageOf(error) }, 'places of held entries cannot be read'));
    const { clients, self } = this.#deps;
    await clients.equip();
    const way = clients.ofMany;
    this.devices.open({
      ...way,
      provision: async (request, asked) => {
        await self.ready(asked);
        return await way.provision(request, asked);
      },
    });
    const loops = {
      'devices’ credentials': (own: AbortSignal) => this.devices.run(own),
      'devices’ uploads': (own: AbortSignal) => this.uploader.run(own),
      'held devices': (own: AbortSignal) => this.held.run(own),
    };
    await Promise.all(Object.entries(loops).map(([name, run]) => keepRunning({ clock, log, name, run }, signal)));
  }

  /** Sends what can be sent until the signal aborts, and closes the outboxes. */
  async drainAndClose(signal: AbortSignal): Promise<void> {
    await endedWithin(this.#deps.rightClock, FLUSH_WITHIN_MS, this.outbox.flush(), signal);
    if (this.devices.settling() === undefined) await this.uploader.drain(signal);
    await Promise.all([this.outbox.close(), this.held.close(), this.names.close()]);
  }

  /** Counts of what the devices' entries wait in, and of what was lost there. */
  counts(): SharedOutbox {
    const { heldEntries, thinned, dropped, oldestMs, hoursThatFit, fault } = this.outbox.status();
    // Entries of a blocked device, or of one that nobody knows yet, are told as that device's: the delivery of the others is well.
    const isReady = (kept: string): boolean => this.devices.find(this.names.resolve(kept) ?? '')?.state === 'ready';
    const apart = this.held.list().flatMap(({ device, outbox }) => (isReady(device) ? [outbox] : []));
    const oldest = [oldestMs, ...apart.map((outbox) => outbox.oldestMs)].filter((ms) => ms !== undefined);
    return {
      waitingEntries: heldEntries,
      apartEntries: apart.reduce((sum, outbox) => sum + outbox.heldEntries, 0),
      lostEntries: thinned + dropped + this.held.lostEntries,
      connection: this.uploader.state,
      oldestMs: oldest.length === 0 ? undefined : Math.min(...oldest),
      hoursThatFit,
      fault,
    };
  }
}

/** Id under which entries of a slot are kept before its device is known. */
export function idBeforeOpening({ devices }: Pick<AgentConfig, 'devices'>, slot: string): string {
  return devices.find(({ name }) => name === slot)?.serialNumber === undefined ? slot : `?${slot}`;
}

/** Each held device has a share of its own, and thins only itself. */
function heldOutbox({ outbox, devices }: Pick<AgentConfig, 'outbox' | 'devices'>): OutboxConfig {
  const maxBytes = shareOf(outbox, SHARES.held / Math.max(1, devices.length));
  return { ...outbox, maxBytes, retain: HELD_RETAIN };
}

function shareOf({ maxBytes }: OutboxConfig, share: number): number {
  return Math.max(MIN_BYTES, Math.floor(maxBytes * share));
}

function postLimits({ maxBatchEntries, maxBatchBytes }: UploadSettings): BatchLimits {
  return { maxEntries: maxBatchEntries, maxBytes: maxBatchBytes };
}

function inWindows(settings: UploadSettings): UploadSettings {
  return {
    ...settings,
    maxBatchEntries: Math.min(MAX_WINDOW_ENTRIES, settings.maxBatchEntries * WINDOW_POSTS),
    maxBatchBytes: Math.min(MAX_WINDOW_BYTES, settings.maxBatchBytes * WINDOW_POSTS),
  };
}

function outboxDeps({ machine, rightClock: clock, log, timeSync, expectFolder, presentMs }: DeviceSlotsDeps) {
  return { clock, files: machine.files, log, timeSync, expectFolder, presentMs };
}
