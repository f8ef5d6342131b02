/**
 * Shelly. The first generation speaks under `shellies/ID/…`, and announces itself when it is switched on (shelly-api-docs.shelly.cloud/gen1, "MQTT"). Later
 * ones tell the state of each part as JSON under `PREFIX/status/switch:0` (…/gen2, "MQTT").
 */
import {
  type AnnouncedDevice,
  type AnnouncedOutput,
  type AnnouncedSensor,
  type HeardMessages,
  jsonIn,
  numberIn,
  objectIn,
  pathOf,
  textIn,
} from './announced.ts';

/** Base of the topics of the first generation. */
const FIRST = 'shellies';
const SWITCH = { on: 'on', off: 'off' } as const;
const VALUES: readonly (readonly [key: string, place: readonly string[], unit: string])[] = [
  ['power', ['apower'], 'W'],
  ['voltage', ['voltage'], 'V'],
  ['current', ['current'], 'A'],
  ['energyImport', ['aenergy', 'total'], 'Wh'],
  ['temperature', ['temperature', 'tC'], '°C'],
];

export function shellyDevices(heard: HeardMessages): readonly AnnouncedDevice[] {
  return [...firstGeneration(heard), ...laterGenerations(heard)];
}

function firstGeneration(heard: HeardMessages): readonly AnnouncedDevice[] {
  const announced = objectIn(jsonIn(heard.get(`${FIRST}/announce`)));
  const all = [...heard.keys()].flatMap((topic) => {
    const [, id, number] = /^shellies\/([^/]+)\/relay\/(\d+)$/.exec(topic) ?? [];
    return id === undefined || number === undefined ? [] : [{ id, number }];
  });
  return [...Map.groupBy(all, ({ id }) => id)].map(([id, own]) => {
    const base = `${FIRST}/${id}`;
    const relays = own.map(({ number }) => number);
    const part = (number: string): string => (relays.length === 1 ? '' : number);
    const availability = availabilityOf(base, heard);
    return {
      family: 'Shelly' as const,
      name: id,
      model: announced.id === id ? textIn(announced.model) : undefined,
      sensors: relays.flatMap((number): AnnouncedSensor[] => {
        const topic = `${base}/relay/${number}/power`;
        const key = `power${part(number)}`;
        return heard.has(topic) ? [{ topic, key, units: { [key]: 'W' }, availability }] : [];
      }),
      outputs: relays.map(
        (number): AnnouncedOutput => ({
          part: part(number),
          topic: `${base}/relay/${number}/command`,
          send: SWITCH,
          stateTopic: `${base}/relay/${number}`,
        }),
      ),
    };
  });
}

function laterGenerations(heard: HeardMessages): readonly AnnouncedDevice[] {
  const parts = [...heard].flatMap(([topic, text]) => {
    const [, base, number] = /^(.+)\/status\/switch:(\d+)$/.exec(topic) ?? [];
    const status = objectIn(jsonIn(text));
    return base === undefined || number === undefined || typeof status.output !== 'boolean'
      ? []
      : [{ base, number, topic, status }];
  });
  return [...Map.groupBy(parts, ({ base }) => base)].map(([base, own]) => {
    const part = (number: string): string => (own.length === 1 ? '' : number);
    return {
      family: 'Shelly' as const,
      name: base,
      sensors: own.flatMap(({ topic, number, status }): AnnouncedSensor[] => {
        const found = VALUES.filter(([, [first = '', second]]) => {
          const value = status[first];
          return numberIn(second === undefined ? value : objectIn(value)[second]) !== undefined;
        }).map(([key, place, unit]) => ({ key: `${key}${part(number)}`, place: pathOf(place), unit }));
        if (found.length === 0) return [];
        return [
          {
            topic,
            paths: Object.fromEntries(found.map(({ key, place }) => [key, place])),
            units: Object.fromEntries(found.map(({ key, unit }) => [key, unit])),
            availability: availabilityOf(base, heard),
          },
        ];
      }),
      outputs: own.map(
        ({ topic, number }): AnnouncedOutput => ({
          part: part(number),
          topic: `${base}/command/switch:${number}`,
          send: SWITCH,
          stateTopic: topic,
          statePath: 'output',
        }),
      ),
    };
  });
}

function availabilityOf(base: string, heard: HeardMessages): AnnouncedSensor['availability'] {
  const topic = `${base}/online`;
  return heard.has(topic) ? { topic, online: 'true', offline: 'false' } : undefined;
}
