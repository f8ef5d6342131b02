/**
 * Updates of the agent itself, and of what is attached to it, joined to the rest: offers come from the shared attributes, reports go to the
 * outbox, a trial is judged by the uploads of this process and by what the platform answers to a question of its own.
 */
import { basename, dirname, join } from 'node:path';
import { gatewayHandlers } from '../config/keys/device-firmware.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { hasCode, messageOf, refusal } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import { type JsonObject, jsonOf } from '../host/json.ts';
import { runTogether } from '../host/loops.ts';
import type { HostMachine } from '../host/machine.ts';
import { textIn } from '../host/request-params.ts';
import { agentVersion } from '../host/version.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import type { FirmwareSummary } from '../status/shape/agent-status.ts';
import { AttachedFirmware, type FirmwareOfDevice } from './attached-firmware.ts';
import { offerKeys, PACKAGE_KINDS, type PackageKind } from './firmware-offer.ts';
import { FirmwareUpdater } from './firmware-updater.ts';
import type { ReleasePaths } from './guard-state.ts';
import { history } from './release-history.ts';
import { runHandler } from './run-handler.ts';
import { expectHelper, leaveRequest } from './swap-request.ts';
import { updateFiles } from './update-files.ts';
import type { UpdateState } from './update-states.ts';
import { updateEntries } from './update-telling.ts';
import { UpdateTurns } from './update-turns.ts';
import type { UpdaterDeps, Vitals } from './updater-deps.ts';
import { lastFailure, type UpdaterStatus } from './updater-status.ts';

export interface FirmwareUpdatesDeps
  extends Pick<HostMachine, 'clock' | 'files' | 'runProgram'>,
    Pick<UpdaterDeps, 'newId' | 'log' | 'deviceApi' | 'getUrl' | 'linkWaits' | 'locked'> {
  readonly config: AgentConfig;
  /** Resolves when the entries are durable. */
  readonly append: (entries: readonly TelemetryEntry[]) => Promise<void>;
  /** True once an upload of this process was acknowledged. */
  readonly uploaded: () => boolean;
  /** The fault of this machine, the network aside; undefined when all is well. */
  readonly fault: () => string | undefined;
  /** Stops the agent in good order; the service manager starts `current`. */
  readonly restart: () => void;
  readonly alerts: Alerts;
  /** Told of each state of an update of this machine that the platform is told of. */
  readonly onReported?: (kind: PackageKind, status: UpdaterStatus) => void;
}

const PROBE_EVERY_MS = 60_000;
/** Two probes may be lost on a bad line. */
const CONTACT_COUNTS_MS = 3 * PROBE_EVERY_MS;
/** From the request for another release until that is confirmed or given up, this process may end at any time. */
const SWAPS: ReadonlySet<UpdateState> = new Set(['requesting', 'swapping', 'trial', 'confirming', 'giving-up']);

/** Turns of everything that is updated over this gateway. */
interface Turns {
  readonly downloads: UpdateTurns;
  readonly installs: UpdateTurns;
}

export class FirmwareUpdates {
  readonly #deps: FirmwareUpdatesDeps;
  readonly #paths: ReleasePaths;
  readonly #updaters: Readonly<Record<PackageKind, FirmwareUpdater>>;
  readonly #turns: Turns;
  #lastContactMs = Number.NEGATIVE_INFINITY;

  private constructor(
    deps: FirmwareUpdatesDeps,
    parts: {
      readonly paths: ReleasePaths;
      readonly turns: Turns;
      readonly updaters: Record<PackageKind, FirmwareUpdater>;
    },
  ) {
    this.#deps = deps;
    this.#paths = parts.paths;
    this.#turns = parts.turns;
    this.#updaters = parts.updaters;
  }

  /** Reads where the last run left off; where that cannot be read the agent lives without updates until it can. */
  static async open(deps: FirmwareUpdatesDeps): Promise<FirmwareUpdates> {
    const { installFolder, guardFolder } = deps.config.firmware;
    const paths = { home: installFolder, guard: guardFolder, firmware: join(deps.config.stateFolder, 'firmware') };
    // The updaters need this object's vitals, and this object needs the updaters.
    let updates: FirmwareUpdates | undefined;
    const turns = { downloads: new UpdateTurns(deps.clock), installs: new UpdateTurns(deps.clock) };
    const vitals = () => updates?.vitals() ?? { uploaded: false, reachable: false };
    const open = (kind: PackageKind) => openUpdater(kind, { ...deps, paths, turns, vitals });
    const updaters = { firmware: await open('firmware'), software: await open('software') };
    updates = new FirmwareUpdates(deps, { paths, turns, updaters });
    return updates;
  }

