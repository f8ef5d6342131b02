/**
 * Opens the agent's parts in their order and joins them; the outputs get their states for the start beside what a disk may hold up. What it
 * opened before it fails is closed by the process's end.
 */

import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import type { AgentLog } from '../host/log.ts';
import { randomId } from '../host/random.ts';
import type { TimeSync } from '../host/time-sync.ts';
import type { TelemetryEntry } from '../outbox/telemetry-entry.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import { LatestValues } from '../status/latest-values.ts';
import { UploadTimes } from '../status/upload-times.ts';
import type { AlertList } from './alert-list.ts';
import { FieldSide } from './field-side.ts';
import { FirmwareSide } from './firmware-side.ts';
import { queueOwnerWithin, setFormerQueueAside } from './former-queue.ts';
import { deliveryDoors, identityDoors } from './identity-doors.ts';
import type { LiveConfig } from './live-config.ts';
import { openDoors } from './local-doors.ts';
import type { Held, Machine } from './machine.ts';
import { openRemoteSide, remoteDoors } from './open-remote-side.ts';
import { outboxDoors } from './outbox-doors.ts';
import { externalFileSettings } from './platform-settings.ts';
import { PlatformSide } from './platform-side.ts';
import type { RemoteSide } from './remote-side.ts';
import { StateFolder } from './state-folder.ts';
import { StatusSide } from './status-side.ts';
import { TelemetryPath } from './telemetry-path.ts';

export interface AgentParts {
  readonly stateFolder: StateFolder;
  readonly telemetry: TelemetryPath;
  readonly platform: PlatformSide;
  readonly field: FieldSide;
  readonly firmware: FirmwareSide;
  readonly remote: RemoteSide;
  readonly doors: Held;
  readonly page: StatusSide;
}

export interface OpenPartsDeps {
  readonly config: LiveConfig;
  readonly configHash: string;
  readonly machine: Machine;
  readonly log: AgentLog;
  readonly alerts: AlertList;
  readonly timeSync: TimeSync;
  /** The machine's, with the platform's dates where these stand in. */
  readonly rightClock: Clock;
  readonly status: () => AgentStatus;
  readonly reload: () => Promise<JsonObject>;
  readonly restart: () => void;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
  readonly onDurable?: (entries: readonly TelemetryEntry[]) => void;
}

/** @throws AgentError (stop) when another agent runs here, or a file cannot be used. */
export async function openParts(deps: OpenPartsDeps, signal: AbortSignal): Promise<AgentParts> {
  const { machine, log, alerts, timeSync, rightClock, status } = deps;
  const { clock, files, randomBytes } = machine;
  const config = deps.config.current;
  const { stateFolder: path, runFolder } = config;
  const stateFolder = await StateFolder.open({ path, runFolder, machine, alerts, onTaken: deps.restart });
  const telemetryOpened = Promise.withResolvers<TelemetryPath>();
  const report = (entries: readonly TelemetryEntry[]): void => void telemetryOpened.promise.then((opened) => opened.append(entries));
  const fieldOpening = FieldSide.open(
    {
      config,
      machine: { ...machine, clock: rightClock },
      log,
      onSamples: (samples) => telemetry.take(samples),
      keyOf: (key) => telemetry.keyOf(key),
      clientRpc: (method, params, callSignal) => platform.deviceApi.clientRpc(method, params, callSignal),
      report,
      alerts,
      reportSensor: (sensor, state, isFailing) => telemetry.reportSensor(sensor, state, isFailing),
    },
    signal,
  );
  // Awaited below; until then its failure is nobody's.
  fieldOpening.catch(() => {});
  const platform = await PlatformSide.open({
    config: () => deps.config.current,
    machine,
    log,
    alerts,
    onPlatformDate: (ms, tookMs) => timeSync.heardPlatformDate(ms, tookMs),
    // While it is not open it is set aside before it is.
    onQueueOfAnother: () => telemetry.outbox.isOpen && deps.restart(),
  });
  const expectQueueOwner = queueOwnerWithin({ store: platform.store, clock, log });
  const uploads = new UploadTimes(clock);
  const latest = new LatestValues();
  const telemetry = await TelemetryPath.open(
    {
      config: () => deps.config.current,
      clock: rightClock,
      files,
      log,
      timeSync,
      postTelemetry: (rows, postSignal) => uploads.measure(() => platform.deviceApi.postTelemetry(rows, postSignal)),
      prepareTelemetry: (rows) => platform.deviceApi.prepareTelemetry(rows),
      sentBytes: () => platform.traffic.sentBytes,
      renamedEntries: () => platform.renamedEntries,
      expectStateFolder: async () => {
        await stateFolder.expectTaken();
        await expectQueueOwner();
        await platform.leaveOtherBoard();
        await setFormerQueueAside({ stateFolder: config.stateFolder, files, store: platform.store, log });
      },
      onAcknowledged: () => field.moving.actuators.contact.heard(),
      observe: (sensor, key, value) => {
        latest.note(sensor, key, value);
        field.moving.rules.take(sensor, key, value);
      },
      ...(deps.onDurable === undefined ? {} : { onDurable: deps.onDurable }),
    },
    signal,
  );
  telemetryOpened.resolve(telemetry);
  const field: FieldSide = await fieldOpening;
  const outboxStatus = (): JsonObject => ({ ...telemetry.outbox.status() }) as unknown as JsonObject;
  const firmware = await FirmwareSide.open({
    config,
    clock: rightClock,
    files,
    newId: () => randomId(randomBytes),
    runProgram: machine.runProgram,
    log,
    deviceApi: platform.deviceApi,
    getUrl: async (url, beginning, urlSignal) => {
      const settings = { clock, ...(await externalFileSettings(deps.config.current.platform, files)) };
      return machine.openExternalFile(url, { ...settings, ...(beginning === undefined ? {} : { beginning }) }, urlSignal);
    },
    append: (entries) => telemetry.append(entries),
    uploaded: () => telemetry.uploader.state.lastAcknowledgedAtMs !== undefined,
    ailment: () => (telemetry.outbox.status().fault === undefined ? undefined : 'the disk takes no entries'),
    restart: deps.restart,
    locked: () => field.moving.lockout.locked,
    alerts,
  });
  const remote = await openRemoteSide(
    {
      firmware,
      config: deps.config,
      configHash: deps.configHash,
      platform,
      field,
      machine,
      log,
      status,
      outboxStatus,
      diagnose: deps.diagnose,
      restart: deps.restart,
    },
    signal,
  );
  const page = new StatusSide({
    config: deps.config,
    machine,
    rightClock,
    log,
    status,
    telemetry,
    platform,
    firmware,
    uploads,
    latest,
    diagnose: deps.diagnose,
  });
  const outbox = outboxDoors(telemetry.outbox);
  const doors = await openDoors(
    {
      runFolder: config.runFolder,
      machine,
      log,
      alerts,
      status,
      outboxStatus,
      sampler: field.sampler,
      reload: deps.reload,
      methods: {
        diagnose: (_params, callSignal) => deps.diagnose(callSignal),
        ...remoteDoors(platform, field),
        ...firmware.doors(),
        ...identityDoors({ platform, stateFolder: config.stateFolder, clock, files, randomBytes, log, restart: deps.restart }),
        ...deliveryDoors(telemetry.outbox),
        ...outbox.methods,
      },
      readStreams: outbox.readStreams,
      readMethods: { ...outbox.readMethods, ...firmware.readDoors(), statusPage: () => ({ url: page.url ?? null }) },
    },
    signal,
  );
  return { stateFolder, telemetry, platform, field, firmware, remote, doors, page };
}
