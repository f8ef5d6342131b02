/** Builds the agent's status from the states of its parts. */
import type { ActuatorState } from '../actuators/kind/actuator.ts';
import type { OutputReason } from '../actuators/output-reason.ts';
import { readingsOf } from '../config/keys/rule-parts.ts';
import { namesOfReading } from '../config/keys/sensor-keys.ts';
import { sentReading } from '../config/keys/sent-reading.ts';
import type { ActuatorConfig, RuleConfig, SensorConfig } from '../config/schema/agent-config.ts';
import type { Sentence, Told } from '../errors/sentence.ts';
import { english, labelled, type Say, sentence } from '../names/sentences.ts';
import type { OutboxStatus } from '../outbox/outbox.ts';
import type { ContactStatus } from '../platform/contact.ts';
import type { SensorState } from '../sensors/sampler.ts';
import type { AdaptedEntries } from '../telemetry/entry-check.ts';
import type { MeasuredAlarm } from '../telemetry/telemetry-path.ts';
import type { UploadState } from '../telemetry/uploader.ts';
import { type PlatformSources, platformStatus } from './platform-status.ts';
import type {
  ActuatorStatus,
  AgentStatus,
  AlarmStatus,
  ConnectionStatus,
  OutboxSummary,
  SensorStatus,
  ToldStatus,
} from './shape/agent-status.ts';
import { type DeviceStatus, deviceAlerts, devicesSummary, type SharedOutbox } from './shape/device-status.ts';
import { timeOf } from './since-words.ts';

type Known = Omit<
  AgentStatus,
  'alerts' | 'alarms' | 'platform' | 'connection' | 'outbox' | 'adapted' | 'sensors' | 'actuators' | 'devices'
> & { readonly connection: ConnectionStatus & Pick<UploadState, 'sentence'> };

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
  readonly silence?: Told | undefined;
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
  readonly alerts: readonly Told[];
}

export function agentStatus(sources: StatusSources): ToldStatus {
  const { known, contact, uploadIntervalMs, silence, adapted, sensors, actuators, config, alerts } = sources;
  const sentences: Record<string, Sentence> = {};
  const say: Say = (told) => {
    const words = english(told);
    if (typeof told !== 'string') sentences[words] = told;
    return words;
  };
  const devices = sources.devices && devicesSummary(sources.devices, sources.devicesOutbox, say);
  const shared = sources.devicesOutbox;
  const own = outboxSummary(sources.outbox);
  const hours = [own.hoursThatFit, shared?.hoursThatFit].filter((one) => one !== undefined);
  const outbox = {
    ...own,
    fault: own.fault ?? shared?.fault,
    hoursThatFit: hours.length === 0 ? undefined : Math.min(...hours),
  };
  const { sentence: whyKept, ...connection } = known.connection;
  if (whyKept !== undefined) say(whyKept);
  const seen = {
    ...known,
    connection,
    platform: platformStatus(
      {
        ...known,
        ...deliveryOf(known.connection, outbox, shared),
        contact,
        uploadIntervalMs,
        silence,
      },
      say,
    ),
    outbox,
    adapted,
    label: config?.label,
    sensors: namedSensors(sensors, config?.sensors, say),
    actuators: namedActuators(actuators, config, say),
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
        ...alerts.map(say),
        ...(devices === undefined ? [] : deviceAlerts(devices, say)),
        ...derivedAlerts(seen, sentences).map(say),
      ]),
    ],
    sentences,
  };
}

/** Returns the delivery that is behind: the gateway's, or that of attached devices. The counts are those of both. */
function deliveryOf(
  connection: Known['connection'],
  outbox: OutboxSummary,
  shared: SharedOutbox | undefined,
): Delivery {
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
  return {
    heldEntries: status.heldEntries,
    heldBytes: status.heldBytes,
    deadLetters: status.deadLetters,
    rejected: status.rejected,
    resent: status.resent,
    thinned: status.thinned,
    dropped: status.dropped,
    damaged: status.damaged,
    lastLost: status.lastLost,
    writtenBytes: status.diskBytes,
    oldestTs: status.oldestMs,
    hoursThatFit: status.hoursThatFit,
    fault: status.fault,
    missingBytes: status.missingBytes,
    unreadSegments: status.unreadSegments,
    untimedEntries: status.untimedEntries,
    hangingReadMs: status.hangingReadMs,
  };
}

