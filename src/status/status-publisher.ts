/**
 * The status page, health, metrics, and the metrics as telemetry, joined to the parts they speak of. The server is loaded after the agent
 * runs, and only when the configuration wants it: nobody waits for a page.
 */

import { rulesOfReading } from '../config/keys/sensor-keys.ts';
import type { LiveConfig } from '../config/live-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import type { FirmwareUpdates } from '../firmware/firmware-updates.ts';
import type { Clock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import { type JsonObject, jsonOf } from '../host/json.ts';
import type { AgentLog } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { PlatformConnection } from '../provisioning/platform-connection.ts';
import type { TelemetryPath } from '../telemetry/telemetry-path.ts';
import type { Timeline } from '../timeline/timeline.ts';
import { LogRing } from './log-ring.ts';
import { type Metric, metricsOf } from './metrics.ts';
import { healthOf, readinessOf } from './platform-status.ts';
import { SelfTelemetry } from './self-telemetry.ts';
import { type SeriesQuery, type TimedValue, thinSeries } from './series.ts';
import type { AgentStatus, SensorStatus } from './shape/agent-status.ts';
import type { DeviceStatus } from './shape/device-status.ts';
import type { OpenedStatusServer, StatusServerDeps } from './status-server.ts';
import type { StatusView } from './status-view.ts';

export interface StatusPublisherDeps {
  readonly config: LiveConfig;
  readonly machine: Pick<HostMachine, 'clock' | 'files' | 'randomBytes' | 'usage'> & {
    readonly openStatusServer: (deps: StatusServerDeps) => Promise<OpenedStatusServer>;
  };
  /** By which the platform dates what the page plots. */
  readonly rightClock: Clock;
  readonly log: AgentLog;
  readonly status: () => AgentStatus;
  readonly telemetry: TelemetryPath;
  readonly platform: PlatformConnection;
  readonly firmware: FirmwareUpdates;
  readonly timeline: Pick<Timeline, 'lastSeq' | 'answer'>;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
  /** The open claim, and its QR code; undefined while there is none. */
  readonly claim: () => Promise<JsonObject | undefined>;
  /** Attached devices, in the order of the configuration, and what is still kept of one. */
  readonly attached?: {
    readonly list: () => readonly DeviceStatus[];
    readonly read: (slot: string, query: SeriesQuery, signal: AbortSignal) => AsyncIterable<TimedValue>;
  };
}

const MAX_HISTORY = 10;
/** The first readings are on their way to the disk; the server takes as long to load as they do. */
const OPEN_AFTER_MS = 500;

export class StatusPublisher {
  readonly #deps: StatusPublisherDeps;
  readonly #logLines: LogRing | undefined;
  #telemetry: SelfTelemetry | undefined;
  #cancelOpening: () => void = () => {};
  #opening: Promise<void> = Promise.resolve();
  #server: OpenedStatusServer | undefined;
  #isClosed = false;

  /** Keeps the log's lines from now on; the rest waits for `open`. */
  constructor(deps: StatusPublisherDeps) {
    this.#deps = deps;
    this.#logLines = deps.config.current.status.page === 'off' ? undefined : new LogRing(deps.log);
  }

  /** Begins to answer and to report; called once the agent can say how it is. Never throws. */
  open(): void {
    const { config, log, telemetry } = this.#deps;
    const { clock } = this.#deps.machine;
    const { page, metrics } = config.current.status;
    this.#telemetry = new SelfTelemetry({
      clock,
      periodMs: () => config.current.status.telemetryPeriodMs,
      metrics: () => this.#metrics(),
      append: (entries) => void telemetry.append(entries),
    });
    if (page === 'off' && !metrics) return;
    this.#cancelOpening = clock.after(OPEN_AFTER_MS, () => {
      this.#opening = this.#openServer().catch((error: unknown) =>
        log.error({ error: messageOf(error) }, 'the status page could not be made'),
      );
    });
  }

  /** Where a browser on this machine finds the page; undefined while there is none. */
  get url(): string | undefined {
    return this.#deps.config.current.status.page === 'off' ? undefined : this.#server?.url;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelOpening();
    this.#telemetry?.close();
    await this.#opening;
    await this.#server?.close();
    this.#logLines?.close();
  }

  async #openServer(): Promise<void> {
    const { config, log, telemetry, status, rightClock, attached, timeline } = this.#deps;
    const { randomBytes, openStatusServer } = this.#deps.machine;
    const { page, port, pin, metrics } = config.current.status;
    const server = await openStatusServer({
      settings: given({ page, port, metrics, pin: pin?.reveal() }),
      clock: rightClock,
      randomBytes,
      log,
      logLines: this.#logLines ?? new LogRing({ onLine: () => () => {}, redact: (text) => text }),
      view: () => this.#view(),
      metrics: () => this.#metrics(),
      health: () => ({ health: healthOf(status()), readiness: readinessOf(status()) }),
      series: async (query, signal) => {
        if (query.device === undefined) return thinSeries(telemetry.outbox.read(query, signal), query);
        return attached === undefined ? {} : thinSeries(attached.read(query.device, query, signal), query);
      },
      timeline: (query) => timeline.answer(query),
      diagnose: this.#deps.diagnose,
      claim: this.#deps.claim,
    });
    if (this.#isClosed) await server.close();
    else this.#server = server;
  }

  #metrics(): readonly Metric[] {
    return metricsOf({
      status: this.#deps.status(),
      view: this.#view(),
      uploads: this.#deps.telemetry.uploads.status(),
      process: this.#deps.machine.usage(),
      openPages: this.#server?.openPages ?? 0,
      devices: this.#deps.attached?.list(),
    });
  }

  #view(): StatusView {
    const { telemetry, platform, firmware, timeline } = this.#deps;
    const { bootId: _bootId, configHash: _configHash, ...status } = this.#deps.status();
    const { lanes, ratePerS } = telemetry.outbox.status();
    const latencyMs = telemetry.uploads.status().medianMs;
    const record = platform.store.record(platform.place);
    return {
      ...status,
      connection: given({ ...status.connection, latencyMs }),
      outbox: { ...status.outbox, lanes, ratePerS },
      sensors: status.sensors.map((sensor) => ({ ...sensor, readings: this.#readings(sensor) })),
      firmware: { ...status.firmware, history: jsonOf(firmware.status().history.slice(0, MAX_HISTORY)) },
      timelineSeq: timeline.lastSeq,
      provisioning: record === undefined ? { phase: 'none' } : { phase: record.phase, source: record.source },
    };
  }

  /** A sensor's readings under the names, in the units and with the values that the platform gets. */
  #readings({ name, readings }: SensorStatus): SensorStatus['readings'] {
    const sensor = this.#deps.config.current.sensors.find((one) => one.name === name);
    return readings.map((reading) => {
      const rules = sensor === undefined ? undefined : rulesOfReading(sensor, reading.key);
      const key = rules?.rename ?? reading.key;
      const value = this.#deps.telemetry.latest.get(name, key) ?? reading.value;
      return given({ key, value, atMs: reading.atMs, unit: rules?.unit ?? reading.unit });
    });
  }
}
