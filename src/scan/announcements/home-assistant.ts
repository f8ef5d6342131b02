/**
 * Discovery of Home Assistant, which ESPHome, OpenMQTTGateway and many others speak: one message for each entity, or one for a device with all of
 * them (home-assistant.io, "MQTT discovery"). Of templates those are understood that take one place of the message, as it is or times a number; of
 * others the values are left out.
 */
import type { JsonObject } from '../../values/json.ts';
import {
  type AnnouncedDevice,
  type AnnouncedOutput,
  type AnnouncedSensor,
  type HeardMessages,
  jsonIn,
  type LeftOut,
  numberIn,
  objectIn,
  objectsIn,
  pathOf,
  textIn,
} from './announced.ts';

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  avty: 'availability',
  avty_t: 'availability_topic',
  cmd_t: 'command_topic',
  cmd_tpl: 'command_template',
  cmps: 'components',
  dev: 'device',
  dev_cla: 'device_class',
  ids: 'identifiers',
  mdl: 'model',
  mf: 'manufacturer',
  obj_id: 'object_id',
  p: 'platform',
  pl_avail: 'payload_available',
  pl_not_avail: 'payload_not_available',
  pl_off: 'payload_off',
  pl_on: 'payload_on',
  stat_off: 'state_off',
  stat_on: 'state_on',
  stat_t: 'state_topic',
  stat_val_tpl: 'state_value_template',
  t: 'topic',
  uniq_id: 'unique_id',
  unit_of_meas: 'unit_of_measurement',
  val_tpl: 'value_template',
};
/** `{{ (value_json.x | float) / 10 }}`: the place, and what is made of its value. */
const TEMPLATE =
  /^\{\{-?[\s(]*value(?:_json((?:\.\w+|\[\s*'[^']+'\s*\]|\[\s*"[^"]+"\s*\]|\[\d+\])+))?((?:[\s)|*/][^{}]*?)?)-?\}\}$/;
/** Steps that keep a number as it is, or nearly so. */
const HARMLESS = /\|\s*(?:float|int|round|default|is_defined)\b\s*(?:\([^()]*\))?|[\s)]/g;
const FACTOR = /([*/])(\d+(?:\.\d+)?)|\|multiply\((\d+(?:\.\d+)?)/g;
const STEP = /\.(\w+)|\[\s*'([^']+)'\s*\]|\[\s*"([^"]+)"\s*\]|\[(\d+)\]/g;
const NUMBER = 'number';
const SWITCHES: ReadonlySet<string> = new Set(['switch', 'light']);

/** Place in a message, empty for the whole of it, and the factor of its value. */
interface Taken {
  readonly place: string;
  readonly scale: number;
}

interface Entity {
  readonly component: string;
  readonly config: JsonObject;
  readonly id: string;
  readonly device: string;
  readonly model: string | undefined;
}

export function homeAssistantDevices(heard: HeardMessages): readonly AnnouncedDevice[] {
  const entities = [...heard].flatMap(([topic, text]) => {
    const [, component, id] = /^homeassistant\/([^/]+)\/(.+)\/config$/.exec(topic) ?? [];
    return component === undefined || id === undefined ? [] : entitiesOf(component, id, objectIn(jsonIn(text)));
  });
  return [...Map.groupBy(entities, ({ device }) => device)].map(([name, own]) => ({
    family: 'Home Assistant' as const,
    name,
    model: own.find(({ model }) => model !== undefined)?.model,
    sensors: sensorsOf(own),
    outputs: own.flatMap(outputOf),
    leftOut: own.flatMap(leftOutOf),
  }));
}

function entitiesOf(component: string, id: string, told: JsonObject): readonly Entity[] {
  const config = expanded(told);
  const device = expanded(objectIn(config.device));
  const identifiers = Array.isArray(device.identifiers) ? device.identifiers[0] : device.identifiers;
  const name = textIn(device.name) ?? textIn(identifiers) ?? textIn(config.name) ?? id;
  const of = { device: name, model: textIn(device.model) };
  if (component !== 'device') return [{ component, id, config, ...of }];
  return Object.entries(objectIn(config.components)).map(([part, one]) => {
    const own = { ...config, ...expanded(objectIn(one)) };
    return { component: String(own.platform), id: part, config: own, ...of };
  });
}

/** Members by their long names, and topics with what `~` stands for. */
function expanded(told: JsonObject): JsonObject {
  const base = textIn(told['~']);
  return Object.fromEntries(
    Object.entries(told).map(([key, value]) => {
      const name = Object.hasOwn(ABBREVIATIONS, key) ? (ABBREVIATIONS[key] as string) : key;
      if (base === undefined || typeof value !== 'string' || !name.endsWith('topic')) return [name, value];
      return [name, value.replace(/^~/, () => base).replace(/~$/, () => base)];
    }),
  );
}

/** One sensor for each topic of JSON, and one for each number. */
function sensorsOf(entities: readonly Entity[]): readonly AnnouncedSensor[] {
  const values = entities
    .filter(isOfSensor)
    .flatMap(({ config, id }) => {
      const topic = textIn(config.state_topic);
      const taken = takenBy(config.value_template);
      const unit = textIn(config.unit_of_measurement)?.trim() || undefined;
      if (topic === undefined || taken === undefined) return [];
      const availability = availabilityOf(config);
      return [{ ...taken, topic, unit, key: keyOf(config, id, taken.place), availability }];
    })
    // Two of one key would have one unit.
    .filter((one, at, all) => all.findIndex(({ topic, key }) => topic === one.topic && key === one.key) === at);
  const ofJson = values.filter(({ place }) => place !== '');
  const numbers = values.filter(({ place, unit }) => place === '' && unit !== undefined);
  const unitsOf = (some: typeof values): Record<string, string> =>
    Object.fromEntries(some.flatMap(({ key, unit }) => (unit === undefined ? [] : [[key, unit]])));
  const scalesOf = (some: typeof values): Record<string, number> =>
    Object.fromEntries(some.flatMap(({ key, scale }) => (scale === 1 ? [] : [[key, scale]])));
  return [
    ...[...Map.groupBy(ofJson, ({ topic }) => topic)].map(([topic, own]): AnnouncedSensor => {
      const paths = Object.fromEntries(own.map(({ key, place }) => [key, place]));
      return { topic, paths, units: unitsOf(own), scales: scalesOf(own), availability: own[0]?.availability };
    }),
    ...numbers.map((one): AnnouncedSensor => {
      const { topic, key, availability } = one;
      return { topic, key, units: unitsOf([one]), scales: scalesOf([one]), availability };
    }),
  ];
}

function outputOf({ component, config, id }: Entity): AnnouncedOutput[] {
  const [topic, stateTopic] = [textIn(config.command_topic), textIn(config.state_topic)];
  const place = placeIn(stateTemplateOf(config));
  // A light by JSON has a scheme of its own, and a template of commands is a program.
  if (topic === undefined || place === undefined || config.command_template !== undefined) return [];
  const witness = {
    stateTopic: stateTopic === topic ? undefined : stateTopic,
    statePath: place === '' || stateTopic === undefined ? undefined : place,
  };
  const part = keyOf(config, id, place);
  if (component === NUMBER)
    return [
      {
        ...witness,
        part,
        topic,
        template: '{value}',
        limits: { min: numberIn(config.min), max: numberIn(config.max), step: numberIn(config.step) },
      },
    ];
  if (!SWITCHES.has(component) || (config.schema ?? 'basic') !== 'basic') return [];
  const [on, off] = [String(config.payload_on ?? 'ON'), String(config.payload_off ?? 'OFF')];
  const states = { on: String(config.state_on ?? on), off: String(config.state_off ?? off) };
  const isOther = witness.stateTopic !== undefined && (states.on !== on || states.off !== off);
  return [{ ...witness, part, topic, send: { on, off }, states: isOther ? states : undefined }];
}

/** Tells of a value, or of an output that is switched or set, whose template is not understood. */
function leftOutOf(entity: Entity): LeftOut[] {
  const { component, config, id } = entity;
  const isOutput = component === NUMBER || SWITCHES.has(component);
  const template = isOutput ? stateTemplateOf(config) : config.value_template;
  const topic = textIn(isOutput ? config.command_topic : config.state_topic);
  const isUnderstood = isOutput
    ? placeIn(template) !== undefined
    : !isOfSensor(entity) || takenBy(template) !== undefined;
  if (topic === undefined || isUnderstood) return [];
  return [{ topic, key: keyOf(config, id, ''), template: String(template) }];
}

function isOfSensor({ component }: Entity): boolean {
  return component === 'sensor' || component === 'binary_sensor';
}

function stateTemplateOf(config: JsonObject): JsonObject[string] {
  return config.state_value_template ?? config.value_template;
}

/** Place that a template takes as it is. */
function placeIn(template: JsonObject[string]): string | undefined {
  const taken = takenBy(template);
  return taken?.scale === 1 ? taken.place : undefined;
}

/** Undefined for a template that is not understood. */
function takenBy(template: JsonObject[string]): Taken | undefined {
  const text = textIn(template)?.trim();
  if (text === undefined) return { place: '', scale: 1 };
  const [whole, steps = '', rest = ''] = TEMPLATE.exec(text) ?? [];
  const scale = scaleIn(rest);
  if (whole === undefined || scale === undefined) return undefined;
  const names = [...steps.matchAll(STEP)].map(([, name, single, double, index]) =>
    index === undefined ? (name ?? single ?? double ?? '') : Number(index),
  );
  return { place: pathOf(names), scale };
}

/** Factor that is left of what is made of a value; undefined for anything else. */
function scaleIn(rest: string): number | undefined {
  const factors = rest.replaceAll(HARMLESS, '');
  if (factors.replaceAll(FACTOR, '') !== '') return undefined;
  const scale = [...factors.matchAll(FACTOR)].reduce(
    (product, [, sign, operand, multiplied]) =>
      sign === '/' ? product / Number(operand) : product * Number(operand ?? multiplied),
    1,
  );
  return Number.isFinite(scale) && scale !== 0 ? Number(scale.toPrecision(12)) : undefined;
}

function keyOf(config: JsonObject, id: string, place: string): string {
  const told =
    place === ''
      ? (textIn(config.device_class) ?? textIn(config.object_id) ?? textIn(config.name) ?? id)
      : place.replace(/\["?|"?\]/g, '.');
  return told.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '');
}

function availabilityOf(config: JsonObject): AnnouncedSensor['availability'] {
  const [first] = objectsIn(config.availability).map(expanded);
  const topic = textIn(config.availability_topic) ?? textIn(first?.topic);
  if (topic === undefined) return undefined;
  const path = placeIn(first?.value_template ?? config.availability_template);
  if (path === undefined) return undefined;
  return {
    topic,
    online: textIn(first?.payload_available ?? config.payload_available) ?? 'online',
    offline: textIn(first?.payload_not_available ?? config.payload_not_available) ?? 'offline',
    ...(path === '' ? {} : { path }),
  };
}
