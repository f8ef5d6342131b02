/**
 * Tasmota: `tasmota/discovery/MAC/config` has names, relays and how topics are made, `…/sensors` a message of the sensors
 * (tasmota.github.io, "MQTT discovery").
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/json.ts';
import {
  type AnnouncedDevice,
  type AnnouncedOutput,
  type AnnouncedSensor,
  type HeardMessages,
  jsonIn,
  objectIn,
  pathOf,
  textIn,
} from './announced.ts';

/** Relay, and light. */
const SWITCHING: readonly unknown[] = [1, 2];
const UNITS: Readonly<Record<string, string>> = {
  Humidity: '%',
  Power: 'W',
  ApparentPower: 'VA',
  ReactivePower: 'var',
  Voltage: 'V',
  Current: 'A',
  Total: 'kWh',
  Today: 'kWh',
  Yesterday: 'kWh',
  Illuminance: 'lx',
  CarbonDioxide: 'ppm',
};
const MAX_DEPTH = 8;

export function tasmotaDevices(heard: HeardMessages): readonly AnnouncedDevice[] {
  return [...heard].flatMap(([topic, text]) => {
    const [, base] = /^(tasmota\/discovery\/[^/]+)\/config$/.exec(topic) ?? [];
    const config = objectIn(jsonIn(text));
    const name = textIn(config.dn) ?? textIn(config.t);
    if (base === undefined || name === undefined) return [];
    const topicOf = topicsOf(config);
    if (topicOf === undefined) return [];
    const { sn } = objectIn(jsonIn(heard.get(`${base}/sensors`)));
    return [
      {
        family: 'Tasmota' as const,
        name,
        model: textIn(config.md),
        sensors: sensorsOf(config, objectIn(sn), topicOf),
        outputs: outputsOf(config, topicOf),
      },
    ];
  });
}

type Prefix = 'cmnd' | 'stat' | 'tele';
type TopicOf = (prefix: Prefix) => string;

/** Topics as the device makes them, with / at their end. */
function topicsOf({ t, ft, tp, hn, mac }: JsonObject): TopicOf | undefined {
  const [own, full] = [textIn(t), textIn(ft)];
  if (own === undefined || full === undefined) return undefined;
  const prefixes = Array.isArray(tp) ? tp : [];
  return (prefix) => {
    const at = (['cmnd', 'stat', 'tele'] as const).indexOf(prefix);
    const filled = full
      .replaceAll('%prefix%', () => textIn(prefixes[at]) ?? prefix)
      .replaceAll('%topic%', () => own)
      .replaceAll('%hostname%', () => textIn(hn) ?? '')
      .replaceAll('%id%', () => textIn(mac) ?? '');
    return filled.endsWith('/') ? filled : `${filled}/`;
  };
}

function outputsOf({ rl, state }: JsonObject, topicOf: TopicOf): AnnouncedOutput[] {
  const [off = 'OFF', on = 'ON'] = (Array.isArray(state) ? state : []).map((one) => String(one));
  const relays = (Array.isArray(rl) ? rl : []).flatMap((type, at) => (SWITCHING.includes(type) ? [at + 1] : []));
  return relays.map((number) => {
    const part = relays.length === 1 && number === 1 ? '' : String(number);
    return {
      part,
      topic: `${topicOf('cmnd')}POWER${part}`,
      send: { on: 'ON', off: 'OFF' },
      stateTopic: `${topicOf('stat')}POWER${part}`,
      ...(on === 'ON' && off === 'OFF' ? {} : { states: { on, off } }),
    };
  });
}

function sensorsOf({ onln, ofln }: JsonObject, sn: JsonObject, topicOf: TopicOf): AnnouncedSensor[] {
  const leaves = leavesOf(sn, []);
  if (leaves.length === 0) return [];
  const keyed = leaves.map((names) => ({ key: names.join('_'), names }));
  const units = keyed.flatMap(({ key, names }): [string, string][] => {
    const unit = unitOf(names, sn);
    return unit === undefined ? [] : [[key, unit]];
  });
  return [
    {
      topic: `${topicOf('tele')}SENSOR`,
      paths: Object.fromEntries(keyed.map(({ key, names }) => [key, pathOf(names)])),
      units: Object.fromEntries(units),
      availability: {
        topic: `${topicOf('tele')}LWT`,
        online: textIn(onln) ?? 'Online',
        offline: textIn(ofln) ?? 'Offline',
      },
    },
  ];
}

/** Places of all numbers. */
function leavesOf(value: JsonValue | undefined, names: readonly (string | number)[]): (readonly (string | number)[])[] {
  if (typeof value === 'number') return [names];
  if (names.length > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.flatMap((one, at) => leavesOf(one, [...names, at]));
  return isJsonObject(value) ? Object.entries(value).flatMap(([key, one]) => leavesOf(one, [...names, key])) : [];
}

function unitOf(names: readonly (string | number)[], { TempUnit, PressureUnit }: JsonObject): string | undefined {
  const last = names.findLast((name) => typeof name === 'string');
  if (last === 'Temperature' || last === 'DewPoint') return TempUnit === 'F' ? '°F' : '°C';
  if (last === 'Pressure' || last === 'SeaPressure') return textIn(PressureUnit);
  return last !== undefined && Object.hasOwn(UNITS, last) ? UNITS[last] : undefined;
}
