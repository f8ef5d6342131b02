/**
 * Devices at a broker: listens for a while to how they announce themselves, and makes sections of it. Whoever may publish may announce anything: each
 * section is judged as those of a file are, and left out where it has a fault. Nothing is published.
 *
 *   messages (bounded) ─► announcements of four families ─► sections ─► schema and checks of their kinds
 */
import { actuatorSchema } from '../config/schema/actuators.ts';
import { sensorSchema } from '../config/schema/sensors.ts';
import { retryable } from '../errors/agent-error.ts';
import type { MqttBrokerSettings, MqttPort } from '../hardware/mqtt-port.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { actuatorDefinition } from '../kinds/actuator-kinds.ts';
import { definitionOf } from '../kinds/sensor-kinds.ts';
import type { JsonObject } from '../values/json.ts';
import type {
  AnnouncedDevice,
  AnnouncedOutput,
  AnnouncedSensor,
  HeardMessages,
  LeftOut,
} from './announcements/announced.ts';
import { homeAssistantDevices } from './announcements/home-assistant.ts';
import { shellyDevices } from './announcements/shelly.ts';
import { tasmotaDevices } from './announcements/tasmota.ts';
import { zigbeeDevices } from './announcements/zigbee2mqtt.ts';
import { FreeNames } from './free-names.ts';

/** Topics of announcements, and of what those that announce nothing say by themselves. */
const FILTERS: readonly string[] = [
  '+/bridge/devices',
  '+/+/availability',
  // Names of Zigbee2MQTT may have levels of their own.
  '+/+/+/availability',
  '+/+/+/+/availability',
  'homeassistant/+/+/config',
  'homeassistant/+/+/+/config',
  'tasmota/discovery/+/config',
  'tasmota/discovery/+/sensors',
  'shellies/+',
  'shellies/+/relay/+',
  'shellies/+/relay/+/power',
  '+/online',
  '+/+/online',
  '+/status/+',
  '+/+/status/+',
];
/** A house of Home Assistant has some thousands of entities of a kB each. */
const MAX_MESSAGES = 10_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_DEVICES = 1_000;
/** A broker that is there takes the connection by then. */
const CONNECT_WITHIN_MS = 4_000;
const LOOK_EVERY_MS = 50;
/** A plug that is switched on and off tells something each hour at the latest. */
const PERIOD = '1h';

export interface MqttListening {
  readonly settings: MqttBrokerSettings;
  readonly forMs: number;
}

export interface HeardBroker {
  readonly messages: HeardMessages;
  /** A bound was reached: there may be more. */
  readonly isCut: boolean;
}

/** @throws AgentError `hardware/mqtt-no-answer` (retry) where the broker does not take the connection. */
export async function listenAtBroker(
  { mqtt, clock }: { readonly mqtt: MqttPort; readonly clock: Clock },
  { settings, forMs }: MqttListening,
  signal: AbortSignal,
): Promise<HeardBroker> {
  const connection = await mqtt.open(settings, signal);
  const messages = new Map<string, string>();
  let bytes = 0;
  let isCut = false;
  const full = new AbortController();
  try {
    for (const filter of FILTERS)
      connection.subscribe(filter, ({ topic, payload }) => {
        bytes += topic.length + payload.length;
        isCut ||= bytes > MAX_BYTES || (messages.size >= MAX_MESSAGES && !messages.has(topic));
        if (isCut) full.abort();
        else messages.set(topic, Buffer.from(payload).toString('utf8'));
      });
    await withinMs(
      clock,
      CONNECT_WITHIN_MS,
      async (within) => {
        while (connection.outage !== undefined && !within.aborted) await clock.sleep(LOOK_EVERY_MS, within);
      },
      signal,
    );
    signal.throwIfAborted();
    if (connection.outage !== undefined) throw retryable('hardware/mqtt-no-answer', connection.outage);
    await clock.sleep(forMs, AbortSignal.any([signal, full.signal]));
    signal.throwIfAborted();
    return { messages, isCut };
  } finally {
    await connection.close();
  }
}

export interface ProposedDevice extends Pick<AnnouncedDevice, 'family' | 'name' | 'model'> {
  /** Name in the sections. */
  readonly slot: string;
  readonly sensors: readonly JsonObject[];
  readonly outputs: readonly JsonObject[];
  /** Announcement with a template that is not understood. */
  readonly leftOut: readonly LeftOut[];
}

