/** Puts together what the parts know of themselves. */
import type { ActuatorState } from '../actuators/kind/actuator.ts';
import type { OutputReason } from '../actuators/output-reason.ts';
import { readingsOf } from '../config/keys/rule-parts.ts';
import { namesOfReading } from '../config/keys/sensor-keys.ts';
import { sentReading } from '../config/keys/sent-reading.ts';
import type { ActuatorConfig, RuleConfig, SensorConfig } from '../config/schema/agent-config.ts';
import type { OutboxStatus } from '../outbox/outbox.ts';
import type { ContactStatus } from '../platform/contact.ts';
import type { SensorState } from '../sensors/sampler.ts';
import type { AdaptedEntries } from '../telemetry/entry-check.ts';
import type { MeasuredAlarm } from '../telemetry/telemetry-path.ts';
import { type PlatformSources, platformStatus } from './platform-status.ts';
import type {
  ActuatorStatus,
  AgentStatus,
  AlarmStatus,
  ConnectionStatus,
  OutboxSummary,
  SensorStatus,
} from './shape/agent-status.ts';
import { type DeviceStatus, deviceAlerts, devicesSummary, type SharedOutbox } from './shape/device-status.ts';
import { sinceWords } from './since-words.ts';

type Known = Omit<
  AgentStatus,
  'alerts' | 'alarms' | 'platform' | 'outbox' | 'adapted' | 'sensors' | 'actuators' | 'devices'
>;

type Delivery = Pick<PlatformSources, 'connection' | 'outbox'>;

/** A sensor as the configuration names it, and assigns it to an attached device. */
export type NamedSensor = Pick<SensorConfig, 'name' | 'keys'> &
  Partial<Pick<SensorConfig, NamedBy | 'window' | 'prefix'>>;
/** An actuator in the same way. */
export type NamedActuator = Pick<ActuatorConfig, 'name'> & Partial<Pick<ActuatorConfig, NamedBy>>;
type NamedBy = 'device' | 'label' | 'class';

export interface StatusSources {
  readonly known: Known;
  readonly contact: ContactStatus;
  readonly uploadIntervalMs: number;
  /** As in `PlatformSources`. */
  readonly silence?: string | undefined;
  readonly outbox: OutboxStatus;
  readonly adapted: AdaptedEntries;
  readonly sensors: readonly SensorState[];
  readonly actuators: readonly (ActuatorState & { readonly kind: string } & Partial<OutputReason>)[];
  readonly alarms?: readonly MeasuredAlarm[];
  /** The configuration, which says what is of which device, and what people call it. */
  readonly config?: {
    readonly label?: string;
    readonly sensors: readonly NamedSensor[];
    readonly actuators: readonly NamedActuator[];
    readonly rules?: readonly (Pick<RuleConfig, 'name' | 'when' | 'set'> & Partial<Pick<RuleConfig, 'label'>>)[];
  };
  /** Attached devices; undefined without `devices:`. */
  readonly devices?: readonly DeviceStatus[] | undefined;
  readonly devicesOutbox?: SharedOutbox | undefined;
  readonly alerts: readonly string[];
}

export function agentStatus(sources: StatusSources): AgentStatus {
  const { known, contact, uploadIntervalMs, silence, adapted, sensors, actuators, config, alerts } = sources;
  const devices = sources.devices && devicesSummary(sources.devices, sources.devicesOutbox);
  const shared = sources.devicesOutbox;
  const own = outboxSummary(sources.outbox);
  const hours = [own.hoursThatFit, shared?.hoursThatFit].filter((one) => one !== undefined);
  const outbox = {
    ...own,
    fault: own.fault ?? shared?.fault,
    hoursThatFit: hours.length === 0 ? undefined : Math.min(...hours),
  };
  const seen = {
    ...known,
    platform: platformStatus({
      ...known,
      ...deliveryOf(known.connection, outbox, shared),
      contact,
      uploadIntervalMs,
      silence,
    }),
    outbox,
    adapted,
    label: config?.label,
    sensors: namedSensors(sensors, config?.sensors),
    actuators: namedActuators(actuators, config),
    alarms: alarmsOf(sources),
    devices,
  };
  // The network comes first: much of what follows may be its consequence.
  const contactAlert = seen.platform.verdict === 'fault' ? [seen.platform.words] : [];
  return {
    ...seen,
    alerts: [
      ...new Set([
        ...contactAlert,
        ...alerts,
        ...(devices === undefined ? [] : deviceAlerts(devices)),
        ...derivedAlerts(seen),
      ]),
    ],
  };
}

