/**
 * Updates of the agent itself, and of what is attached to it, joined to the rest: offers come from the shared attributes, reports go to the
 * outbox, a trial is judged by the uploads of this process and by what the platform answers to a question of its own.
 */
import { basename, dirname, join } from 'node:path';
import { deviceHandlers, gatewayHandlers } from '../config/keys/device-firmware.ts';
import type { DeviceConfig } from '../config/schema/agent-config.ts';
import type { DeviceAtPlatform } from '../devices/device.ts';
import { hasCode, messageOf, refusal } from '../errors/agent-error.ts';
import { runTogether } from '../host/loops.ts';
import { agentVersion } from '../host/version.ts';
import type { FirmwareControl } from '../operations/firmware-operations.ts';
import type { FirmwareSummary } from '../status/shape/agent-status.ts';
import { DeviceUpdates, type DeviceUpdatesDeps, type UpdatedDevice } from './device-updates.ts';
import type { ReleasePaths } from './guard-state.ts';
import { history } from './release-history.ts';
import { expectHelper, leaveRequest } from './swap-request.ts';
import { updateFiles } from './update-files.ts';
import type { UpdateState } from './update-states.ts';
import { UpdateTurns } from './update-turns.ts';
import type { Vitals } from './updater-deps.ts';
import { lastFailure, type UpdaterStatus } from './updater-status.ts';

export interface FirmwareUpdatesDeps
  extends Omit<DeviceUpdatesDeps, 'downloads' | 'installs'>,
    Pick<UpdatedDevice, 'log' | 'onReported' | 'builtIn'> {
  /** The gateway. */
  readonly self: DeviceAtPlatform;
  /** True once an upload of this process was acknowledged. */
  readonly uploaded: () => boolean;
  /** The fault of this machine, the network aside; undefined when all is well. */
  readonly fault: () => string | undefined;
  /** Returns what every update waits for besides, in words. */
  readonly holds?: () => string | undefined;
  /** Stops the agent in good order; the service manager starts `current`. */
  readonly restart: () => void;
}

/** The device in a slot. */
export interface UpdatedSlot extends Pick<UpdatedDevice, 'device' | 'log'> {
  readonly settings: Pick<DeviceConfig, 'name' | 'firmware'>;
  /** True while one of its outputs is on for a time, by command. */
  readonly isPulsing: () => boolean;
}

const PROBE_EVERY_MS = 60_000;
/** Two probes may be lost on a bad line. */
const CONTACT_COUNTS_MS = 3 * PROBE_EVERY_MS;
/** From the request for another release until that is confirmed or given up, this process may end at any time. */
const SWAPS: ReadonlySet<UpdateState> = new Set(['requesting', 'swapping', 'trial', 'confirming', 'giving-up']);

/** Turns of everything that is updated over this gateway. */
type Turns = Pick<DeviceUpdatesDeps, 'downloads' | 'installs'>;

export class FirmwareUpdates implements FirmwareControl {
  /** Those of the gateway. */
  readonly self: DeviceUpdates;
  readonly #deps: FirmwareUpdatesDeps;
  readonly #paths: ReleasePaths;
  readonly #turns: Turns;
  #lastContactMs = Number.NEGATIVE_INFINITY;

  private constructor(
    deps: FirmwareUpdatesDeps,
    parts: { readonly paths: ReleasePaths; readonly turns: Turns; readonly self: DeviceUpdates },
  ) {
    this.#deps = deps;
    this.#paths = parts.paths;
    this.#turns = parts.turns;
    this.self = parts.self;
  }

  /** Reads where the last run left off; where that cannot be read the agent lives without updates until it can. */
  static async open(deps: FirmwareUpdatesDeps): Promise<FirmwareUpdates> {
    const { config, log, onReported } = deps;
    const { installFolder: home, guardFolder: guard } = config.firmware;
    const turns = { downloads: new UpdateTurns(deps.clock), installs: new UpdateTurns(deps.clock) };
    // The updaters need this object's vitals, and this object needs the updaters.
    let updates: FirmwareUpdates | undefined;
    const release = {
      runningVersion: runningRelease(home),
      vitals: () => updates?.vitals() ?? { uploaded: false, reachable: false },
      requestRestart: (reason: string) => {
        log.info({ reason }, 'restarting');
        deps.restart();
      },
    };
    const self = await DeviceUpdates.open(
      { ...deps, ...turns },
      {
        device: deps.self,
        slot: undefined,
        log,
        handlers: gatewayHandlers(config),
        release,
        builtIn: deps.builtIn,
        // A command that is cut short may leave a device that does not work.
        holds: () => (turns.installs.isTaken ? 'something attached is being updated' : deps.holds?.()),
        onReported,
      },
    );
    const paths = { home, guard, firmware: join(config.stateFolder, 'firmware') };
    updates = new FirmwareUpdates(deps, { paths, turns, self });
    return updates;
  }

  /** Offers that the gateway takes; undefined where updates are switched off. */
  get offers(): DeviceUpdates | undefined {
    return this.#deps.config.firmware.enabled ? this.self : undefined;
  }

  status(): UpdaterStatus {
    return this.self.updater('firmware').status;
  }