  /** The shared attributes that are to be asked for. */
  get keys(): readonly string[] {
    return this.#deps.config.firmware.enabled ? PACKAGE_KINDS.flatMap(offerKeys) : [];
  }

  status(): UpdaterStatus {
    return this.#updaters.firmware.status;
  }

  /** For the status page and `turnstone status`. */
  summary(): FirmwareSummary {
    const { reported, update, offered, receivedBytes, sizeBytes, fault, waits } = this.status();
    const failed = PACKAGE_KINDS.flatMap((kind) => lastFailure(this.#updaters[kind].status) ?? []);
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

  /** Opens the updates of an attached device; undefined where the configuration names no handler for it. */
  async ofDevice(device: FirmwareOfDevice): Promise<AttachedFirmware | undefined> {
    const { config } = this.#deps;
    if (!config.firmware.enabled) return undefined;
    const holds = () => (SWAPS.has(this.status().state) ? 'the gateway itself is being updated' : undefined);
    return await AttachedFirmware.open({ ...this.#deps, ...this.#turns, holds }, device);
  }

  /** Takes note of the shared attributes as they were read, and of those that the platform has told of. */
  consider(shared: JsonObject, saved?: ReadonlySet<string>): void {
    for (const kind of PACKAGE_KINDS) this.#updaters[kind].considerOffer(shared, saved);
  }

  /** Walks both kinds of update until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (!this.#deps.config.firmware.enabled) return this.#deps.clock.sleep(2 ** 31 - 1, signal);
    const updaters = PACKAGE_KINDS.map((kind) => (either: AbortSignal) => this.#updaters[kind].run(either));
    await runTogether([(either) => this.#probe(either), ...updaters], signal);
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

  /** Calls of the command line about updates of the agent itself. */
  calls(): ControlCalls {
    const { firmware } = this.#updaters;
    const status = (): JsonObject => jsonOf(this.status());
    const expectEnabled = (): void => {
      if (!this.#deps.config.firmware.enabled)
        throw refusal('firmware/disabled', 'updates are switched off (firmware.enabled: false)');
    };
    return {
      readMethods: { firmwareStatus: status, firmwareInbox: () => ({ folder: this.#paths.firmware }) },
      methods: {
        firmwareCheck: async (_params, signal) => {
          expectEnabled();
          await firmware.check(signal);
          return status();
        },
        firmwareInstall: async (params, signal) => {
          expectEnabled();
          await firmware.begin({ kind: 'file', path: textIn(params, 'path') }, signal);
          return status();
        },
        firmwareRollback: async ({ version }, signal) => {
          expectEnabled();
          const to = typeof version === 'string' ? version : await this.#releaseBefore();
          await firmware.begin({ kind: 'back', version: to }, signal);
          return { version: to };
        },
      },
    };
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
    const { clock, deviceApi } = this.#deps;
    while (!signal.aborted) {
      if (this.#updaters.firmware.status.state === 'trial') {
        try {
          await deviceApi.getAttributes({ sharedKeys: ['fw_title'] }, signal);
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

interface OpenUpdaterDeps extends FirmwareUpdatesDeps {
  readonly paths: ReleasePaths;
  readonly turns: Turns;
  readonly vitals: () => Vitals;
}

function openUpdater(kind: PackageKind, { paths, turns, vitals, ...deps }: OpenUpdaterDeps): Promise<FirmwareUpdater> {
  const { config, clock, runProgram, log, alerts } = deps;
  const { installs } = turns;
  const opened: Promise<FirmwareUpdater> = FirmwareUpdater.open({
    ...deps,
    kind,
    config: { ...config.firmware, handlers: gatewayHandlers(config) },
    files: updateFiles(deps.files),
    paths,
    arch: process.arch,
    runningVersion: runningRelease(paths.home),
    report: async (values) => {
      await deps.append(updateEntries('self', values, clock));
      void opened.then(({ status }) => deps.onReported?.(kind, status));
    },
    vitals,
    requestRestart: (reason) => {
      log.info({ reason }, 'restarting');
      deps.restart();
    },
    runHandler: (handler, image, signal) => runHandler(handler, { ...image }, { clock, runProgram, installs }, signal),
    takeTurn: async () => turns.downloads.own(),
    // A command that is cut short may leave a device that does not work.
    holds: () => (installs.isTaken ? 'something attached is being updated' : undefined),
    onWait: (why) => (why === undefined ? alerts.clear(`${kind} update`) : alerts.raise(`${kind} update`, why)),
  });
  return opened;
}
