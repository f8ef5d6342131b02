/** Reads what is typed to change a configuration: values with their paths, and a file's bytes as a text. */
import { readYaml } from '../config/yaml/yaml-source.ts';
import { memberPathText, parseMemberPath } from '../remote-config/member-path.ts';
import type { JsonValue } from '../values/json.ts';

/** A value for a place in the configuration. */
export interface Assigned {
  readonly path: string;
  readonly value: JsonValue;
}

/** Reads `sensors.roof.period=30s`; the value is YAML. Undefined for what is none. */
export function assignedValue(text: string): Assigned | undefined {
  // A quoted word of the path may have the sign in it.
  for (let at = text.indexOf('='); at > 0; at = text.indexOf('=', at + 1)) {
    const path = patchPath(text.slice(0, at));
    if (path === undefined) continue;
    const { tree, faults } = readYaml(text.slice(at + 1));
    return faults.length > 0 || tree === undefined || tree === null ? undefined : { path, value: tree as JsonValue };
  }
  return undefined;
}

/** Returns a path in its usual spelling; undefined for what is none. */
export function patchPath(text: string): string | undefined {
  const path = parseMemberPath(text);
  return path === undefined ? undefined : memberPathText(path);
}

/** Returns the text whose UTF-8 is these bytes; undefined where there is none. */
export function exactText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
