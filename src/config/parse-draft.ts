/**
 * Parses each section, sensor, actuator and rule by itself, so that a fault in one hides none in another; and once more without the members that
 * are at fault, so that none hides another in the same one.
 */
import type { z } from 'zod';
import { type ConfigDraft, telemetryUses } from './checks/draft.ts';
import { type ConfigPath, type PathFault, pathText } from './fields/config-fault.ts';
import type { Placed } from './fields/findings.ts';
import { MAX_ITEMS } from './fields/max-items.ts';
import { withSerialSensors } from './keys/serial-sensors.ts';
import { actuatorSchema } from './schema/actuators.ts';
import { type AgentConfig, configSchema, configShape } from './schema/agent-config.ts';
import { deviceSchema } from './schema/devices.ts';
import { ruleSchema } from './schema/rules.ts';
import { sensorSchema } from './schema/sensors.ts';
import { withoutFaulty } from './without-faulty.ts';
import { faultsOf } from './yaml/zod-faults.ts';

type Items = keyof typeof MAX_ITEMS;

/** Members of a sensor that do not decide which keys it gives. */
const BESIDE_KEYS: ReadonlySet<PropertyKey> = new Set([
  'period',
  'deadline',
  'align',
  'window',
  'keys',
  'bus',
  'address',
  'line',
]);

/** @param unmade faults of sensors whose models are not there: such a sensor is wrong, whatever else can be read of it. */
export function parseDraft(
  root: Readonly<Record<string, unknown>>,
  unmade: readonly PathFault[] = [],
): {
  readonly draft: ConfigDraft;
  /** The same with what could be read of sections and items that are at fault; absent where there is nothing of that kind. */
  readonly partial?: ConfigDraft;
  /** Paths of those. */
  readonly partialPaths: readonly ConfigPath[];
  readonly faults: readonly PathFault[];
} {
  const faults: PathFault[] = [];
  const partialPaths: ConfigPath[] = [];
  const partials = new Map<string, unknown>();
  const parse = <S extends z.ZodType>(schema: S, value: unknown, path: ConfigPath): z.infer<S> | undefined => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    faults.push(...faultsOf(result.error.issues, schema, value, path));
    const { issues } = result.error;
    const decidesKeys = path[0] === 'sensors' && !issues.every(isBesideKeys);
    const left = decidesKeys ? undefined : withoutFaulty(value, issues);
    const rest = left === undefined ? undefined : schema.safeParse(left);
    if (rest?.success === true) {
      partials.set(pathText(path), rest.data);
      partialPaths.push(path);
    }
    return undefined;
  };
  const items = <S extends z.ZodType>(name: Items, schema: S): Placed<z.infer<S>>[] => {
    const list = root[name];
    if (!Array.isArray(list)) {
      parse(configShape[name], list, [name]);
      return [];
    }
    if (list.length > MAX_ITEMS[name]) {
      faults.push({
        path: [name],
        problem: `${list.length} ${name}`,
        value: '',
        expected: `at most ${MAX_ITEMS[name]}`,
      });
      return [];
    }
    return list.flatMap((value: unknown, index) => {
      const config = parse(schema, value, [name, index]);
      return config === undefined ? [] : [{ config, path: [name, index] }];
    });
  };
  const withPartial = <T>(name: Items, whole: readonly Placed<T>[]): Placed<T>[] => {
    const rest = partialPaths.flatMap((path) =>
      path[0] === name && path.length > 1 ? [{ config: partials.get(pathText(path)) as T, path }] : [],
    );
    return [...whole, ...rest].sort((a, b) => Number(a.path[1]) - Number(b.path[1]));
  };
  const { devices: _d, sensors: _s, actuators: _a, rules: _r, ...others } = configShape;
  const sections: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries<z.ZodType>(others)) {
    const section = parse(schema, root[key], [key]);
    if (section !== undefined) sections[key] = section;
  }
  const unknown = Object.keys(root).filter((key) => !Object.hasOwn(configShape, key));
  if (unknown.length > 0)
    faults.push(
      ...faultsOf([{ code: 'unrecognized_keys', keys: unknown, path: [], message: '' }], configSchema, root, []),
    );
  const wrong = new Set(unmade.map(({ path: [, index] }) => index));
  const whole = {
    devices: items('devices', deviceSchema),
    sensors: items('sensors', sensorSchema).filter(({ path: [, index] }) => !wrong.has(index)),
    actuators: items('actuators', actuatorSchema),
    rules: items('rules', ruleSchema),
  };
  const draftOf = ({ devices, sensors, actuators, rules }: typeof whole, all: typeof sections): ConfigDraft => ({
    devices: withSerialSensors(devices, sensors),
    sensors,
    actuators,
    rules,
    telemetry: telemetryUses(sensors),
    sections: all,
    deviceNames: namesIn(root.devices),
    sensorNames: namesIn(root.sensors),
    actuatorNames: namesIn(root.actuators),
    brokerNames: namesIn(root.brokers),
  });
  const draft = draftOf(whole, sections);
  if (partialPaths.length === 0) return { draft, partialPaths, faults };
  const partSections = Object.keys(others).flatMap((key) =>
    partials.has(key) ? [[key, partials.get(key)] as const] : [],
  );
  const partial = draftOf(
    {
      devices: withPartial('devices', whole.devices),
      sensors: withPartial('sensors', whole.sensors).filter(({ path: [, index] }) => !wrong.has(index)),
      actuators: withPartial('actuators', whole.actuators),
      rules: withPartial('rules', whole.rules),
    },
    { ...sections, ...Object.fromEntries(partSections) },
  );
  return { draft, partial, partialPaths, faults };
}

function isBesideKeys({ code, path: [member = ''] }: z.core.$ZodIssue): boolean {
  return BESIDE_KEYS.has(member) || (code === 'unrecognized_keys' && member === '');
}

/** The configuration of a draft without a fault. */
export function wholeConfig({ sections, devices, sensors, actuators, rules }: ConfigDraft): AgentConfig {
  const configs = <T>(items: readonly Placed<T>[]): readonly T[] => items.map(({ config }) => config);
  // Every section parsed, as there is no fault; those that are missing are optional.
  const items = {
    devices: configs(devices),
    sensors: configs(sensors),
    actuators: configs(actuators),
    rules: configs(rules),
  };
  return { ...sections, ...items } as AgentConfig;
}

/** Nobody changes a configuration: a new one is read, and what differs is reopened. */
export function freezeDeeply<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) freezeDeeply(member);
  return value;
}

/** The draft of a configuration that is whole already. */
export function draftOf({ devices, sensors, actuators, rules, ...sections }: AgentConfig): ConfigDraft {
  const placed = <T>(items: readonly T[], name: Items): readonly Placed<T>[] =>
    items.map((config, index) => ({ config, path: [name, index] }));
  const placedSensors = placed(sensors, 'sensors');
  return {
    devices: placed(devices, 'devices'),
    sensors: placedSensors,
    actuators: placed(actuators, 'actuators'),
    rules: placed(rules, 'rules'),
    telemetry: telemetryUses(placedSensors),
    sections,
    deviceNames: namesIn(devices),
    sensorNames: namesIn(sensors),
    actuatorNames: namesIn(actuators),
    brokerNames: namesIn(sections.brokers),
  };
}

function namesIn(list: unknown): ReadonlySet<string> {
  if (!Array.isArray(list)) return new Set();
  return new Set(
    list
      .map((item: unknown) => (item as { readonly name?: unknown } | null)?.name)
      .filter((name) => typeof name === 'string'),
  );
}
