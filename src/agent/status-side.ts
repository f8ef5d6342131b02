/**
 * The status page, health, metrics, and the metrics as telemetry, joined to the parts they speak of. The server is loaded after the agent
 * runs, and only when the configuration wants it: nobody waits for a page.
 */

import { rulesOfReading } from '../config/sensor-keys.ts';
import { messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { AgentLog } from '../host/log.ts';
import type { TelemetryEntry } from '../outbox/telemetry-entry.ts';
import { claimText, openClaim } from '../provisioning/claim-device.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import { healthOf, readinessOf } from '../status/health.ts';
import type { LatestValues } from '../status/latest-values.ts';
import { LogRing } from '../status/log-ring.ts';
import { type Metric, metricsOf } from '../status/metrics.ts';
import { SelfTelemetry } from '../status/self-telemetry.ts';
import { thinSeries } from '../status/series.ts';
import type { ReadingView, StatusView } from '../status/status-view.ts';
import type { UploadTimes } from '../status/upload-times.ts';
import type { FirmwareSide } from './firmware-side.ts';
import type { LiveConfig } from './live-config.ts';
import type { Machine, StatusDoor } from './machine.ts';
import type { PlatformSide } from './platform-side.ts';
import type { TelemetryPath } from './telemetry-path.ts';

export interface StatusSideDeps {
  readonly config: LiveConfig;
  readonly machine: Pick<Machine, 'clock' | 'files' | 'randomBytes' | 'usage' | 'openStatusServer'>;
  /** By which the platform dates what the page plots. */
  readonly rightClock: Clock;
  readonly log: AgentLog;
  readonly status: () => AgentStatus;
  readonly telemetry: TelemetryPath;
  readonly platform: PlatformSide;
  readonly firmware: FirmwareSide;
  readonly uploads: UploadTimes;
  readonly latest: LatestValues;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
}

const MOST_HISTORY = 10;
/** The first readings are on their way to the disk; the server takes as long to load as they do. */
const OPEN_AFTER_MS = 500;

export class StatusSide {
  readonly #deps: StatusSideDeps;
  readonly #logLines: LogRing | undefined;
  #telemetry: SelfTelemetry | undefined;
  #cancelOpening: () => void = () => {};
  #opening: Promise<void> = Promise.resolve();
  #server: StatusDoor | undefined;
  #isClosed = false;

  /** Keeps the log's lines from now on; the rest waits for `open`. */
  constructor(deps: StatusSideDeps) {
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
      append: (entries: readonly TelemetryEntry[]) => void telemetry.append(entries),
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
    const { config, log, telemetry, status, rightClock } = this.#deps;
    const { randomBytes, openStatusServer } = this.#deps.machine;
    const { page, port, pin, metrics } = config.current.status;
    const server = await openStatusServer({
      settings: { page, port, metrics, ...(pin === undefined ? {} : { pin: pin.reveal() }) },
      clock: rightClock,
      randomBytes,
      log,
      logLines: this.#logLines ?? new LogRing({ onLine: () => () => {}, redact: (text) => text }),
      view: () => this.#view(),
      metrics: () => this.#metrics(),
      health: () => ({ health: healthOf(status()), readiness: readinessOf(status()) }),
      series: ({ keys, fromMs, toMs, points }, signal) =>
        thinSeries(telemetry.outbox.read({ keys, fromMs, toMs }, signal), { keys, fromMs, toMs, points }),
      diagnose: this.#deps.diagnose,
      claim: () => this.#claim(),
    });
    if (this.#isClosed) await server.close();
    else this.#server = server;
  }

  #metrics(): readonly Metric[] {
    return metricsOf({
      status: this.#deps.status(),
      view: this.#view(),
      uploads: this.#deps.uploads.status(),
      process: this.#deps.machine.usage(),
      openPages: this.#server?.openPages ?? 0,
    });
  }

  #view(): StatusView {
    const { telemetry, platform, firmware, uploads } = this.#deps;
    const { bootId: _bootId, configHash: _configHash, ...status } = this.#deps.status();
    const { lanes, ratePerS } = telemetry.outbox.status();
    const latencyMs = uploads.status().medianMs;
    const record = platform.store.record(platform.place);
    return {
      ...status,
      connection: { ...status.connection, ...(latencyMs === undefined ? {} : { latencyMs }) },
      outbox: { ...status.outbox, lanes, ratePerS },
      sensors: status.sensors.map((sensor) => ({ ...sensor, readings: this.#readings(sensor) })),
      firmware: { ...status.firmware, history: firmware.status().history.slice(0, MOST_HISTORY) as unknown as readonly JsonValue[] },
      provisioning: record === undefined ? { phase: 'none' } : { phase: record.phase, source: record.source },
    };
  }

  /** A sensor's readings under the names, in the units and with the values that the platform gets. */
  #readings({ name, readings }: AgentStatus['sensors'][number]): readonly ReadingView[] {
    const sensor = this.#deps.config.current.sensors.find((one) => one.name === name);
    return readings.map((reading) => {
      const rules = sensor === undefined ? undefined : rulesOfReading(sensor, reading.key);
      const key = rules?.rename ?? reading.key;
      const unit = rules?.unit ?? reading.unit;
      return { key, value: this.#deps.latest.get(name, key) ?? reading.value, atMs: reading.atMs, ...(unit === undefined ? {} : { unit }) };
    });
  }

  async #claim(): Promise<JsonObject | undefined> {
    const { config, log, platform } = this.#deps;
    const { clock, files } = this.#deps.machine;
    const { stateFolder } = config.current;
    const claim = await openClaim({ stateFolder, clock, files, hide: (secret) => log.hide(secret) }).catch(() => undefined);
    if (claim === undefined) return undefined;
    const deviceName = platform.deviceName === '' ? {} : { deviceName: platform.deviceName };
    const { encode } = await import('uqr');
    const { data } = encode(claimText({ ...claim, ...deviceName }), { ecc: 'M', border: 2 });
    const code = data.map((row) => row.map((isDark) => (isDark ? '1' : '0')).join(''));
    return { ...claim, ...deviceName, code };
  }
}
