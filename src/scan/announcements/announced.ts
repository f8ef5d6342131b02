/** Devices that announce themselves at a broker, as each family of them does; words of others are taken as they are, and judged by the schema later. */
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../values/json.ts';

/** Messages by their topics. */
export type HeardMessages = ReadonlyMap<string, string>;

export interface AnnouncedSensor {
  readonly topic: string;
  /** Key and place of each value; without it the message is one number. */
  readonly paths?: Readonly<Record<string, string>>;
  /** Key of the number. */
  readonly key?: string;
  readonly units: Readonly<Record<string, string>>;
  /** Factors of values that are told in another unit. */
  readonly scales?: Readonly<Record<string, number>>;
  readonly availability?: JsonObject | undefined;
}

export interface AnnouncedOutput {
  /** Name among the outputs of its device; empty for the only one. */
  readonly part: string;
  readonly topic: string;
  readonly send?: Readonly<Record<string, string>>;
  readonly template?: string;
  readonly stateTopic?: string | undefined;
  readonly statePath?: string | undefined;
  readonly states?: Readonly<Record<string, string>> | undefined;
  readonly limits?: JsonObject | undefined;
}

/** Value or output that is told by a template which is not understood. */
export interface LeftOut {
  readonly topic: string;
  readonly key: string;
  readonly template: string;
}

export interface AnnouncedDevice {
  readonly family: 'Zigbee2MQTT' | 'Home Assistant' | 'Shelly' | 'Tasmota';
  /** Name for people, as it is announced. */
  readonly name: string;
  readonly model?: string | undefined;
  readonly sensors: readonly AnnouncedSensor[];
  readonly outputs: readonly AnnouncedOutput[];
  readonly leftOut?: readonly LeftOut[];
}

const MAX_DEPTH = 32;

/** Undefined for what is no JSON. */
export function jsonIn(text: string | undefined): JsonValue | undefined {
  if (text === undefined) return undefined;
  try {
    return parseJson(text, { depth: MAX_DEPTH });
  } catch {
    return undefined;
  }
}

export function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A text that is not empty. */
export function textIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberIn(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Path of names in a message, in brackets where a name is no plain one. */
export function pathOf(names: readonly (string | number)[]): string {
  return names
    .map((name, at) => {
      if (typeof name === 'number') return `[${name}]`;
      if (!/^[\w:-]+$/.test(name)) return `[${JSON.stringify(name)}]`;
      return at === 0 ? name : `.${name}`;
    })
    .join('');
}
