/** The needs of an update; agent.ts hands them over as functions, tests hand over their own. */
import type { FirmwareConfig, FirmwareHandlerConfig } from '../config/schema/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { DeviceApi, FileBeginning, FirmwareBody } from '../platform/device-api.ts';
import type { JsonValue } from '../values/json.ts';
import type { PackageKind } from './firmware-offer.ts';
import type { ReleasePaths } from './guard-state.ts';
import type { UpdateFiles } from './update-files.ts';
import type { Update } from './update-journal.ts';
import type { UpdateTurn } from './update-turns.ts';

/** Fetches a file from its external address, or the rest of it; each host on the way is one of `hosts`, where there are any. */
export type GetFile = (
  url: string,
  options: { readonly beginning: FileBeginning | undefined; readonly hosts: readonly string[] | undefined },
  signal: AbortSignal,
) => Promise<FirmwareBody>;

export interface UpdaterDeps {
  readonly kind: PackageKind;
  readonly config: FirmwareConfig;
  readonly files: UpdateFiles;
  readonly paths: ReleasePaths;
  readonly clock: Clock;
  readonly log: Log;
  readonly arch: string;
  /** The agent's release, which a package may replace; undefined of all devices but the gateway. */
  readonly release: AgentRelease | undefined;
  readonly deviceApi: Pick<DeviceApi, 'getAttributes' | 'getFirmware'>;
  readonly getUrl: GetFile;
  /** Returns why so many bytes have to wait for the link, in words; undefined when they may come now. */
  readonly linkWaits?: ((bytes: number) => string | undefined) | undefined;
  /** Appends telemetry to the outbox; resolves when it is durable. */
  readonly report: (values: Readonly<Record<string, JsonValue>>) => Promise<void>;
  /** Runs a handler's fixed command; rejects with what went wrong. */
  readonly runHandler: (handler: FirmwareHandlerConfig, image: HandledImage, signal: AbortSignal) => Promise<void>;
  /** The agent's own handler of a title; undefined where there is none. */
  readonly builtIn?: ((title: string) => BuiltInHandler | undefined) | undefined;
  /** Names an update, or a request to the root helper, like no other. */
  readonly newId: () => string;
  /** True while someone works on the machine. */
  readonly locked: () => boolean;
  /** Why nothing is to be installed now, the lockout aside, in words; undefined when it may be. */
  readonly holds?: () => string | undefined;
  /** Waits for a turn at a download. */
  readonly takeTurn?: (signal: AbortSignal) => Promise<UpdateTurn>;
  /** Why the update does not go on, for a person to know; undefined when it does. */
  readonly onWait: (why: string | undefined) => void;
}

/** Takes packages of one title in place of a command of `firmware.handlers`. It can be begun again after a kill, and waits by itself. */
export interface BuiltInHandler {
  /** Largest payload, without its signature. */
  readonly maxPayloadBytes: number;
  /**
   * Resolves with `installed`, also when it was there already; with `withdrawn` when the offer was, and nothing had begun.
   * @throws AgentError (drop) with the reason why it is not installed.
   */
  readonly install: (
    image: HandledImage & Pick<Update, 'id'>,
    around: BuiltInSurroundings,
    signal: AbortSignal,
  ) => Promise<'installed' | 'withdrawn'>;
}

export interface BuiltInSurroundings {
  readonly isWithdrawn: () => boolean;
  /** Told why it waits, in words; undefined when it goes on. */
  readonly waits: (reason: string | undefined) => void;
}

export interface AgentRelease {
  /** The version of this process, as it is reported. */
  readonly runningVersion: string;
  /** The signs by which a new release is judged. */
  readonly vitals: () => Vitals;
  /** Ends this process so that the service manager starts `current`. */
  readonly requestRestart: (reason: string) => void;
}

export interface Vitals {
  /** An upload of this process was acknowledged. */
  readonly uploaded: boolean;
  /** The platform answered lately, whatever it said. */
  readonly reachable: boolean;
  /** The fault of this machine, the network aside; undefined when all is well. */
  readonly fault?: string;
}

export interface HandledImage {
  readonly file: string;
  readonly title: string;
  readonly version: string;
}

/** The end of a step. */
export interface StepOutcome<E extends string> {
  readonly event: E;
  readonly reason?: string;
}
