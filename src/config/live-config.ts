/**
 * The configuration in force: the file's, with what shared attributes changed laid over it. A reload replaces what is beneath and
 * keeps what is laid over, as far as it still fits.
 */

import type { z } from 'zod';
import { AgentError } from '../errors/agent-error.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import { Listeners } from '../values/listeners.ts';
import type { ValueShape } from '../values/value-shape.ts';
import { CHECKS } from './checks/all-checks.ts';
import { type ConfigPath, pathText } from './fields/config-fault.ts';
import { nameWithUnit } from './fields/fields.ts';
import { Quantity } from './fields/quantity.ts';
import { draftOf, freezeDeeply } from './parse-draft.ts';
import { type AgentConfig, configShape } from './schema/agent-config.ts';
import { bare, type FieldMeta, knownKeys, memberSchema } from './schema/schema-walk.ts';
import { followPeriod } from './schema/sensors.ts';
import { expectedOf } from './yaml/zod-faults.ts';

type Schema = z.core.$ZodType;

export interface LiveSetting {
  /** The shared attribute: `log.level`, `sensors.roof.period`, `sensors.roof.keys.temperature.deadband`. */
  readonly key: string;
  /** Expected value in words: "a duration such as …, at least 10ms". */
  readonly expected: string;
  /** The value that holds now, in the unit of the configuration object (ms, bytes); undefined when it is not set. */
  readonly value: JsonValue | undefined;
}

/** Outcome of a requested change. */
export type LiveSettingResult = { readonly config: AgentConfig } | { readonly fault: string };

interface Place extends LiveSetting {
  /** In the frozen configuration, with units in names and indexes in lists. */
  readonly path: ConfigPath;
  readonly schema: z.ZodType;
}

/** Every live setting of a configuration. */
export function liveSettings(config: AgentConfig): readonly LiveSetting[] {
  return placesOf(config).map(({ key, expected, value }) => ({ key, expected, value }));
}

/** The configuration with one setting changed; a value that does not fit changes nothing and is refused in words. */
export function withLiveSetting(config: AgentConfig, key: string, value: JsonValue): LiveSettingResult {
  const place = placesOf(config).find((one) => one.key === key);
  if (place === undefined) return { fault: `${key} is no live setting` };
  if (isGuarding(config, place.path))
    return { fault: `${key}: a rule that protects goes by it: it is set on site alone` };
  const parsed = place.schema.safeParse(typeof value === 'bigint' ? Number(value) : value);
  if (!parsed.success) return { fault: `${key}: expected ${place.expected}` };
  const plain: unknown = parsed.data instanceof Quantity ? parsed.data.amount : parsed.data;
  const changed = withDeadlines(replaced(config, place.path, plain) as AgentConfig, place.path);
  const contradiction = contradictionIn(changed);
  return contradiction === undefined ? { config: freezeDeeply(changed) } : { fault: `${key}: ${contradiction}` };
}

/** The configuration with as many of these settings as fit together, whatever their order: one may fit only once another is in force. */
export function withLiveSettings(config: AgentConfig, settings: Iterable<readonly [string, JsonValue]>): AgentConfig {
  let changed = config;
  let left = [...settings];
  for (let before = left.length + 1; left.length > 0 && left.length < before; ) {
    before = left.length;
    left = left.filter(([key, value]) => {
      const result = withLiveSetting(changed, key, value);
      if ('config' in result) changed = result.config;
      return 'fault' in result;
    });
  }
  return changed;
}

/** Returns the configuration without its live settings: a reload cannot change the rest at once. */
export function withoutLiveSettings(config: AgentConfig): AgentConfig {
  return placesOf(config).reduce((rest, { path }) => replaced(rest, path, undefined) as AgentConfig, config);
}

/** True of a setting of a rule that protects, and of the times of a sensor that such a rule goes by: of any, where one goes by a derived value. */
function isGuarding({ rules, sensors }: AgentConfig, [section, index, member]: ConfigPath): boolean {
  const protecting = rules.filter(({ protect }) => protect);
  if (section === 'rules') return protecting.some((rule) => rule === rules[Number(index)]);
  // Reports of a key say nothing to a rule.
  if (section !== 'sensors' || member === 'keys') return false;
  const names = new Set(protecting.flatMap(({ when, set }) => [...sensorsIn(when), ...sensorsIn(set.curve)]));
  const goesByAll = sensors.some(({ name, kind }) => kind === 'derived' && names.has(name));
  return goesByAll || names.has(sensors[Number(index)]?.name ?? '');
}

/** Every `sensor` of a condition or curve, however deep. */
function sensorsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(sensorsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === 'sensor' && typeof member === 'string' ? [member] : sensorsIn(member),
  );
}

function placesOf(config: AgentConfig): readonly Place[] {
  const places: Place[] = [];
  for (const [section, schema] of Object.entries<z.ZodType>(configShape)) {
    walk(schema, config[section as keyof AgentConfig], { path: [section], key: section }, places);
  }
  return places;
}