export interface ProposalOptions {
  readonly broker: string;
  readonly names: FreeNames;
  /** Each is a device of its own on the platform. */
  readonly hasDevices: boolean;
}

/** Proposes sections: a topic that two families tell of once, by the first of them. */
export function proposalsFrom(messages: HeardMessages, options: ProposalOptions): readonly ProposedDevice[] {
  const devices = [zigbeeDevices, tasmotaDevices, shellyDevices, homeAssistantDevices].flatMap((read) =>
    read(messages),
  );
  const [read, told] = [new Set<string>(), new Set<string>()];
  // Those who announce a device in their own words are believed first.
  const isKnown = new Set(
    devices
      .filter(({ family }) => family !== 'Home Assistant')
      .flatMap(({ sensors, outputs }) => [...sensors, ...outputs].map(({ topic }) => topic)),
  );
  return devices.slice(0, MAX_DEVICES).flatMap((device) => {
    const sensors = device.sensors.filter(({ topic }) => !read.has(topic));
    const outputs = device.outputs.filter(({ topic, stateTopic = '' }) => !told.has(`${topic} ${stateTopic}`));
    for (const { topic } of sensors) read.add(topic);
    for (const { topic, stateTopic = '' } of outputs) told.add(`${topic} ${stateTopic}`);
    const slot = slotOf(device.name, sensors.length + outputs.length === 0 ? new FreeNames() : options.names);
    const own = {
      sensors: sensors.map((one, at) => sensorSection(one, slot, at, options)).filter(isSensor),
      outputs: outputs.map((one) => outputSection(one, slot, options)).filter(isOutput),
    };
    const leftOut = (device.leftOut ?? []).filter(({ topic }) => !isKnown.has(topic));
    if (own.sensors.length + own.outputs.length + leftOut.length === 0) return [];
    return [{ family: device.family, name: device.name, model: device.model, slot, ...own, leftOut }];
  });
}

function sensorSection(sensor: AnnouncedSensor, slot: string, at: number, options: ProposalOptions): JsonObject {
  const { topic, paths, key, units, scales = {}, availability } = sensor;
  const keys = [...new Set([...Object.keys(scales), ...Object.keys(units)])].map((name): [string, JsonObject] => [
    name,
    {
      ...(Object.hasOwn(scales, name) ? { scale: scales[name] } : {}),
      ...(Object.hasOwn(units, name) ? { unit: units[name] } : {}),
    },
  ]);
  return {
    name: at === 0 ? slot : options.names.next(`${slot}_${at + 1}`),
    kind: 'mqtt',
    broker: options.broker,
    topic,
    period: PERIOD,
    ...(options.hasDevices ? { device: slot } : { prefix: `${slot}.` }),
    ...(paths === undefined ? { format: 'number', key } : { paths }),
    ...(availability === undefined ? {} : { availability }),
    ...(keys.length === 0 ? {} : { keys: Object.fromEntries(keys) }),
  };
}

function outputSection(output: AnnouncedOutput, slot: string, options: ProposalOptions): JsonObject {
  const { part, topic, send, template, stateTopic, statePath, states, limits } = output;
  const limited = Object.entries(limits ?? {}).filter(([, value]) => value !== undefined);
  // A sensor and an output may have one name, and two outputs may not.
  const name = options.names.next(part === '' ? `${slot}_switch` : `${slot}_${part}`);
  return {
    name,
    kind: 'mqtt',
    broker: options.broker,
    ...(options.hasDevices ? { device: slot } : {}),
    topic,
    ...(send === undefined ? { template } : { send }),
    ...(stateTopic === undefined ? {} : { stateTopic }),
    ...(statePath === undefined ? {} : { statePath }),
    ...(states === undefined ? {} : { states }),
    ...(limited.length === 0 ? {} : { limits: Object.fromEntries(limited) }),
  };
}

function isSensor(section: JsonObject): boolean {
  const { data } = sensorSchema.safeParse(section);
  return data !== undefined && (definitionOf(data.kind).faults?.(data as never, []) ?? []).length === 0;
}

function isOutput(section: JsonObject): boolean {
  const { data } = actuatorSchema.safeParse(section);
  return data !== undefined && (actuatorDefinition(data.kind).faults?.(data, []) ?? []).length === 0;
}

/** Announced name as that of a section. */
function slotOf(name: string, names: FreeNames): string {
  const plain = name
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 40);
  return names.next(/^[A-Za-z]/.test(plain) ? plain : `device_${plain}`);
}
