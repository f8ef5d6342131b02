/**
 * The way of a reading through the agent, joined here and nowhere else:
 *
 *   sampler → report rules → outbox → uploader → platform
 */
import { join } from 'node:path';
import { sensorStateKey } from '../config/keys/added-keys.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { LinkUploads } from '../link/link.ts';
import type { OutboxStatus, PatientOutbox, TelemetryEntry } from '../outbox/outbox.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import type { PlatformClients } from '../platform/platform-clients.ts';
import type { Sample } from '../sensors/kind/sensor.ts';
import { StateFile } from '../store/state-file.ts';
import type { JsonValue } from '../values/json.ts';
import type { Kept } from '../values/kept.ts';
import { SELF } from '../values/self.ts';
import type { Acknowledger, AlarmChoice, SeenAlarm, ToldAcknowledgement } from './acknowledgement.ts';
import type { StandingAlarm, ToldAlarm } from './alarm-change.ts';
import { ALARM_REMOVED } from './alarm-thresholds.ts';
import { ConfiguredSensors } from './configured-sensors.ts';
import { DeadbandRules, type DeadbandRulesDeps } from './deadband-rules.ts';
import { type AdaptedEntries, EntryCheck } from './entry-check.ts';
import { LatestValues } from './latest-values.ts';
import { placeOf, placeText, STANDING_STATES_FORMAT, StandingStates, type StatePlace } from './standing-states.ts';
import { uploadSettings } from './upload-settings.ts';
import { UploadTimes } from './upload-times.ts';
import { Uploader } from './uploader.ts';

/** An alarm that is on, with the last value of its key. */
export interface MeasuredAlarm extends StandingAlarm {
  readonly value: JsonValue;
}

export interface SlotTelemetry {
  /** Id of the device that a sensor with such a setting belongs to; the gateway's without one. */
  readonly idOf: (slot: string | undefined) => string;
  /** Takes a value that may be a serial number. */
  readonly observe: (sensor: string, key: string, value: JsonValue) => void;
  readonly outbox: Pick<PatientOutbox, 'append' | 'take'>;
  readonly outboxes: readonly Pick<PatientOutbox, 'resendRecent' | 'keepRecord'>[];
}

export interface TelemetryPathDeps extends Pick<HostMachine, 'clock' | 'files'> {
  /** Asked at each use: reload and live settings change it. */
  readonly config: () => AgentConfig;
  readonly log: Log;
  readonly openOutbox: () => Promise<PatientOutbox>;
  readonly deviceApi: Pick<DeviceApi, 'postTelemetry' | 'prepareTelemetry'>;
  /** Counts of what was renamed on the way to the platform. */
  readonly clients: Pick<PlatformClients, 'renamedEntries'>;
  readonly onAcknowledged?: () => void;
  /** Uploads that the link leaves. */
  readonly link: () => LinkUploads;
  /** The device of a sensor, and where its entries go; absent where there are no devices beside the gateway. */
  readonly slots?: SlotTelemetry;
  /** Sees every value after conversion, reported or not; undefined for one that came and may be held against nothing. */
  readonly observe?: (sensor: string, key: string, value: JsonValue | undefined) => void;
  readonly onAlarm?: (alarm: ToldAlarm) => void;
  readonly onAlarmAcknowledged?: (told: ToldAcknowledgement) => void;
  /** Local time for alarms with hours; undefined while the clock is not known to be right. */
  readonly localTime?: DeadbandRulesDeps['localTime'];
  /** Told of entries once they have arrived or are durable; the demo's second account. */
  readonly onDurable?: (entries: readonly TelemetryEntry[]) => void;
}

/** A disk that has not taken an entry by then may never take it, and counts as stuck to alarms: what can be sent is sent without it. */
const FLUSH_WITHIN_MS = 5_500;

export class TelemetryPath {
  readonly outbox: PatientOutbox;
  readonly uploader: Uploader;
  readonly uploads: UploadTimes;
  /** Last values of the sensors, as they are reported. */
  readonly latest = new LatestValues();
  readonly #deps: TelemetryPathDeps;
  readonly #rules: DeadbandRules;
  readonly #check: EntryCheck;
  readonly #standing: StandingStates;
  readonly #sensors: ConfiguredSensors;

