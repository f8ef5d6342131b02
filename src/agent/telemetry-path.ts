/**
 * The way of a reading through the agent, joined here and nowhere else:
 *
 *   sampler → report rules → outbox (durable) → uploader → platform
 */
import { join } from 'node:path';
import type { AgentConfig, KeyRulesConfig, OutboxConfig } from '../config/agent-config.ts';
import { rulesOfReading } from '../config/sensor-keys.ts';
import { messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import { StateFile } from '../host/state-file.ts';
import type { TimeSync } from '../host/time-sync.ts';
import { Outbox } from '../outbox/outbox.ts';
import type { OutboxSettings } from '../outbox/outbox-settings.ts';
import type { TelemetryEntry } from '../outbox/telemetry-entry.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import type { Sample } from '../sensors/sensor.ts';
import { DAILY_BUDGET_FORMAT, DailyBudget, type SentToday, sentTodayFrom } from '../telemetry/daily-budget.ts';
import { ReportRules } from '../telemetry/report-rules.ts';
import { Uploader } from '../telemetry/uploader.ts';

export interface TelemetryPathDeps {
  /** Asked at each use: reload and live settings change it. */
  readonly config: () => AgentConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeSync: TimeSync;
  readonly postTelemetry: DeviceApi['postTelemetry'];
  readonly prepareTelemetry: DeviceApi['prepareTelemetry'];
  /** HTTP bytes sent since start. */
  readonly sentBytes: () => number;
  readonly onAcknowledged?: () => void;
  /** Sees every value after conversion, reported or not. */
  readonly observe?: (sensor: string, key: string, value: JsonValue) => void;
  /** Told of entries once they are durable; the demo's second account. */
  readonly onDurable?: (entries: readonly TelemetryEntry[]) => void;
}

/** A crash forgets no more of the day's budget than this. */
const KEEP_BUDGET_EVERY_MS = 60_000;

export class TelemetryPath {
  readonly outbox: Outbox;
  readonly uploader: Uploader;
  readonly budget: DailyBudget;
  readonly #deps: TelemetryPathDeps;
  readonly #rules: ReportRules;
  readonly #spentFile: StateFile;
  #keptBudgetAtMs = Number.NEGATIVE_INFINITY;

  private constructor(
    deps: TelemetryPathDeps,
    outbox: Outbox,
    spent: { readonly file: StateFile; readonly carried: SentToday | undefined },
  ) {
    this.#deps = deps;
    this.outbox = outbox;
    this.#spentFile = spent.file;
    this.budget = new DailyBudget(
      { clock: deps.clock, bytesSent: deps.sentBytes, limitBytes: () => deps.config().platform.dailyBudgetBytes },
      spent.carried,
    );
    this.uploader = new Uploader({
      outbox,
      postTelemetry: deps.postTelemetry,
      prepareTelemetry: deps.prepareTelemetry,
      clock: deps.clock,
      log: deps.log,
      settings: () => {
        const { upload, outbox: kept } = deps.config();
        return {
          maxBatchBytes: upload.maxBatchBytes,
          maxBatchEntries: upload.maxBatchEntries,
          intervalMs: upload.intervalMs,
          backlogRatePerS: kept.backlogRatePerS,
        };
      },
      budget: this.budget,
      onAcknowledged: () => {
        this.#keepBudget();
        deps.onAcknowledged?.();
      },
    });
    this.#rules = new ReportRules({
      clock: deps.clock,
      rulesFor: (sensor, key) => this.#rulesFor(sensor, key),
      report: (entries) => void this.append(entries),
      ...(deps.observe === undefined ? {} : { observe: deps.observe }),
    });
  }

  static async open(deps: TelemetryPathDeps, signal: AbortSignal): Promise<TelemetryPath> {
    const { clock, log, timeSync } = deps;
    const { stateFolder, outbox: settings } = deps.config();
    const outbox = await Outbox.open(
      { folder: join(stateFolder, 'outbox'), clock, log, timeSync, settings: outboxSettings(settings) },
      signal,
    );
    const file = new StateFile({ ...DAILY_BUDGET_FORMAT, path: join(stateFolder, 'daily-budget.json'), log });
    return new TelemetryPath(deps, outbox, { file, carried: sentTodayFrom(await file.read()) });
  }

  /** Readings from the sampler. */
  take(samples: readonly Sample[]): void {
    this.#rules.take(samples);
  }

  /** Entries of the agent's own, beside the sensors'. Resolves when they are durable; never rejects, a loss is logged and counted by the outbox. */
  async append(entries: readonly TelemetryEntry[]): Promise<void> {
    try {
      await this.outbox.append(entries);
      this.#deps.onDurable?.(entries);
    } catch (error) {
      this.#deps.log.error({ error: messageOf(error), entries: entries.length }, 'readings could not be kept');
    }
  }

  /** Makes what waits durable, sends what can be sent until the signal aborts, and closes the outbox. */
  async drainAndClose(signal: AbortSignal): Promise<void> {
    this.#rules.close();
    await Promise.race([this.outbox.flush(), once(signal)]);
    await this.uploader.drain(signal);
    this.#keptBudgetAtMs = Number.NEGATIVE_INFINITY;
    this.#keepBudget();
    await Promise.all([this.outbox.close(), this.#spentFile.flush()]);
  }

  /** Only where a budget is set, and seldom: a small file a minute is nothing to a link, and something to a card. */
  #keepBudget(): void {
    const { clock, config } = this.#deps;
    const now = clock.monotonicMs();
    if (config().platform.dailyBudgetBytes === undefined || now - this.#keptBudgetAtMs < KEEP_BUDGET_EVERY_MS) return;
    this.#keptBudgetAtMs = now;
    this.#spentFile.save({ ...this.budget.today() });
  }

  #rulesFor(sensor: string, key: string): KeyRulesConfig | undefined {
    const config = this.#deps.config().sensors.find(({ name }) => name === sensor);
    return config === undefined ? undefined : rulesOfReading(config, key);
  }
}

function outboxSettings({ retain, ...settings }: OutboxConfig): OutboxSettings {
  return { ...settings, retainForMs: retain.forMs, retainBytes: retain.bytes };
}

function once(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
