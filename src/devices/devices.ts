/**
 * All attached devices of this gateway: those in the slots of the configuration, and those that were taken out of it and still hold entries. Made
 * when their names are known, each with credentials of its own in `known/<hash>/`.
 */
import { join } from 'node:path';
import { refusal } from '../errors/agent-error.ts';
import { keepRunning, runTogether } from '../host/loops.ts';
import type { EntryColumns } from '../outbox/outbox.ts';
import type { UploadAnswer } from '../platform/device-api.ts';
import type { DeviceWay } from '../platform/platform-clients.ts';
import type { JsonValue } from '../values/json.ts';
import { Device, type DeviceDeps, type Permission } from './device.ts';
import type { DeviceNames } from './device-names.ts';
import type { CredentialsSettings } from './obtain-credentials.ts';

export interface DevicesDeps extends Omit<DeviceDeps, 'way' | 'alerts' | 'prepare' | 'permission'> {
  readonly names: DeviceNames;
  /** Folder with a folder for each device. */
  readonly folder: string;
  readonly placeName: (device: string) => string;
  /** Permission that all of them have. */
  readonly permission: Permission;
  /** True once the gateway may speak to the platform: no device does before. */
  readonly isConnected: () => boolean;
  /** Settings of the credentials of a device in a slot; undefined of one that is in none. @throws AgentError (hold) while a file of them is missing. */
  readonly credentials: (id: string) => CredentialsSettings | undefined;
  /** Runs beside a device, from when it has credentials until the signal aborts. */
  readonly beside: (device: Device, signal: AbortSignal) => Promise<void>;
}

interface Running {
  readonly device: Device;
  readonly ended: AbortController;
  run: Promise<void>;
}

/** Devices that are provisioned side by side. */
const PROVISIONED_AT_ONCE = 4;
/** So long after the start one that has no credentials is waited for where others have: as long as a slow one is. Then its entries are held apart. */
const PROVISIONED_WITHIN_MS = 5_000;
/** So long after the start the first device is waited for that is identified: its entries need no place of their own. */
const IDENTIFIED_WITHIN_MS = 60_000;

export class Devices {
  readonly #deps: DevicesDeps;
  readonly #devices = new Map<string, Running>();
  /** Devices that are ending: a new one of the same id waits for it. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Devices whose files are being changed: nobody makes them meanwhile. */
  readonly #changing = new Set<string>();
  #way: DeviceWay | undefined;
  #openedAtMs = 0;
  #signal: AbortSignal | undefined;
  #provisioning = 0;
  readonly #turns: (() => void)[] = [];

  constructor(deps: DevicesDeps) {
    this.#deps = deps;
  }

  /** Begins to speak to the platform: its certificates are read. */
  open(way: DeviceWay): void {
    const turned: DeviceWay['provision'] = (request, signal) => this.#inTurn(() => way.provision(request, signal));
    this.#way = { ...way, provision: turned };
    this.#openedAtMs = this.#deps.clock.monotonicMs();
    this.remake();
  }

