/**
 * Updates of one device, the gateway or another: its own offers, told in its own telemetry, with journals in its own folder. A file is installed by
 * the command of a handler of this device; the release of the agent, which the gateway alone has, by a swap.
 */
import { join } from 'node:path';
import type { AgentConfig, FirmwareHandlerConfig } from '../config/schema/agent-config.ts';
import type { DeviceAtPlatform } from '../devices/device.ts';
import type { Alerts } from '../host/alert-list.ts';
import { runTogether } from '../host/loops.ts';
import type { HostMachine } from '../host/machine.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import type { JsonObject } from '../values/json.ts';
import { offerKeys, PACKAGE_KINDS, type PackageKind } from './firmware-offer.ts';
import { FirmwareUpdater } from './firmware-updater.ts';
import { runHandler } from './run-handler.ts';
import { updateFiles } from './update-files.ts';
import { updateEntries } from './update-telling.ts';
import type { UpdateTurns } from './update-turns.ts';
import type { UpdaterDeps } from './updater-deps.ts';
import type { UpdaterStatus } from './updater-status.ts';

/** Surroundings on the gateway, the same for all devices. */
export interface DeviceUpdatesDeps
  extends Pick<HostMachine, 'clock' | 'files' | 'runProgram'>,
    Pick<UpdaterDeps, 'newId' | 'getUrl' | 'linkWaits' | 'locked'> {
  readonly config: AgentConfig;
  /** Resolves when the entries are durable. */
  readonly append: (entries: readonly TelemetryEntry[]) => Promise<void>;
  readonly alerts: Alerts;
  readonly downloads: UpdateTurns;
  readonly installs: UpdateTurns;
}

export interface UpdatedDevice extends Pick<UpdaterDeps, 'log' | 'release' | 'builtIn'> {
  readonly device: DeviceAtPlatform;
  /** Its slot in the configuration, as a word for its handlers; undefined of the gateway. */
  readonly slot: string | undefined;
  /** Its own. */
  readonly handlers: readonly FirmwareHandlerConfig[];
  /** Why nothing is to be installed on it now, in words; undefined when it may be. */
  readonly holds: () => string | undefined;
  /** Told of each state that the platform is told of. */
  readonly onReported?: ((kind: PackageKind, status: UpdaterStatus) => void) | undefined;
}

export class DeviceUpdates {
  readonly #updaters: ReadonlyMap<PackageKind, FirmwareUpdater>;

  private constructor(updaters: ReadonlyMap<PackageKind, FirmwareUpdater>) {
    this.#updaters = updaters;
  }

  /** Reads where the last run left off; where that cannot be read the device lives without updates until it can. */
  static async open(deps: DeviceUpdatesDeps, updated: UpdatedDevice): Promise<DeviceUpdates> {
    // The gateway refuses what nobody takes.
    const isTaken = (kind: PackageKind): boolean =>
      updated.release !== undefined || updated.handlers.some((one) => one.package === kind);
    const open = async (kind: PackageKind) => [kind, await openUpdater(kind, deps, updated)] as const;
    return new DeviceUpdates(new Map(await Promise.all(PACKAGE_KINDS.filter(isTaken).map(open))));
  }

  /** Shared attributes that are to be asked for. */
  get keys(): readonly string[] {
    return [...this.#updaters.keys()].flatMap(offerKeys);
  }

  get statuses(): readonly UpdaterStatus[] {
    return [...this.#updaters.values()].map(({ status }) => status);
  }

  /** @throws Error for a kind of which the device takes none. */
  updater(kind: PackageKind): FirmwareUpdater {
    const updater = this.#updaters.get(kind);
    if (updater === undefined) throw new Error(`no ${kind} of this device is updated`);
    return updater;
  }

  /** Takes note of the shared attributes as they were read, and of those that the platform has told of. */
  consider(shared: JsonObject, saved?: ReadonlySet<string>): void {
    for (const updater of this.#updaters.values()) updater.considerOffer(shared, saved);
  }

  /** Walks its updates until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await runTogether(
      [...this.#updaters.values()].map((updater) => (either: AbortSignal) => updater.run(either)),
      signal,
    );
  }
}

function openUpdater(kind: PackageKind, deps: DeviceUpdatesDeps, updated: UpdatedDevice): Promise<FirmwareUpdater> {
  const { config, clock, runProgram, alerts, locked, downloads, installs } = deps;
  const { device, slot, release } = updated;
  const { id, name, folder, deviceApi } = device;
  const alert = slot === undefined ? `${kind} update` : `${kind} update of ${name}`;
  const opened: Promise<FirmwareUpdater> = FirmwareUpdater.open({
    kind,
    clock,
    newId: deps.newId,
    getUrl: deps.getUrl,
    linkWaits: deps.linkWaits,
    locked,
    deviceApi,
    log: updated.log,
    config: { ...config.firmware, handlers: updated.handlers },
    files: updateFiles(deps.files),
    paths: {
      home: config.firmware.installFolder,
      guard: config.firmware.guardFolder,
      firmware: join(folder, 'firmware'),
    },
    arch: process.arch,
    release,
    builtIn: updated.builtIn,
    report: async (values) => {
      await deps.append(updateEntries(id, values, clock));
      void opened.then(({ status }) => updated.onReported?.(kind, status));
    },
    runHandler: (handler, image, signal) =>
      runHandler(handler, { ...image, device: slot }, { clock, runProgram, installs }, signal),
    takeTurn: async (signal) => (release === undefined ? await downloads.next(signal) : downloads.own()),
    holds: updated.holds,
    onWait: (why) => {
      // The others have their turn: nobody needs to do anything about that.
      if (why !== undefined && locked()) alerts.raise(alert, slot === undefined ? why : `${name}: ${why}`);
      else alerts.clear(alert);
    },
  });
  return opened;
}
