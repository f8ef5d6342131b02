/**
 * Updates of one attached device: its own offers, told in its own telemetry, with a journal in its own folder. The file is installed by the command
 * of a handler that the device names; nothing here touches the release of the agent.
 */
import { join } from 'node:path';
import { deviceHandlers } from '../config/keys/device-firmware.ts';
import type { DeviceConfig } from '../config/schema/agent-config.ts';
import type { JsonObject } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import { runTogether } from '../host/loops.ts';
import { offerKeys, PACKAGE_KINDS, type PackageKind } from './firmware-offer.ts';
import { FirmwareUpdater } from './firmware-updater.ts';
import type { FirmwareUpdatesDeps } from './firmware-updates.ts';
import { runHandler } from './run-handler.ts';
import { updateFiles } from './update-files.ts';
import { UNKNOWN_VERSION } from './update-journal.ts';
import { updateEntries } from './update-telling.ts';
import type { UpdateTurns } from './update-turns.ts';
import type { UpdaterDeps } from './updater-deps.ts';

/** Surroundings on the gateway, the same for all devices. */
export interface AttachedFirmwareDeps
  extends Pick<
    FirmwareUpdatesDeps,
    'config' | 'clock' | 'files' | 'runProgram' | 'newId' | 'getUrl' | 'linkWaits' | 'locked' | 'append' | 'alerts'
  > {
  readonly downloads: UpdateTurns;
  readonly installs: UpdateTurns;
  /** Why the gateway does not let a device be updated now, in words; undefined when it does. */
  readonly holds: () => string | undefined;
}

export interface FirmwareOfDevice {
  /** Name in entries of the outbox. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** Exists, and is this device's alone. */
  readonly folder: string;
  readonly deviceApi: UpdaterDeps['deviceApi'];
  readonly settings: Pick<DeviceConfig, 'name' | 'firmware'>;
  /** True while one of its outputs is on for a time, by command. */
  readonly isPulsing: () => boolean;
  readonly log: Log;
}

export class AttachedFirmware {
  /** Shared attributes that are to be asked for. */
  readonly keys: readonly string[];
  readonly #updaters: readonly FirmwareUpdater[];

  private constructor(kinds: readonly PackageKind[], updaters: readonly FirmwareUpdater[]) {
    this.keys = kinds.flatMap(offerKeys);
    this.#updaters = updaters;
  }

  /** Undefined of a device for which there is no handler. */
  static async open(deps: AttachedFirmwareDeps, device: FirmwareOfDevice): Promise<AttachedFirmware | undefined> {
    const handlers = deviceHandlers(device.settings, deps.config);
    const kinds = PACKAGE_KINDS.filter((kind) => handlers.some((one) => one.package === kind));
    if (kinds.length === 0) return undefined;
    const opened = await Promise.all(kinds.map((kind) => FirmwareUpdater.open(updaterDeps(kind, deps, device))));
    return new AttachedFirmware(kinds, opened);
  }

  /** Takes note of the shared attributes as they were read, and of those that the platform has told of. */
  consider(shared: JsonObject, saved?: ReadonlySet<string>): void {
    for (const updater of this.#updaters) updater.considerOffer(shared, saved);
  }

  /** Walks its updates until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await runTogether(
      this.#updaters.map((updater) => (either: AbortSignal) => updater.run(either)),
      signal,
    );
  }
}

function updaterDeps(kind: PackageKind, deps: AttachedFirmwareDeps, device: FirmwareOfDevice): UpdaterDeps {
  const { config, clock, files, runProgram, newId, getUrl, linkWaits, locked, append, alerts, downloads, installs } =
    deps;
  const { id, name, folder, deviceApi, settings, isPulsing, log } = device;
  const alert = `${kind} update of ${name}`;
  const installing = () => (installs.isTaken ? 'another device is being updated' : undefined);
  const unused = (): never => {
    throw new Error('a release of the agent among the packages of an attached device');
  };
  return {
    kind,
    clock,
    newId,
    getUrl,
    linkWaits,
    locked,
    deviceApi,
    log,
    isAttached: true,
    config: { ...config.firmware, handlers: deviceHandlers(settings, config) },
    files: updateFiles(files),
    paths: {
      home: config.firmware.installFolder,
      guard: config.firmware.guardFolder,
      firmware: join(folder, 'firmware'),
    },
    arch: process.arch,
    runningVersion: UNKNOWN_VERSION,
    vitals: unused,
    requestRestart: unused,
    report: (values) => append(updateEntries(id, values, clock)),
    runHandler: (handler, image, signal) =>
      runHandler(handler, { ...image, device: settings.name }, { clock, runProgram, installs }, signal),
    takeTurn: (signal) => downloads.next(signal),
    holds: () => deps.holds() ?? (isPulsing() ? 'an output of the device is on for a time' : installing()),
    onWait: (why) => {
      // The others have their turn: nobody needs to do anything about that.
      if (why !== undefined && locked()) alerts.raise(alert, `${name}: ${why}`);
      else alerts.clear(alert);
    },
  };
}
