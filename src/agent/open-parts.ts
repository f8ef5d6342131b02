/** Opens the agent's parts in their order and joins them. What it opened before it fails is closed by the process's end: nothing has moved yet. */
import type { ControlServer } from '../control-socket/control-server.ts';
import type { Clock } from '../host/clock.ts';
import { makeFolder } from '../host/durable-file.ts';
import type { JsonObject } from '../host/json.ts';
import type { AgentLog } from '../host/log.ts';
import { StateLock } from '../host/state-lock.ts';
import type { TimeSync } from '../host/time-sync.ts';
import type { TelemetryEntry } from '../outbox/telemetry-entry.ts';
import { openExternalFile } from '../platform/external-file.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import { LatestValues } from '../status/latest-values.ts';
import { UploadTimes } from '../status/upload-times.ts';
import type { AlertList } from './alert-list.ts';
import { AppendRecord } from './append-record.ts';
import { FieldSide } from './field-side.ts';
import { FirmwareSide } from './firmware-side.ts';
import { deliveryDoors, identityDoors } from './identity-doors.ts';
import type { LiveConfig } from './live-config.ts';
import { openDoors } from './local-doors.ts';
import { openRemoteSide, remoteDoors } from './open-remote-side.ts';
import { outboxDoors } from './outbox-doors.ts';
import { PlatformSide } from './platform-side.ts';
import type { RemoteSide } from './remote-side.ts';
import { StatusSide } from './status-side.ts';
import { TelemetryPath } from './telemetry-path.ts';

export interface AgentParts {
  readonly lock: StateLock;
  readonly telemetry: TelemetryPath;
  readonly platform: PlatformSide;
  readonly field: FieldSide;
  readonly firmware: FirmwareSide;
  readonly remote: RemoteSide;
  readonly doors: ControlServer;
  readonly page: StatusSide;
}

export interface OpenPartsDeps {
  readonly config: LiveConfig;
  readonly configHash: string;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly alerts: AlertList;
  readonly timeSync: TimeSync;
  readonly status: () => AgentStatus;
  readonly reload: () => Promise<JsonObject>;
  readonly restart: () => void;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
  readonly recordAppends?: string;
}

/** @throws AgentError (stop) when another agent runs here, or a folder or file cannot be used. */
export async function openParts(deps: OpenPartsDeps, signal: AbortSignal): Promise<AgentParts> {
  const { clock, log, alerts, timeSync, status } = deps;
  const config = deps.config.current;
  await makeFolder(config.stateFolder);
  const lock = await StateLock.take(config.stateFolder);
  const platform = await PlatformSide.open({ config, clock, log, alerts, onPlatformDate: (ms) => timeSync.heardPlatformDate(ms) });
  const record = deps.recordAppends === undefined ? undefined : new AppendRecord(deps.recordAppends, `${process.pid}`);
  const uploads = new UploadTimes(clock);
  const latest = new LatestValues();
  const telemetry = await TelemetryPath.open(
    {
      config: () => deps.config.current,
      clock,
      log,
      timeSync,
      postTelemetry: (rows, postSignal) => uploads.measure(() => platform.deviceApi.postTelemetry(rows, postSignal)),
      prepareTelemetry: (rows) => platform.deviceApi.prepareTelemetry(rows),
      sentBytes: () => platform.traffic.sentBytes,
      onAcknowledged: () => field.moving.actuators.contact(),
      observe: (sensor, key, value) => {
        latest.note(sensor, key, value);
        field.moving.rules.take(sensor, key, value);
      },
      ...(record === undefined ? {} : { onDurable: (entries) => record.add(entries) }),
    },
    signal,
  );
  const report = (entries: readonly TelemetryEntry[]): void => void telemetry.append(entries);
  const field: FieldSide = await FieldSide.open(
    {
      config,
      clock,
      log,
      onSamples: (samples) => telemetry.take(samples),
      clientRpc: (method, params, callSignal) => platform.deviceApi.clientRpc(method, params, callSignal),
      report,
    },
    signal,
  );
  const outboxStatus = (): JsonObject => ({ ...telemetry.outbox.status() }) as unknown as JsonObject;
  const firmware = await FirmwareSide.open({
    config,
    clock,
    log,
    deviceApi: platform.deviceApi,
    getUrl: (url, urlSignal) =>
      openExternalFile(url, config.platform.proxy === undefined ? {} : { proxy: config.platform.proxy.reveal() }, urlSignal),
    append: (entries) => telemetry.append(entries),
    uploaded: () => telemetry.uploader.state.lastAcknowledgedAtMs !== undefined,
    ailment: () => (telemetry.outbox.status().fault === undefined ? undefined : 'the disk takes no entries'),
    restart: deps.restart,
  });
  const remote = await openRemoteSide(
    {
      firmware,
      config: deps.config,
      configHash: deps.configHash,
      platform,
      field,
      clock,
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
    clock,
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
      clock,
      log,
      status,
      outboxStatus,
      sampler: field.sampler,
      reload: deps.reload,
      methods: {
        diagnose: (_params, callSignal) => deps.diagnose(callSignal),
        ...remoteDoors(platform, field),
        ...firmware.doors(),
        ...identityDoors({ platform, stateFolder: config.stateFolder, clock, log, restart: deps.restart }),
        ...deliveryDoors(telemetry.outbox),
        ...outbox.methods,
      },
      readStreams: outbox.readStreams,
      readMethods: { ...outbox.readMethods, ...firmware.readDoors(), statusPage: () => ({ url: page.url ?? null }) },
    },
    signal,
  );
  return { lock, telemetry, platform, field, firmware, remote, doors, page };
}
