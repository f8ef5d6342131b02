/**
 * Zigbee2MQTT: `BASE/bridge/devices` has each device with what it exposes (zigbee2mqtt.io, "Exposes"). Of the bits of `access` 1 is published and 2 can
 * be set.
 */
import type { JsonObject } from '../../values/json.ts';
import {
  type AnnouncedDevice,
  type AnnouncedOutput,
  type HeardMessages,
  jsonIn,
  numberIn,
  objectIn,
  objectsIn,
  pathOf,
  textIn,
} from './announced.ts';

const PUBLISHED = 1;
const SETTABLE = 2;
/** Kinds of exposes whose state switches something. */
const SWITCHES: ReadonlySet<unknown> = new Set(['switch', 'light']);
const SETPOINT = /^(?:occupied|current)_heating_setpoint$/;

export function zigbeeDevices(heard: HeardMessages): readonly AnnouncedDevice[] {
  return [...heard].flatMap(([topic, text]) => {
    const [, base] = /^([^/]+)\/bridge\/devices$/.exec(topic) ?? [];
    return base === undefined ? [] : objectsIn(jsonIn(text)).flatMap((device) => deviceOf(base, device, heard));
  });
}

function deviceOf(base: string, device: JsonObject, heard: HeardMessages): AnnouncedDevice[] {
  const name = textIn(device.friendly_name);
  if (name === undefined || device.type === 'Coordinator' || device.disabled === true) return [];
  const { model, vendor, exposes } = objectIn(device.definition);
  const topic = `${base}/${name}`;
  const features = objectsIn(exposes).flatMap((one) => [
    { feature: one, of: one.type },
    ...objectsIn(one.features).map((feature) => ({ feature, of: one.type })),
  ]);
  const values = features.map(({ feature }) => feature).filter((one) => isValue(one));
  const properties = values.flatMap(({ property }) => textIn(property) ?? []);
  if (properties.length === 0) return [];
  const said = heard.get(`${topic}/availability`);
  const availability =
    said === undefined
      ? undefined
      : { topic: `${topic}/availability`, ...(jsonIn(said) === undefined ? {} : { path: 'state' }) };
  const units = values.flatMap(({ property, unit }): [string, string][] => {
    const told = textIn(unit);
    return told === undefined ? [] : [[String(property), told]];
  });
  return [
    {
      family: 'Zigbee2MQTT',
      name,
      model: [vendor, model].flatMap((one) => textIn(one) ?? []).join(' ') || undefined,
      sensors: [
        {
          topic,
          paths: Object.fromEntries(properties.map((one) => [one, pathOf([one])])),
          units: Object.fromEntries(units),
          availability,
        },
      ],
      outputs: features.flatMap(({ feature, of }) => outputOf(topic, feature, of)),
    },
  ];
}

/** Configuration of a device is no value. */
function isValue({ type, access, category, property }: JsonObject): boolean {
  const isPublished = ((numberIn(access) ?? 0) & PUBLISHED) !== 0;
  return isPublished && ['numeric', 'binary', 'enum'].includes(String(type)) && category !== 'config' && !!property;
}

function outputOf(topic: string, feature: JsonObject, of: JsonObject[string]): AnnouncedOutput[] {
  const property = textIn(feature.property);
  if (property === undefined || ((numberIn(feature.access) ?? 0) & SETTABLE) === 0) return [];
  const place = { topic: `${topic}/set`, stateTopic: topic, statePath: pathOf([property]) };
  const { value_on: on, value_off: off, value_min: min, value_max: max, value_step: step } = feature;
  if (SWITCHES.has(of) && feature.type === 'binary' && on !== undefined && off !== undefined)
    return [
      {
        ...place,
        part: property.replace(/^state_?/, ''),
        send: { on: JSON.stringify({ [property]: on }), off: JSON.stringify({ [property]: off }) },
        states: { on: String(on), off: String(off) },
      },
    ];
  if (of !== 'climate' || !SETPOINT.test(property)) return [];
  return [
    {
      ...place,
      part: 'setpoint',
      template: `{${JSON.stringify(property)}: {value}}`,
      limits: { min: numberIn(min), max: numberIn(max), step: numberIn(step) },
    },
  ];
}
