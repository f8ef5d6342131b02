/**
 * Updates of the agent itself, and of what is attached to it, joined to the rest: offers come from the shared attributes, reports go to the
 * outbox, a trial is judged by the uploads of this process and by what the platform answers to a question of its own.
 */
import { basename, dirname, join } from 'node:path';
import type { AgentConfig, FirmwareHandlerConfig } from '../config/schema/agent-config.ts';
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { hasCode, messageOf, refusal } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import { fillArguments } from '../host/argument-template.ts';
import type { Clock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import { type JsonObject, type JsonValue, jsonOf } from '../host/json.ts';
import { runTogether } from '../host/loops.ts';
import type { HostMachine } from '../host/machine.ts';
import { textIn } from '../host/request-params.ts';
import { agentVersion } from '../host/version.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import type { FirmwareSummary } from '../status/shape/agent-status.ts';
import { offerKeys, type PackageKind } from './firmware-offer.ts';
import { FirmwareUpdater } from './firmware-updater.ts';
import type { ReleasePaths } from './guard-state.ts';
import { history } from './release-history.ts';
import { expectHelper, leaveRequest } from './swap-request.ts';
import { updateFiles } from './update-files.ts';
import type { AttachedImage, UpdaterDeps, Vitals } from './updater-deps.ts';
import { lastFailure, type UpdaterStatus } from './updater-status.ts';

export interface FirmwareUpdatesDeps
  extends Pick<HostMachine, 'clock' | 'files' | 'runProgram'>,
    Pick<UpdaterDeps, 'newId' | 'log' | 'deviceApi' | 'getUrl' | 'locked'> {
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
}

const PROBE_EVERY_MS = 60_000;
/** Two probes may be lost on a bad line. */
const CONTACT_COUNTS_MS = 3 * PROBE_EVERY_MS;
const KINDS: readonly PackageKind[] = ['firmware', 'software'];

export class FirmwareUpdates {
  readonly #deps: FirmwareUpdatesDeps;
  readonly #paths: ReleasePaths;
  readonly #updaters: Readonly<Record<PackageKind, FirmwareUpdater>>;
  #lastContactMs = Number.NEGATIVE_INFINITY;

  private constructor(deps: FirmwareUpdatesDeps, paths: ReleasePaths, updaters: Record<PackageKind, FirmwareUpdater>) {
    this.#deps = deps;
    this.#paths = paths;
    this.#updaters = updaters;
  }

  /** Reads where the last run left off; where that cannot be read the agent lives without updates until it can. */
  static async open(deps: FirmwareUpdatesDeps): Promise<FirmwareUpdates> {
    const { installFolder, guardFolder } = deps.config.firmware;
    const paths = { home: installFolder, guard: guardFolder, firmware: join(deps.config.stateFolder, 'firmware') };
    // The updaters need this object's vitals, and this object needs the updaters.
    let updates: FirmwareUpdates | undefined;
    const open = (kind: PackageKind) => openUpdater(kind, deps, paths, () => updates?.vitals() ?? { uploaded: false, reachable: false });
    updates = new FirmwareUpdates(deps, paths, { firmware: await open('firmware'), software: await open('software') });
    return updates;
  }

  /** The shared attributes that are to be asked for. */
  get keys(): readonly string[] {
    return this.#deps.config.firmware.enabled ? KINDS.flatMap(offerKeys) : [];
  }

  status(): UpdaterStatus {
    return this.#updaters.firmware.status;
  }

  /** For the status page and `turnstone status`. */
  summary(): FirmwareSummary {
    const { reported, update, offered, receivedBytes, sizeBytes, fault, waits } = this.status();
    const failed = KINDS.flatMap((kind) => lastFailure(this.#updaters[kind].status) ?? []);
    return given({
      title: this.#deps.config.firmware.title,
      version: agentVersion(),
      state: reported,
      offered: offered === undefined || offered.settled ? undefined : `${offered.title} ${offered.version}`,
      progressPercent: receivedBytes === undefined || sizeBytes === undefined ? undefined : (100 * receivedBytes) / sizeBytes,
      error: fault ?? waits ?? update?.reason,
      failed: failed.length === 0 ? undefined : failed,
    });
  }

  /** Takes note of the shared attributes as they were read. */
  consider(shared: JsonObject): void {
    for (const kind of KINDS) this.#updaters[kind].considerOffer(shared);
  }

  /** Walks both kinds of update until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (!this.#deps.config.firmware.enabled) return this.#deps.clock.sleep(2 ** 31 - 1, signal);
    const updaters = KINDS.map((kind) => (either: AbortSignal) => this.#updaters[kind].run(either));
    await runTogether([(either) => this.#probe(either), ...updaters], signal);
  }

  /** @throws AgentError `firmware/no-helper` (drop) where nobody would carry a reboot out. */
  expectReboots(): Promise<void> {
    return expectHelper({ files: updateFiles(this.#deps.files), paths: this.#paths });
  }

  /** Asks root for a reboot. */
  reboot(): void {
    const { files, clock, newId, log } = this.#deps;
    const refused = (error: unknown): void => log.error({ error: messageOf(error) }, 'the reboot could not be asked for');
    leaveRequest({ files: updateFiles(files), paths: this.#paths, clock }, { request: 'reboot', id: newId() }).catch(refused);
  }

  vitals(): Vitals {
    const { clock, uploaded, fault } = this.#deps;
    return given({ uploaded: uploaded(), reachable: clock.monotonicMs() - this.#lastContactMs < CONTACT_COUNTS_MS, fault: fault() });
  }

  /** Calls of the command line about updates of the agent itself. */
  calls(): ControlCalls {
    const { firmware } = this.#updaters;
    const status = (): JsonObject => jsonOf(this.status());
    const expectEnabled = (): void => {
      if (!this.#deps.config.firmware.enabled) throw refusal('firmware/disabled', 'updates are switched off (firmware.enabled: false)');
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
    const isBefore = (version: string): boolean => version !== runningRelease(this.#paths.home) && kept.includes(version);
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
          if (hasCode(error, 'platform/unauthorised') || hasCode(error, 'platform/refused')) this.#lastContactMs = clock.monotonicMs();
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

function openUpdater(kind: PackageKind, deps: FirmwareUpdatesDeps, paths: ReleasePaths, vitals: () => Vitals): Promise<FirmwareUpdater> {
  return FirmwareUpdater.open({
    ...deps,
    kind,
    config: deps.config.firmware,
    files: updateFiles(deps.files),
    paths,
    arch: process.arch,
    runningVersion: runningRelease(paths.home),
    report: (values) => deps.append(entriesOf(values, deps.clock)),
    vitals,
    requestRestart: (reason) => {
      deps.log.info({ reason }, 'restarting');
      deps.restart();
    },
    runHandler: (handler, image, signal) => runHandler(handler, image, deps, signal),
    onWait: (why) => (why === undefined ? deps.alerts.clear(`${kind} update`) : deps.alerts.raise(`${kind} update`, why)),
  });
}

/** As alarms, which are durable at once: a regular entry waits for its block, and each state of an update would wait with it. */
function entriesOf(values: Readonly<Record<string, JsonValue>>, clock: Clock): TelemetryEntry[] {
  const { bootId } = clock;
  const monotonicMs = clock.monotonicMs();
  return Object.entries(values).map(([key, value]) => ({ device: 'self', key, value, bootId, monotonicMs, class: 'alarm' }));
}

/** The fixed command of an attached device. @throws AgentError `firmware/handler-failed` (drop) with what it said last. */
async function runHandler(
  handler: FirmwareHandlerConfig,
  image: AttachedImage,
  { clock, runProgram }: Pick<FirmwareUpdatesDeps, 'clock' | 'runProgram'>,
  signal: AbortSignal,
): Promise<void> {
  const args = fillArguments(handler.arguments, { ...image });
  const outcome = await runProgram({ file: handler.program, args, deadlineMs: handler.timeoutMs }, clock, signal);
  if (outcome.exitCode === 0) return;
  const said = outcome.stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
  const ended = outcome.exitCode === undefined ? `was ended by ${outcome.endedBySignal}` : `ended with ${outcome.exitCode}`;
  throw refusal('firmware/handler-failed', `${basename(handler.program)} ${ended}: ${said}`);
}
