/** Parses each section, sensor, actuator and rule by itself, so that a fault in one hides none in another. */
import type { z } from 'zod';
import { configSchema, configShape } from './agent-config.ts';
import type { ConfigDraft, Placed } from './checks/draft.ts';
import type { ConfigPath, PathFault } from './config-fault.ts';
import { actuatorSchema } from './schema/actuators.ts';
import { ruleSchema } from './schema/rules.ts';
import { sensorSchema } from './schema/sensors.ts';
import { faultsOf } from './zod-faults.ts';

export function parseDraft(root: Readonly<Record<string, unknown>>): {
  readonly draft: ConfigDraft;
  readonly faults: readonly PathFault[];
} {
  const faults: PathFault[] = [];
  const parse = <S extends z.ZodType>(schema: S, value: unknown, path: ConfigPath): z.infer<S> | undefined => {
    const result = schema.safeParse(value);
    if (!result.success) faults.push(...faultsOf(result.error.issues, schema, value, path));
    return result.success ? result.data : undefined;
  };
  const items = <S extends z.ZodType>(name: 'sensors' | 'actuators' | 'rules', schema: S): Placed<z.infer<S>>[] => {
    const list = root[name];
    if (!Array.isArray(list)) {
      parse(configShape[name], list, [name]);
      return [];
    }
    return list.flatMap((value: unknown, index) => {
      const config = parse(schema, value, [name, index]);
      return config === undefined ? [] : [{ config, path: [name, index] }];
    });
  };
  const { sensors: _s, actuators: _a, rules: _r, ...others } = configShape;
  const sections: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries<z.ZodType>(others)) sections[key] = parse(schema, root[key], [key]);
  const unknown = Object.keys(root).filter((key) => !Object.hasOwn(configShape, key));
  if (unknown.length > 0)
    faults.push(...faultsOf([{ code: 'unrecognized_keys', keys: unknown, path: [], message: '' }], configSchema, root, []));
  const draft = {
    sensors: items('sensors', sensorSchema),
    actuators: items('actuators', actuatorSchema),
    rules: items('rules', ruleSchema),
    sections,
    sensorNames: namesIn(root.sensors),
    actuatorNames: namesIn(root.actuators),
  };
  return { draft, faults };
}

function namesIn(list: unknown): ReadonlySet<string> {
  if (!Array.isArray(list)) return new Set();
  return new Set(
    list.map((item: unknown) => (item as { readonly name?: unknown } | null)?.name).filter((name) => typeof name === 'string'),
  );
}