  /** True while something attached is being updated, or a package of the gateway that is no release is about to be. */
  get isInstalling(): boolean {
    const { state, update } = this.self.updater('software').status;
    const isOwn = update !== undefined && this.#deps.builtIn?.(update.title) !== undefined;
    return this.#turns.installs.isTaken || (state === 'applying' && !isOwn);
  }

  /** For the status page and `turnstone status`. */
  summary(): FirmwareSummary {
    const { reported, update, offered, receivedBytes, sizeBytes, fault, waits } = this.status();
    const failed = this.self.statuses.flatMap((status) => lastFailure(status) ?? []);
    return {
      title: this.#deps.config.firmware.title,
      version: agentVersion(),
      state: reported,
      offered: offered === undefined || offered.settled ? undefined : `${offered.title} ${offered.version}`,
      progressPercent:
        receivedBytes === undefined || sizeBytes === undefined ? undefined : (100 * receivedBytes) / sizeBytes,
      error: fault ?? waits ?? update?.reason,
      failed: failed.length === 0 ? undefined : failed,
    };
  }

  /** Opens the updates of the device in a slot; undefined where the configuration names no handler for it. */
  async ofSlot({ device, settings, isPulsing, log }: UpdatedSlot): Promise<DeviceUpdates | undefined> {
    const { config } = this.#deps;
    const { installs } = this.#turns;
    const handlers = deviceHandlers(settings, config);
    if (!config.firmware.enabled || handlers.length === 0) return undefined;
    const holds = (): string | undefined => {
      if (SWAPS.has(this.status().state)) return 'the gateway itself is being updated';
      if (isPulsing()) return 'an output of the device is on for a time';
      return installs.isTaken ? 'another device is being updated' : this.#deps.holds?.();
    };
    return await DeviceUpdates.open(
      { ...this.#deps, ...this.#turns },
      { device, slot: settings.name, log, handlers, holds, release: undefined },
    );
  }

  /** Walks the gateway's updates until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { offers } = this;
    if (offers === undefined) return this.#deps.clock.sleep(2 ** 31 - 1, signal);
    await runTogether([(either) => this.#probe(either), (either) => offers.run(either)], signal);
  }

  /** @throws AgentError `firmware/no-helper` (drop) where nobody would carry a reboot out. */
  expectReboots(): Promise<void> {
    return expectHelper({ files: updateFiles(this.#deps.files), paths: this.#paths });
  }

  /** Asks root for a reboot. */
  reboot(): void {
    const { files, clock, newId, log } = this.#deps;
    const refused = (error: unknown): void =>
      log.error({ error: messageOf(error) }, 'the reboot could not be asked for');
    leaveRequest({ files: updateFiles(files), paths: this.#paths, clock }, { request: 'reboot', id: newId() }).catch(
      refused,
    );
  }

  vitals(): Vitals {
    const { clock, uploaded, fault } = this.#deps;
    return {
      uploaded: uploaded(),
      reachable: clock.monotonicMs() - this.#lastContactMs < CONTACT_COUNTS_MS,
      fault: fault(),
    };
  }

  get inbox(): string {
    return this.#paths.firmware;
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#enabled.check(signal);
  }

  async install(path: string, signal: AbortSignal): Promise<void> {
    await this.#enabled.begin({ kind: 'file', path }, signal);
  }

  async rollBack(version: string | undefined, signal: AbortSignal): Promise<string> {
    const updater = this.#enabled;
    const to = version ?? (await this.#releaseBefore());
    await updater.begin({ kind: 'back', version: to }, signal);
    return to;
  }

  /** @throws AgentError `firmware/disabled` (drop). */
  get #enabled(): ReturnType<DeviceUpdates['updater']> {
    if (!this.#deps.config.firmware.enabled)
      throw refusal('firmware/disabled', 'updates are switched off (firmware.enabled: false)');
    return this.self.updater('firmware');
  }

  /** The release that ran before this one. @throws AgentError `firmware/no-release` (drop). */
  async #releaseBefore(): Promise<string> {
    const files = updateFiles(this.#deps.files);
    const kept = await files.list(join(this.#paths.home, 'releases'));
    const isBefore = (version: string): boolean =>
      version !== runningRelease(this.#paths.home) && kept.includes(version);
    const before = (await history(files, this.#paths)).find(isBefore);
    if (before === undefined) throw refusal('firmware/no-release', 'no older release is kept here');
    return before;
  }

  /** Asks the platform itself during a trial, so that a release with a broken uploader cannot pass for one without network. */
  async #probe(signal: AbortSignal): Promise<void> {
    const { clock, self } = this.#deps;
    while (!signal.aborted) {
      if (this.status().state === 'trial') {
        try {
          await self.deviceApi.getAttributes({ sharedKeys: ['fw_title'] }, signal);
          this.#lastContactMs = clock.monotonicMs();
        } catch (error) {
          if (hasCode(error, 'platform/unauthorised') || hasCode(error, 'platform/refused'))
            this.#lastContactMs = clock.monotonicMs();
        }
      }
      await clock.sleep(PROBE_EVERY_MS, signal);
    }
  }
}

/** The folder name of the release that this process was started from; a checkout has none. */
function runningRelease(home: string): string {
  const folder = import.meta.dirname;
  return dirname(folder) === join(home, 'releases') ? basename(folder) : agentVersion();
}