/** The delivery that is behind, of the gateway's entries and of those of attached devices, wherever they wait. */
function deliveryOf(connection: ConnectionStatus, outbox: OutboxSummary, shared: SharedOutbox | undefined): Delivery {
  if (shared === undefined) return { connection, outbox };
  const isWell = connection.state === 'idle' || connection.state === 'sending';
  const oldest = [outbox.oldestTs, shared.oldestMs].filter((ts) => ts !== undefined);
  return {
    connection: isWell ? shared.connection : connection,
    outbox: {
      heldEntries: outbox.heldEntries + shared.waitingEntries + shared.apartEntries,
      oldestTs: oldest.length === 0 ? undefined : Math.min(...oldest),
    },
  };
}

function outboxSummary(status: OutboxStatus): OutboxSummary {
  const {
    heldEntries,
    heldBytes,
    deadLetters,
    rejected,
    resent,
    thinned,
    dropped,
    damaged,
    lastLost,
    diskBytes,
    oldestMs,
  } = status;
  const { hoursThatFit, fault, missingBytes, unreadSegments, untimedEntries, hangingReadMs } = status;
  return {
    heldEntries,
    heldBytes,
    deadLetters,
    rejected,
    resent,
    thinned,
    dropped,
    damaged,
    lastLost,
    writtenBytes: diskBytes,
    oldestTs: oldestMs,
    hoursThatFit,
    fault,
    missingBytes,
    unreadSegments,
    untimedEntries,
    hangingReadMs,
  };
}

/** Status of sensors with the slots of the attached devices that they are of, and with labels and classes. */
export function namedSensors(
  states: readonly SensorState[],
  configured: readonly NamedSensor[] = [],
): readonly SensorStatus[] {
  const byName = new Map(configured.map((one) => [one.name, one]));
  return states.map((state) => {
    const told = sensorStatus(state);
    const config = byName.get(state.name);
    if (config === undefined) return told;
    return {
      ...told,
      label: config.label,
      device: config.device,
      readings: told.readings.map((reading) => {
        const { label, class: kind } = namesOfReading(config, reading);
        return { ...reading, label, class: kind };
      }),
    };
  });
}

/** The same of actuators; slots that a rule fills have its label. */
export function namedActuators(
  states: StatusSources['actuators'],
  { actuators = [], rules = [] }: Partial<Pick<NonNullable<StatusSources['config']>, 'actuators' | 'rules'>> = {},
): readonly ActuatorStatus[] {
  const byName = new Map(actuators.map((one) => [one.name, one]));
  const labels = new Map(rules.map(({ name, label }) => [name, label]));
  return states.map((state) => {
    const told = actuatorStatus(state);
    const { label, class: kind, device } = byName.get(state.name) ?? {};
    const slots = told.slots?.map((slot) => ({ ...slot, label: labels.get(slot.rule ?? '') }));
    return { ...told, label, class: kind, device, slots };
  });
}

/** Readings of the sensors under the names, in the units and with the places that the platform gets. */
export function sentSensors(
  sensors: readonly SensorStatus[],
  configured: readonly SensorConfig[],
): readonly SensorStatus[] {
  const byName = new Map(configured.map((one) => [one.name, one]));
  return sensors.map((sensor) => ({
    ...sensor,
    readings: sensor.readings.map((reading) => sentReading(byName.get(sensor.name), reading)),
  }));
}

function sensorStatus(sensor: SensorState): SensorStatus {
  const { name, kind, state, error, refused, readings, failingSinceMs, lastReadAtMs } = sensor;
  const byReason = Map.groupBy(refused, ({ message }) => message);
  const missing = [...byReason].map(([message, values]) => `no ${values.map(({ key }) => key).join(', ')}: ${message}`);
  const fault = error?.message ?? missing.join('; ');
  return {
    name,
    kind,
    state: state === 'working' ? ('ok' as const) : state,
    fault: fault || undefined,
    failingSinceMs,
    lastReadMs: failingSinceMs === undefined ? undefined : lastReadAtMs,
    readings: readings.map(({ key, value, unit, monotonicMs }) => ({ key, value, unit, atMs: monotonicMs })),
  };
}