/** Follows the schema along the parsed configuration; what is not set yet can be set where its mapping exists. */
function walk(
  schema: Schema,
  value: unknown,
  at: { readonly path: ConfigPath; readonly key: string },
  places: Place[],
): void {
  if (typeof value !== 'object' || value === null) return;
  const inner = bare(schema).schema as z.core.$ZodTypes;
  if (inner._zod.def.type === 'array' && Array.isArray(value)) {
    const items = value as readonly { readonly name?: unknown }[];
    for (const [index, item] of items.entries()) {
      const member = memberSchema(inner, value, index);
      if (member !== undefined && typeof item?.name === 'string')
        walk(member, item, { path: [...at.path, index], key: `${at.key}.${item.name}` }, places);
    }
    return;
  }
  for (const field of inner._zod.def.type === 'record' ? Object.keys(value) : knownKeys(inner, value)) {
    const member = memberSchema(inner, value, field);
    if (member === undefined) continue;
    const { meta, schema: bareMember } = bare(member);
    const name =
      meta.amount === undefined ? field : nameWithUnit(field, meta.amount.unit as Parameters<typeof nameWithUnit>[1]);
    const present: unknown = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    const place = { path: [...at.path, name], key: `${at.key}.${field}` };
    if (meta.live === true)
      places.push({
        ...place,
        schema: member as z.ZodType,
        expected: wordsFor(bareMember, meta),
        value: present as JsonValue | undefined,
      });
    else walk(member, present, place, places);
  }
}

function wordsFor(schema: Schema, meta: FieldMeta & { readonly description?: string }): string {
  return meta.amount === undefined
    ? expectedOf(schema, meta.expected)
    : (meta.description ?? 'an amount with its unit');
}

/** A copy that differs at one place; everything beside the way to it is shared. */
function replaced(value: unknown, [key, ...rest]: ConfigPath, put: unknown): unknown {
  if (key === undefined) return put;
  if (Array.isArray(value)) return value.map((item, index) => (index === key ? replaced(item, rest, put) : item));
  const mapping = value as Record<string | number, unknown>;
  return { ...mapping, [key]: replaced(mapping[key], rest, put) };
}

/** The sensor at a path with the deadline that follows its period. */
function withDeadlines(config: AgentConfig, [section, index]: ConfigPath): AgentConfig {
  const sensors = config.sensors.map((sensor, at) =>
    section === 'sensors' && at === index ? followPeriod(sensor) : sensor,
  );
  return { ...config, sensors };
}

/** Returns the first fault that check-config would find, if any. */
function contradictionIn(config: AgentConfig): string | undefined {
  const draft = draftOf(config);
  for (const check of CHECKS) {
    const found = check(draft).find(({ warning }) => warning !== true);
    if (found === undefined) continue;
    const { path, problem = 'a value that does not fit', expected } = found;
    const place = pathText(typeof path[1] === 'number' ? path.slice(2) : path);
    return `${place} would be wrong: ${problem.replace(/:$/, '')}, expected ${expected}`;
  }
  return undefined;
}

/** A setting that can change while the agent runs. */
export interface ChangeableSetting {
  /** The shared attribute that sets it. */
  readonly key: string;
  readonly shape: ValueShape;
  /** Undefined goes back to the configured value. */
  readonly apply: (value: JsonValue | undefined) => Promise<void> | void;
}

export class LiveConfig {
  #beneath: AgentConfig;
  #current: AgentConfig;
  /** Changeable settings of the file's configuration: finding them walks all of it, and each look at the shared attributes asks for them. */
  #settings: readonly ChangeableSetting[];
  readonly #laidOver = new Map<string, JsonValue>();
  readonly #changes = new Listeners<[AgentConfig]>();

  constructor(config: AgentConfig) {
    this.#beneath = config;
    this.#current = config;
    this.#settings = this.#settingsOf(config);
  }

  get current(): AgentConfig {
    return this.#current;
  }

  /** Calls back with the configuration in force whenever it changes; the returned function ends it. */
  readonly onChange = this.#changes.add;

  /** Takes a new file's configuration. */
  replace(config: AgentConfig): void {
    this.#beneath = config;
    this.#settings = this.#settingsOf(config);
    this.#takeUp();
  }

  /** Lays one setting over the file's, or takes it away. @throws AgentError `agent/setting-refused` (drop) in words for who set it. */
  set(key: string, value: JsonValue | undefined): void {
    if (value !== undefined) {
      const result = withLiveSetting(this.#current, key, value);
      if ('fault' in result) throw new AgentError('agent/setting-refused', result.fault, { recovery: 'drop' });
      this.#laidOver.set(key, value);
    } else if (!this.#laidOver.delete(key)) return;
    this.#takeUp();
  }

  /** The settings as the attributes room wants them; the configuration itself knows what fits. */
  settings(): readonly ChangeableSetting[] {
    return this.#settings;
  }

  /** Effective values, in ms and bytes, of the settings that are laid over the file's: as many as were set, however many there are. */
  get overrides(): JsonObject {
    return Object.fromEntries([...valuesOf(this.#current)].filter(([key]) => this.#laidOver.has(key)));
  }

  /** The same settings in the words of whoever set them. */
  get overridesAsSet(): JsonObject {
    const { overrides } = this;
    return Object.fromEntries([...this.#laidOver].filter(([key]) => key in overrides));
  }

  #settingsOf(config: AgentConfig): readonly ChangeableSetting[] {
    return liveSettings(config).map(({ key }) => ({
      key,
      shape: {},
      apply: (value) => this.set(key, value),
    }));
  }

  #takeUp(): void {
    const config = withLiveSettings(this.#beneath, this.#laidOver);
    this.#current = config;
    this.#changes.tell(config);
  }
}

function valuesOf(config: AgentConfig): ReadonlyMap<string, JsonValue> {
  return new Map(liveSettings(config).flatMap(({ key, value }) => (value === undefined ? [] : [[key, value]])));
}