  private constructor(deps: TelemetryPathDeps, outbox: PatientOutbox, standing: StandingStates) {
    this.#deps = deps;
    this.uploads = new UploadTimes(deps.clock);
    this.#standing = standing;
    this.outbox = outbox;
    this.#check = new EntryCheck(deps.log);
    this.#sensors = new ConfiguredSensors(() => deps.config().sensors);
    this.uploader = new Uploader({
      outbox,
      postTelemetry: (rows, signal) => this.uploads.measure(() => deps.deviceApi.postTelemetry(rows, signal)),
      prepareTelemetry: (rows) => deps.deviceApi.prepareTelemetry(rows),
      clock: deps.clock,
      log: deps.log,
      settings: () => uploadSettings(deps.config(), deps.link().waitMs),
      link: deps.link,
      onAcknowledged: deps.onAcknowledged,
    });
    this.#rules = new DeadbandRules({
      clock: deps.clock,
      rulesFor: (sensor, key) => this.#sensors.rulesFor(sensor, key),
      onWaiting: (sample) => this.#outboxOf(this.#deviceOf(sample.sensor)).take([sample]),
      deviceOf: (sensor) => this.#deviceOf(sensor),
      report: (entries) => this.#appendOrThrow(entries),
      standing: this.#standing,
      onAlarm: deps.onAlarm,
      onAlarmAcknowledged: deps.onAlarmAcknowledged,
      localTime: deps.localTime,
      identify: ({ sensor, key, value, isPart }) => {
        if (isPart !== true) deps.slots?.observe(sensor, key, value);
      },
      observe: ({ sensor, key, value, isPart, isOld }) => {
        this.latest.note(sensor, key, value);
        if (isOld !== true) deps.observe?.(sensor, key, isPart === true ? undefined : value);
      },
    });
  }

  static async open(deps: TelemetryPathDeps): Promise<TelemetryPath> {
    const { clock, files, log } = deps;
    const { stateFolder } = deps.config();
    const opening = deps.openOutbox();
    const standing = new StateFile({
      ...STANDING_STATES_FORMAT,
      path: join(stateFolder, 'standing-states.json'),
      files,
      clock,
      log,
    });
    // Beside each other: a disk that does not answer is waited for once.
    const [outbox, standingStates] = await Promise.all([opening, StandingStates.open(standing, clock)]);
    return new TelemetryPath(deps, outbox, standingStates);
  }

  /** Counts of what the outbox holds and lost, and of what was changed since start so that the platform keeps it. */
  status(): {
    readonly outbox: OutboxStatus;
    readonly adapted: AdaptedEntries;
    readonly alarms: readonly MeasuredAlarm[];
  } {
    const { counts } = this.#check;
    const alarms = this.#rules
      .alarms()
      .map((alarm) => ({ ...alarm, value: this.latest.get(alarm.sensor, alarm.key) ?? null }));
    return {
      outbox: this.outbox.status(),
      adapted: { ...counts, renamed: counts.renamed + this.#deps.clients.renamedEntries },
      alarms,
    };
  }

  /** The name under which the platform keeps this key; counts the reading that has another. */
  keyOf(key: string): string {
    return this.#check.keyOf(key);
  }

  /** The platform has restarted: what it acknowledged shortly before its last answer goes once more. */
  platformRestarted(lastHeardAtMs: number): void {
    const { resendWindowMs } = this.#deps.config().platform;
    if (resendWindowMs <= 0) return;
    for (const outbox of this.#outboxes) outbox.resendRecent(lastHeardAtMs - resendWindowMs);
  }

  /** The platform is not reached: what it acknowledged lately is written, too, as it may have to go once more. */
  contactLost(): void {
    for (const outbox of this.#outboxes) outbox.keepRecord();
  }

  /** Readings from the sampler. Resolves when what is reported of them has arrived or is durable. @throws AgentError when it was lost, which is logged. */
  take(samples: readonly Sample[]): Kept {
    return this.#rules.take(samples);
  }

  /** Marks alarms of the choice as seen; returns each with who saw it first. @throws AgentError `alarms/not-on` (drop). */
  acknowledgeAlarm(choice: AlarmChoice, by: Acknowledger): readonly SeenAlarm[] {
    return this.#rules
      .acknowledge(choice, by)
      .flatMap(({ sensor, key, name, acknowledged }) =>
        acknowledged === undefined ? [] : [{ sensor, key, name, acknowledged }],
      );
  }

  /** A sensor's failing and mending is telemetry too: `<sensor>_state`. */
  reportSensor(sensor: string, state: string, isFailing: boolean): void {
    const place = { device: this.#deviceOf(sensor), key: sensorStateKey(sensor) };
    const text = placeText(place);
    const isAlarm = isFailing || this.#standing.has(text);
    this.#standing.note(text, { sensor }, isFailing);
    void this.append([this.#ownEntry(place, state, isAlarm ? 'alarm' : 'regular')]);
  }

  /** Ends what stands of sensors and readings that are no longer configured: nobody else would ever say that it is over. */
  configured(sensors: ReadonlySet<string>): void {
    const isConfigured = this.#sensors.configured(sensors);
    this.#rules.keepOnly(isConfigured);
    // A sensor that belongs to another device now is over at the one before.
    const isThere = (sensor: string, { device }: StatePlace): boolean =>
      device.startsWith('?') || device === this.#deviceOf(sensor);
    const gone = this.#standing.takeGone((owner, text) => isConfigured(owner) && isThere(owner.sensor, placeOf(text)));
    if (gone.length > 0) void this.append(gone.map((text) => this.#ownEntry(placeOf(text), ALARM_REMOVED, 'alarm')));
  }

  /** Entries of the agent's own, beside the sensors'. Resolves when they have arrived or are durable; never rejects, a loss is logged and counted by the outbox. */
  append(given: readonly TelemetryEntry[]): Promise<void> {
    return this.#appendOrThrow(given).catch(() => {});
  }

  async #appendOrThrow(given: readonly TelemetryEntry[]): Promise<void> {
    const entries = this.#check.check(given);
    const own = entries.filter(({ device }) => device === SELF);
    const others = own.length === entries.length ? [] : entries.filter(({ device }) => device !== SELF);
    await Promise.all([this.#keep(this.outbox, own), this.#keep(this.#slotsOutbox, others)]);
  }

  /** Makes what waits durable as far as the disk takes it, sends what can be sent until the signal aborts, and closes the outbox. */
  async drainAndClose(signal: AbortSignal): Promise<void> {
    this.#rules.close();
    await endedWithin(this.#deps.clock, FLUSH_WITHIN_MS, this.outbox.flush(), signal);
    await this.uploader.drain(signal);
    await Promise.all([this.outbox.close(), this.#standing.close()]);
  }

  async #keep(outbox: Pick<PatientOutbox, 'append'>, entries: readonly TelemetryEntry[]): Promise<void> {
    if (entries.length === 0) return;
    try {
      await outbox.append(entries);
      this.#deps.onDurable?.(entries);
    } catch (error) {
      this.#deps.log.error({ error: messageOf(error), entries: entries.length }, 'readings could not be kept');
      throw error;
    }
  }

  #deviceOf(sensor: string): string {
    return this.#deps.slots?.idOf(this.#sensors.deviceOf(sensor)) ?? SELF;
  }

  #outboxOf(device: string): Pick<PatientOutbox, 'append' | 'take'> {
    return device === SELF ? this.outbox : this.#slotsOutbox;
  }

  get #outboxes(): SlotTelemetry['outboxes'] {
    return [this.outbox, ...(this.#deps.slots?.outboxes ?? [])];
  }

  get #slotsOutbox(): Pick<PatientOutbox, 'append' | 'take'> {
    return this.#deps.slots?.outbox ?? this.outbox;
  }

  #ownEntry(place: StatePlace, value: JsonValue, entryClass: TelemetryEntry['class']): TelemetryEntry {
    const { bootId } = this.#deps.clock;
    return { ...place, value, bootId, monotonicMs: this.#deps.clock.monotonicMs(), class: entryClass };
  }
}