function actuatorStatus({ name, kind, value, fault, why, slots }: StatusSources['actuators'][number]): ActuatorStatus {
  return { name, kind, value: value ?? null, why, slots, fault };
}

function alarmsOf({ alarms = [], sensors, actuators, config }: StatusSources): readonly AlarmStatus[] {
  const configured = new Map(config?.sensors.map((one) => [one.name, one]));
  const states = new Map(sensors.map((one) => [one.name, one]));
  return alarms
    .map((alarm) => {
      const { sensor, key, reading, name, label, above, below, equal, limit, value, sinceMs, isFromStart } = alarm;
      const rules = (config?.rules ?? []).filter((rule) =>
        readingsOf(rule).some((one) => one.sensor === sensor && one.key === key),
      );
      const follows = new Map(actuators.map((output) => [output.name, output.slots?.[0]?.rule]));
      const watched = configured.get(sensor);
      const { unit } = states.get(sensor)?.readings.find((one) => one.key === reading) ?? {};
      const names = watched === undefined ? undefined : namesOfReading(watched, { key: reading, unit });
      const moves = rules.filter((rule) => follows.get(rule.set.actuator) === rule.name).map(({ set }) => set.actuator);
      return {
        sensor,
        key,
        device: watched?.device,
        name,
        label,
        keyLabel: names?.label,
        class: names?.class,
        unit: names?.unit,
        above,
        below,
        equal,
        limit,
        value,
        sinceMs,
        isFromStart,
        acknowledged: alarm.acknowledged,
        moves: [...new Set(moves)],
      };
    })
    .sort((one, other) => one.sinceMs - other.sinceMs);
}

function failingAlerts(
  failing: readonly SensorStatus[],
  status: Pick<AgentStatus, 'timeSynchronised' | 'nowMs' | 'wallMs'>,
): readonly string[] {
  if (failing.length === 0) return [];
  const since = sinceWords(status);
  return failing.map(
    ({ name, label = name, failingSinceMs, fault = 'no reason given' }) =>
      `sensor ${label} fails${since(failingSinceMs)}: ${fault}`,
  );
}

/** Returns alerts in words, beside those that the parts raised themselves. */
function derivedAlerts(
  status: Pick<AgentStatus, 'outbox' | 'sensors' | 'actuators' | 'timeSynchronised' | 'nowMs' | 'wallMs'>,
): string[] {
  const { outbox, sensors, actuators, timeSynchronised } = status;
  const { fault, unreadSegments, hangingReadMs, missingBytes, untimedEntries } = outbox;
  const failing = sensors.filter(({ state }) => state === 'failing');
  const partly = sensors.filter((sensor) => sensor.state !== 'failing' && sensor.fault !== undefined);
  const stuck = actuators.filter((actuator) => actuator.fault !== undefined);
  const told = [
    fault !== undefined &&
      `the disk does not take readings (${fault}); they are sent from memory, and what waits there is lost at a restart`,
    unreadSegments !== undefined &&
      'the disk does not give back part of what waits for delivery, which is tried again; the rest is sent',
    hangingReadMs !== undefined &&
      `the disk has not come back from a read for ${Math.floor(hangingReadMs / 60_000)} min; what is stored waits, new readings are stored`,
    missingBytes !== undefined &&
      'the disk has less free space than outbox.minFree; the outbox does not grow, and gives up readings as outbox.whenFull says',
    untimedEntries !== undefined &&
      `${untimedEntries} readings of earlier starts wait for their time: the clock was not right then, and what is known leaves too much room; outbox.timeUncertain: send sends them marked, outbox.maxAge drops them`,
    !timeSynchronised && 'the clock is not synchronised; readings wait until their time is known',
    ...failingAlerts(failing, status),
    ...partly.map(({ name, label = name, fault: missing }) => `sensor ${label} gives ${missing}`),
    ...stuck.map(({ name, label = name, fault: why }) => `actuator ${label}: ${why}`),
  ];
  return told.filter((text) => typeof text === 'string');
}
