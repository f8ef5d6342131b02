/**
 * The status page, health, metrics, and the metrics as telemetry, joined to the parts they speak of. The server is loaded after the agent
 * runs, and only when the configuration wants it: nobody waits for a page.
 */

import type { ActuatorSettings } from '../actuators/kind/actuator.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { Device } from '../devices/device.ts';
import { messageOf } from '../errors/agent-error.ts';
import type { FirmwareUpdates } from '../firmware/firmware-updates.ts';
import type { BandQuery, Bands } from '../history/bands.ts';
import { answerSeries } from '../history/plot.ts';
import type { Series, SeriesQuery, TimedValue } from '../history/plot-series.ts';
import type { Clock } from '../host/clock.ts';
import type { AgentLog } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { LocalDoor } from '../operations/local-door.ts';
import { type Metric, metricsOf } from '../status/metrics.ts';
import { healthOf, readinessOf } from '../status/platform-status.ts';
import { SelfTelemetry } from '../status/self-telemetry.ts';
import type { PagePlace, ToldStatus } from '../status/shape/agent-status.ts';
import type { DeviceStatus } from '../status/shape/device-status.ts';
import { sentSensors } from '../status/status-of.ts';
import type { StatusView } from '../status/status-view.ts';
import type { TelemetryPath } from '../telemetry/telemetry-path.ts';
import type { Timeline } from '../timeline/timeline.ts';
import { type JsonObject, jsonOf } from '../values/json.ts';
import { SELF } from '../values/self.ts';
import { LogRing } from './log-ring.ts';
import { openPageCertificate } from './page-certificate.ts';
import { pageFacts } from './page-facts.ts';
import type { OpenedStatusServer, StatusServerDeps } from './page-server.ts';

export interface StatusPublisherDeps {
  readonly config: LiveConfig;
  readonly machine: Pick<HostMachine, 'clock' | 'files' | 'randomBytes' | 'usage'> & {
    readonly openStatusServer: (deps: StatusServerDeps) => Promise<OpenedStatusServer>;
  };
  /** By which the platform dates what the page plots. */
  readonly rightClock: Clock;
  readonly log: AgentLog;
  readonly status: () => ToldStatus;
  readonly telemetry: TelemetryPath;
  readonly self: Pick<Device, 'board' | 'place' | 'store'>;
  readonly firmware: FirmwareUpdates;
  /** Asked for by whoever knows the PIN. */
  readonly operations: LocalDoor;
  readonly outputSettings: (name: string) => ActuatorSettings | undefined;
  readonly timeline: Pick<Timeline, 'lastSeq' | 'answer'>;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
  /** The open claim, and its QR code; undefined while there is none. */
  readonly claim: () => Promise<JsonObject | undefined>;
  /** Attached devices, in the order of the configuration, and what is still kept of one. */
  readonly slots?: {
    readonly list: () => readonly DeviceStatus[];
    readonly read: (slot: string, query: SeriesQuery, signal: AbortSignal) => AsyncIterable<TimedValue>;
    readonly idsOf: (slot: string) => readonly string[];
  };
  /** Coarser record for plots of a week; closed with the page. */
  readonly bands?: Pick<Bands, 'read' | 'close'>;
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

  /** Address and certificate for people, while there is a page. */
  get place(): PagePlace | undefined {
    const { config, self } = this.#deps;
    const server = this.#server;
    if (config.current.status.page === 'off' || server?.url === undefined) return undefined;
    const { port } = new URL(server.url);
    const { fingerprint } = server;
    if (fingerprint === undefined) return { url: `http://localhost:${port}` };
    return { url: `https://${self.board.hostname}:${port}`, fingerprint };
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelOpening();
    this.#telemetry?.close();
    this.#deps.bands?.close();
    await this.#opening;
    await this.#server?.close();
    this.#logLines?.close();
  }

  async #openServer(): Promise<void> {
    const { config, log, status, rightClock, operations, outputSettings, self, timeline } = this.#deps;
    const { randomBytes, openStatusServer, files } = this.#deps.machine;
    const { stateFolder } = config.current;
    const { page, port, pin, metrics, control } = config.current.status;
    const server = await openStatusServer({
      settings: { page, port, metrics, pin: pin?.reveal() },
      clock: rightClock,
      randomBytes,
      log,
      logLines: this.#logLines ?? new LogRing({ onLine: () => () => {}, redact: (text) => text }),
      view: () => this.#view(),
      facts: () =>
        pageFacts(config.current, { mayControl: control, sensors: status().sensors, settings: outputSettings }),
      operations: control ? operations : undefined,
      metrics: () => this.#metrics(),
      health: () => ({ health: healthOf(status()), readiness: readinessOf(status()) }),
      series: (query, signal) => this.#series(query, signal),
      timeline: (query) => timeline.answer(query),
      diagnose: this.#deps.diagnose,
      claim: this.#deps.claim,
      certificate: () =>
        openPageCertificate({ files, clock: rightClock, log, stateFolder, hostname: self.board.hostname }),
    });
    if (this.#isClosed) await server.close();
    else this.#server = server;
  }

  async #series(query: SeriesQuery, signal: AbortSignal): Promise<Series> {
    const { telemetry, slots, bands, rightClock, config } = this.#deps;
    const slot = query.device;
    if (slot !== undefined && slots === undefined) return {};
    return answerSeries(query, {
      nowMs: rightClock.wallMs(),
      retainMs: config.current.outbox.retain.forMs,
      devices: slot === undefined ? [SELF] : (slots?.idsOf(slot) ?? []),
      entries: () =>
        slot === undefined || slots === undefined
          ? telemetry.outbox.read(query, signal)
          : slots.read(slot, query, signal),
      bands: bands && ((asked: BandQuery) => bands.read(asked, signal)),
    });
  }

  #metrics(): readonly Metric[] {
    return metricsOf({
      status: this.#deps.status(),
      view: this.#view(),
      uploads: this.#deps.telemetry.uploads.status(),
      process: this.#deps.machine.usage(),
      openPages: this.#server?.openPages ?? 0,
      devices: this.#deps.slots?.list(),
    });
  }

  #view(): StatusView {
    const { telemetry, self, firmware, timeline } = this.#deps;
    const { bootId: _bootId, configHash: _configHash, configFileHash: _fileHash, ...status } = this.#deps.status();
    const { lanes, ratePerS } = telemetry.outbox.status();
    const latencyMs = telemetry.uploads.status().medianMs;
    const record = self.store.record(self.place);
    return {
      ...status,
      connection: { ...status.connection, latencyMs },
      outbox: { ...status.outbox, lanes, ratePerS },
      sensors: sentSensors(status.sensors, this.#deps.config.current.sensors),
      firmware: { ...status.firmware, history: jsonOf(firmware.status().history.slice(0, MAX_HISTORY)) },
      timelineSeq: timeline.lastSeq,
      provisioning: record === undefined ? { phase: 'none' } : { phase: record.phase, source: record.source },
    };
  }
}