  /** Devices that were made, each with what is known of it. */
  get list(): readonly Device[] {
    return [...this.#devices.values()].map(({ device }) => device);
  }

  find(id: string): Device | undefined {
    return this.#devices.get(id)?.device;
  }

  /** @throws AgentError `provisioning/no-such-device` (drop) for one that is not identified, or not made yet. */
  expect(id: string): Device {
    const found = this.find(id);
    if (found === undefined)
      throw refusal(
        'provisioning/no-such-device',
        'this device is not there yet: the gateway’s way to the platform, or its serial number, comes first',
      );
    return found;
  }

  /** Says why no window is sent yet, in words; undefined when it can be. */
  readonly settling = (): string | undefined => {
    const { names, clock, isConnected } = this.#deps;
    if (this.#way === undefined || !isConnected()) return 'attached devices wait for the way to the platform';
    const states = new Set(this.list.map(({ state }) => state));
    const isNobodyReady = !states.has('ready') && !states.has('blocked');
    const sinceOpenedMs = clock.monotonicMs() - this.#openedAtMs;
    const isSettling = states.has('provisioning')
      ? isNobodyReady || sinceOpenedMs < PROVISIONED_WITHIN_MS
      : isNobodyReady && names.unidentified.length > 0 && sinceOpenedMs < IDENTIFIED_WITHIN_MS;
    return isSettling ? 'attached devices are being provisioned' : undefined;
  };

  /** Posts entries that were kept under a device's id, or under a slot whose device was not known. */
  readonly post = async (kept: string, rows: EntryColumns, signal: AbortSignal): Promise<UploadAnswer> => {
    const id = this.#deps.names.resolve(kept);
    if (id === undefined)
      return { kind: 'unauthorised', status: 0, text: 'the serial number of its device is not known yet' };
    if (this.#changing.has(id)) return { kind: 'busy', status: 0, text: 'its credentials are being changed' };
    const removedAtMs = this.#deps.names.removedAtMs(id);
    const left = removedAtMs === undefined ? rows : rows.where((row) => (rows.ts[row] as number) > removedAtMs);
    if (left.length < rows.length)
      this.#deps.log.warn(
        { device: id, entries: rows.length - left.length },
        'entries of a removed device are given up',
      );
    return left.length === 0 ? { kind: 'accepted' } : await this.#make(id).deviceApi.postTelemetry(left, signal);
  };

  /** Takes a reading that may be a serial number. */
  observe(sensor: string, key: string, value: JsonValue): void {
    const { names } = this.#deps;
    if (!names.isNumber(sensor, key)) return;
    const before = new Map([...this.#devices.keys()].map((id) => [id, names.slotsOf(id).join()]));
    if (names.observe(sensor, key, value).length === 0 || this.#way === undefined) return;
    // One that is in no slot any more has nothing to command, and one that came back has: both are made anew.
    for (const [id, slots] of before) if (names.slotsOf(id).join() !== slots) void this.end(id);
    this.remake();
  }

  /** Keeps the devices' credentials until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const one of this.#devices.values()) this.#start(one, signal);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.all([...this.#devices.values()].map(({ run }) => run));
  }

  /** Ends a device; the next use makes it anew. Resolves when nothing of it runs. */
  end(id: string): Promise<void> {
    const running = this.#devices.get(id);
    if (running === undefined) return this.#ending.get(id) ?? Promise.resolve();
    this.#devices.delete(id);
    running.ended.abort();
    const ending = running.run.then(() => running.device.deviceApi.close());
    this.#ending.set(id, ending);
    return ending;
  }

  /** Ends a device, changes what is kept of it, and makes it anew where it is in a slot. @throws what the change throws. */
  async change(id: string, change: () => Promise<void> | void): Promise<void> {
    this.#changing.add(id);
    try {
      await this.end(id);
      await change();
    } finally {
      this.#changing.delete(id);
      this.remake();
    }
  }

  /** Makes the devices in the slots that are not there. */
  remake(): void {
    if (this.#way === undefined) return;
    for (const id of this.#deps.names.present) if (!this.#changing.has(id)) this.#make(id);
  }

  #make(id: string): Device {
    const known = this.#devices.get(id);
    if (known !== undefined) return known.device;
    const { names, placeName, credentials, permission } = this.#deps;
    if (this.#way === undefined) throw new Error('attached devices are made before there is a way to the platform');
    const folder = join(this.#deps.folder, placeName(id));
    const device = new Device(
      { ...this.#deps, way: this.#way, permission: () => permission },
      { id, name: names.nameOf(id), folder, credentials: () => credentials(id) },
    );
    const running: Running = { device, ended: new AbortController(), run: Promise.resolve() };
    this.#devices.set(id, running);
    if (this.#signal !== undefined) this.#start(running, this.#signal);
    return device;
  }

  #start(running: Running, signal: AbortSignal): void {
    const { clock, log, files, beside } = this.#deps;
    const { device, ended } = running;
    const before = this.#ending.get(device.id);
    const run = async (either: AbortSignal): Promise<void> => {
      await before;
      await files.makeFolder(device.folder);
      const work = async (own: AbortSignal): Promise<void> => {
        await device.ready(own);
        await beside(device, own);
      };
      await runTogether([(own) => device.run(own), work], either);
    };
    const either = AbortSignal.any([signal, ended.signal]);
    running.run = keepRunning({ clock, log, name: `credentials of ${device.id}`, run }, either);
  }

  /** A few at once: the first start of a hundred devices is spread. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#provisioning >= PROVISIONED_AT_ONCE) await new Promise<void>((resolve) => this.#turns.push(resolve));
    else this.#provisioning += 1;
    try {
      return await work();
    } finally {
      const next = this.#turns.shift();
      if (next === undefined) this.#provisioning -= 1;
      else next();
    }
  }
}
