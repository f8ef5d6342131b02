/**
 * Updates of the agent itself, and of what is attached to it, joined to the rest: offers come from the shared attributes, reports go to the
 * outbox, a trial is judged by the uploads of this process and by what the platform answers to a question of its own.
 */
import { basename, dirname, join } from 'node:path';
import type { AgentConfig, FirmwareHandlerConfig } from '../config/agent-config.ts';
import type { ControlMethod } from '../control-socket/control-connection.ts';
import { AgentError, hasCode } from '../errors.ts';
import type { GetUrl } from '../firmware/download-deps.ts';
import { offerKeys, type PackageKind } from '../firmware/firmware-offer.ts';
import { FirmwareUpdater } from '../firmware/firmware-updater.ts';
import type { ReleasePaths } from '../firmware/guard-state.ts';
import { requestReboot } from '../firmware/swap-request.ts';
import { updateFiles } from '../firmware/update-files.ts';
import type { AttachedImage, Vitals } from '../firmware/updater-deps.ts';
import { lastFailure, type UpdaterStatus } from '../firmware/updater-status.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { RunProgram } from '../host/run-program.ts';
import { runTogether } from '../host/run-together.ts';
import { agentVersion } from '../host/version.ts';
import type { TelemetryEntry } from '../outbox/telemetry-entry.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import type { FirmwareSummary } from '../status/agent-status.ts';
import type { AlertList } from './alert-list.ts';

export interface FirmwareSideDeps {
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly files: Files;
  /** For what writes an image to an attached device. */
  readonly runProgram: RunProgram;
  /** Names an update, or a request to the root helper, like no other. */
  readonly newId: () => string;
  readonly log: Log;
  readonly deviceApi: DeviceApi;
  readonly getUrl: GetUrl;
  /** Resolves when the entries are durable. */
  readonly append: (entries: readonly TelemetryEntry[]) => Promise<void>;
  /** Whether an upload of this process was acknowledged. */
  readonly uploaded: () => boolean;
  /** What is wrong on this side of the network; undefined when all is well. */
  readonly ailment: () => string | undefined;
  /** Stops the agent in good order; the service manager starts `current`. */
  readonly restart: () => void;
  /** Whether someone works on the machine. */
  readonly locked: () => boolean;
  readonly alerts: Pick<AlertList, 'raise' | 'clear'>;
}

const PROBE_EVERY_MS = 60_000;
/** Two probes may be lost on a bad line. */
const CONTACT_COUNTS_MS = 3 * PROBE_EVERY_MS;
const KINDS: readonly PackageKind[] = ['firmware', 'software'];

export class FirmwareSide {
  readonly #deps: FirmwareSideDeps;
  readonly #paths: ReleasePaths;
  readonly #updaters: Readonly<Record<PackageKind, FirmwareUpdater>>;
  #lastContactMs = Number.NEGATIVE_INFINITY;

  private constructor(deps: FirmwareSideDeps, paths: ReleasePaths, updaters: Record<PackageKind, FirmwareUpdater>) {
    this.#deps = deps;
    this.#paths = paths;
    this.#updaters = updaters;
  }

