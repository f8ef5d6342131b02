/**
 * JSON that this program keeps for itself, with a check value of its own text as the last member: damage that leaves it JSON is found too.
 */
import { crc32 } from 'node:zlib';
import {
  isJsonObject,
  type Jsonable,
  type JsonLimits,
  type JsonObject,
  type JsonValue,
  parseJson,
  stringifyJson,
} from '../values/json.ts';

export interface StateFormat {
  /** Name of the format, for example `turnstone/actuators`. */
  readonly format: string;
  /** Versions up to this one are understood. */
  readonly version: number;
}

/** As long as each seal, whatever a damaged one says. */
const SEAL = /^,".{5}":".{8}"\}$/s;
const SEAL_LENGTH = sealOf('').length;

/** The text of an object that has at least one member. */
export function sealJson<T extends object>(value: T & Jsonable<T>): string {
  const members = stringifyJson(value as JsonObject).slice(0, -1);
  return members + sealOf(members);
}

/** True when the text has a check value that agrees with it: nothing was changed since it was written. */
export function isSealed(text: string): boolean {
  return sealed(text) === true;
}

/** True when the text has a check value that does not agree with it: it was damaged, or changed by hand. */
export function isChanged(text: string): boolean {
  return sealed(text) === false;
}

/** As `parseJson`, without the check value; text that has none is believed. @throws Error when it has another one; AgentError as `parseJson`. */
export function unsealJson(text: string, limits?: JsonLimits): JsonValue {
  const seal = sealed(text);
  const json = parseJson(text, limits);
  if (!isJsonObject(json)) return json;
  const { crc32: value, ...members } = json;
  if (seal === false || (value !== undefined && seal === undefined))
    throw new Error('it was damaged, or changed by hand: its crc32 is another');
  return members;
}

/** The members of a file that says its format and version. @throws Error that says in what it is another; as `unsealJson`. */
export function fieldsOf(text: string, { format, version }: StateFormat, limits?: JsonLimits): JsonObject {
  const json = unsealJson(text, limits);
  if (!isJsonObject(json) || json.format !== format) throw new Error(`not a file of format ${format}`);
  if (typeof json.version !== 'number' || json.version > version)
    throw new Error(`version ${String(json.version)} is not known`);
  return json;
}

/** Undefined where there is nothing like a seal at its end. */
function sealed(text: string): boolean | undefined {
  const line = text.endsWith('\n') ? text.slice(0, -1) : text;
  const seal = line.slice(-SEAL_LENGTH);
  return SEAL.test(seal) ? seal === sealOf(line.slice(0, -SEAL_LENGTH)) : undefined;
}

function sealOf(members: string): string {
  return `,"crc32":"${crc32(members).toString(16).padStart(8, '0')}"}`;
}