/** Status of sensors with the slots of the attached devices that they are of, and with labels and classes. */
export function namedSensors(
  states: readonly SensorState[],
  configured: readonly NamedSensor[] = [],
  say: Say = english,
): readonly SensorStatus[] {
  const byName = new Map(configured.map((one) => [one.name, one]));
  return states.map((state) => {
    const told = sensorStatus(state, say);
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

/** Returns the status of actuators in the same way; a slot that a rule fills has the rule's label. */
export function namedActuators(
  states: StatusSources['actuators'],
  { actuators = [], rules = [] }: Partial<Pick<NonNullable<StatusSources['config']>, 'actuators' | 'rules'>> = {},
  say: Say = english,
): readonly ActuatorStatus[] {
  const byName = new Map(actuators.map((one) => [one.name, one]));
  const labels = new Map(rules.map(({ name, label }) => [name, label]));
  return states.map(({ name, kind, value, fault, sentence: reason, slots }) => {
    const { label, class: shownAs, device } = byName.get(name) ?? {};
    const called = {
      rule: (rule: string) => labels.get(rule),
      output: (output: string) => byName.get(output)?.label,
      class: shownAs,
    };
    return {
      name,
      label,
      class: shownAs,
      kind,
      device,
      value: value ?? null,
      why: reason && say(labelled(reason, called)),
      slots: slots?.map((slot) => ({
        ...slot,
        label: labels.get(slot.rule ?? ''),
        by: slot.by && say(sentence('writer', { by: slot.by })),
      })),
      fault,
    };
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

function sensorStatus(sensor: SensorState, say: Say): SensorStatus {
  const { name, kind, state, error, refused, readings, failingSinceMs, lastReadAtMs } = sensor;
  const byReason = Map.groupBy(refused, ({ message }) => message);
  const missing = [...byReason.values()].map((values) =>
    sentence('keysMissing', {
      keys: values.map(({ key }) => key).join(', '),
      why: values[0]?.sentence ?? values[0]?.message ?? '',
    }),
  );
  const several = missing.length === 0 ? undefined : sentence('several', { all: missing });
  const fault = error === undefined ? several : (error.sentence ?? error.message);
  return {
    name,
    kind,
    state: state === 'working' ? ('ok' as const) : state,
    fault: fault && say(fault),
    failingSinceMs,
    lastReadMs: failingSinceMs === undefined ? undefined : lastReadAtMs,
    readings: readings.map(({ key, value, unit, monotonicMs }) => ({ key, value, unit, atMs: monotonicMs })),
  };
}

function alarmsOf({ alarms = [], sensors, actuators, config }: StatusSources): readonly AlarmStatus[] {
  const configured = new Map(config?.sensors.map((one) => [one.name, one]));
  const states = new Map(sensors.map((one) => [one.name, one]));
  return alarms
    .map((alarm) => {
      const { reading, ...told } = alarm;
      const { sensor, key } = told;
      const rules = (config?.rules ?? []).filter((rule) =>
        readingsOf(rule).some((one) => one.sensor === sensor && one.key === key),
      );
      const follows = new Map(actuators.map((output) => [output.name, output.slots?.[0]?.rule]));
      const watched = configured.get(sensor);
      const { unit } = states.get(sensor)?.readings.find((one) => one.key === reading) ?? {};
      const names = watched === undefined ? undefined : namesOfReading(watched, { key: reading, unit });
      const moves = rules.filter((rule) => follows.get(rule.set.actuator) === rule.name).map(({ set }) => set.actuator);
      return {
        ...told,
        device: watched?.device,
        keyLabel: names?.label,
        class: names?.class,
        unit: names?.unit,
        moves: [...new Set(moves)],
      };
    })
    .sort((one, other) => one.sinceMs - other.sinceMs);
}

/** Returns alerts beside those that the parts raised themselves. @param said sentences of the faults. */
function derivedAlerts(
  status: Pick<AgentStatus, 'outbox' | 'sensors' | 'actuators' | 'timeSynchronised' | 'nowMs' | 'wallMs'>,
  said: Readonly<Record<string, Sentence>>,
): readonly Sentence[] {
  const toldOf = (text: string | undefined): Told =>
    text === undefined ? sentence('noReasonGiven') : (said[text] ?? text);
  const failingAlert = ({ name, label = name, failingSinceMs, fault }: SensorStatus): Sentence =>
    sentence('sensorFails', { sensor: label, since: timeOf(status)(failingSinceMs), why: toldOf(fault) });
  const { outbox, sensors, actuators, timeSynchronised } = status;
  const { fault, unreadSegments, hangingReadMs, missingBytes, untimedEntries } = outbox;
  const failing = sensors.filter(({ state }) => state === 'failing');
  const partly = sensors.filter((sensor) => sensor.state !== 'failing' && sensor.fault !== undefined);
  const stuck = actuators.filter((actuator) => actuator.fault !== undefined);
  const told = [
    fault !== undefined && sentence('diskTakesNothing', { fault }),
    unreadSegments !== undefined && sentence('diskGivesNotAll'),
    hangingReadMs !== undefined && sentence('diskHangs', { ms: hangingReadMs }),
    missingBytes !== undefined && sentence('diskIsShort'),
    untimedEntries !== undefined && sentence('readingsUntimed', { count: untimedEntries }),
    !timeSynchronised && sentence('clockNotSynchronised'),
    ...failing.map(failingAlert),
    ...partly.map(({ name, label = name, fault: why }) =>
      sentence('sensorGivesNotAll', { sensor: label, why: toldOf(why) }),
    ),
    ...stuck.map(({ name, label = name, fault: why }) =>
      sentence('outputAtFault', { output: label, why: toldOf(why) }),
    ),
  ];
  return told.filter((one) => one !== false);
}