  /** Reads where the last run left off; where that cannot be read the agent lives without updates until it can. */
  static async open(deps: FirmwareSideDeps): Promise<FirmwareSide> {
    const { installFolder, guardFolder } = deps.config.firmware;
    const paths = { home: installFolder, guard: guardFolder, firmware: join(deps.config.stateFolder, 'firmware') };
    // The vitals that the updaters are given are this object's, which does not exist yet.
    let side: FirmwareSide | undefined;
    const open = (kind: PackageKind) => openUpdater(kind, deps, paths, () => side?.vitals() ?? { uploaded: false, reachable: false });
    side = new FirmwareSide(deps, paths, { firmware: await open('firmware'), software: await open('software') });
    return side;
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
    const error = fault ?? waits ?? update?.reason;
    const failed = KINDS.flatMap((kind) => lastFailure(this.#updaters[kind].status) ?? []);
    return {
      title: this.#deps.config.firmware.title,
      version: agentVersion(),
      ...(reported === undefined ? {} : { state: reported }),
      ...(offered === undefined || offered.settled ? {} : { offered: `${offered.title} ${offered.version}` }),
      ...(receivedBytes === undefined || sizeBytes === undefined ? {} : { progressPercent: (100 * receivedBytes) / sizeBytes }),
      ...(error === undefined ? {} : { error }),
      ...(failed.length === 0 ? {} : { failed }),
    };
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

  /** Asks root for a reboot; resolves when the request lies where the helper finds it. */
  async reboot(): Promise<void> {
    await requestReboot({ files: updateFiles(this.#deps.files), paths: this.#paths, newId: this.#deps.newId });
  }

  vitals(): Vitals {
    const ailment = this.#deps.ailment();
    const uploaded = this.#deps.uploaded();
    const reachable = this.#deps.clock.monotonicMs() - this.#lastContactMs < CONTACT_COUNTS_MS;
    return { uploaded, reachable, ...(ailment === undefined ? {} : { ailment }) };
  }

  /** What everyone on the machine may ask. */
  readDoors(): Readonly<Record<string, ControlMethod>> {
    return {
      firmwareStatus: () => ({ ...this.status() }) as unknown as JsonObject,
      firmwareInbox: () => ({ folder: this.#paths.firmware }),
    };
  }

  /** What the service's group may ask for. */
  doors(): Readonly<Record<string, ControlMethod>> {
    const { firmware } = this.#updaters;
    const expectEnabled = (): void => {
      if (!this.#deps.config.firmware.enabled)
        throw new AgentError('firmware/disabled', 'updates are switched off (firmware.enabled: false)', { recovery: 'drop' });
    };
    return {
      firmwareCheck: async (_params, signal) => {
        expectEnabled();
        await firmware.check(signal);
        return { ...firmware.status } as unknown as JsonObject;
      },
      firmwareInstall: async ({ path }, signal) => {
        expectEnabled();
        if (typeof path !== 'string') throw new AgentError('agent/bad-request', 'path is needed, as text', { recovery: 'drop' });
        await firmware.begin({ kind: 'file', path }, signal);
        return { ...firmware.status } as unknown as JsonObject;
      },
      firmwareRollback: async ({ version }, signal) => {
        expectEnabled();
        const to = typeof version === 'string' ? version : await this.#releaseBefore();
        await firmware.begin({ kind: 'back', version: to }, signal);
        return { version: to };
      },
    };
  }

  /** The release that ran before this one. @throws AgentError `firmware/no-release` (drop). */
  async #releaseBefore(): Promise<string> {
    const ran = (await updateFiles(this.#deps.files).read(join(this.#paths.guard, 'history')))?.toString('utf8').split('\n') ?? [];
    const kept = await updateFiles(this.#deps.files).list(join(this.#paths.home, 'releases'));
    const before = ran.find((version) => version !== runningRelease(this.#paths.home) && kept.includes(version));
    if (before === undefined) throw new AgentError('firmware/no-release', 'no older release is kept here', { recovery: 'drop' });
    return before;
  }

  /** Whether the platform answers is asked on its own account during a trial: a release whose uploader is broken must not hide behind it. */
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

function openUpdater(kind: PackageKind, deps: FirmwareSideDeps, paths: ReleasePaths, vitals: () => Vitals): Promise<FirmwareUpdater> {
  const { clock, log, deviceApi, getUrl, config } = deps;
  return FirmwareUpdater.open({
    kind,
    config: config.firmware,
    files: updateFiles(deps.files),
    paths,
    clock,
    log,
    arch: process.arch,
    runningVersion: runningRelease(paths.home),
    deviceApi,
    getUrl,
    report: (values) => deps.append(entriesOf(values, clock)),
    vitals,
    requestRestart: (reason) => {
      log.info({ reason }, 'restarting');
      deps.restart();
    },
    runHandler: (handler, image, signal) => runHandler(handler, image, deps, signal),
    newId: deps.newId,
    locked: deps.locked,
    onWait: (why) => (why === undefined ? deps.alerts.clear(`${kind} update`) : deps.alerts.raise(`${kind} update`, why)),
  });
}

/** As alarms: they are durable at once, where a regular entry waits for its block and every state of an update would wait with it. */
function entriesOf(values: Readonly<Record<string, JsonValue>>, clock: Clock): TelemetryEntry[] {
  const { bootId } = clock;
  const monotonicMs = clock.monotonicMs();
  return Object.entries(values).map(([key, value]) => ({ device: 'self', key, value, bootId, monotonicMs, class: 'alarm' }));
}

/** The fixed command of an attached device. @throws AgentError `firmware/handler-failed` (drop) with what it said last. */
async function runHandler(
  handler: FirmwareHandlerConfig,
  image: AttachedImage,
  { clock, runProgram }: Pick<FirmwareSideDeps, 'clock' | 'runProgram'>,
  signal: AbortSignal,
): Promise<void> {
  const words: Readonly<Record<string, string>> = { '{file}': image.file, '{title}': image.title, '{version}': image.version };
  const args = handler.arguments.map((argument) => argument.replace(/\{(file|title|version)\}/g, (word) => words[word] ?? word));
  const outcome = await runProgram({ file: handler.program, args, deadlineMs: handler.timeoutMs }, clock, signal);
  if (outcome.exitCode === 0) return;
  const said = outcome.stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
  const ended = outcome.exitCode === undefined ? `was ended by ${outcome.endedBySignal}` : `ended with ${outcome.exitCode}`;
  throw new AgentError('firmware/handler-failed', `${basename(handler.program)} ${ended}: ${said}`, { recovery: 'drop' });
}
