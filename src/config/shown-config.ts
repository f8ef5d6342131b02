/**
 * A configuration as it may leave the house: rewritten from what was understood of it, without comments. What is a secret, may hold one,
 * or stands where the schema knows nothing, is masked; a text that is no YAML says nothing at all.
 */
import { stringify } from 'yaml';
import type { z } from 'zod';
import type { Environment } from '../host/environment.ts';
import { expandTemplates } from './expand-templates.ts';
import { isHarmless, isLikeKey, withoutUser } from './fields/shown-value.ts';
import { configSchema } from './schema/agent-config.ts';
import { bare, fieldAt, memberSchema, visitFields } from './schema/schema-walk.ts';
import { resolveSecrets } from './secret-sources.ts';
import { readYaml } from './yaml/yaml-source.ts';

export interface ShownConfig {
  /** Undefined when nobody can tell what in it is secret. */
  readonly text?: string;
  /** Secrets that it holds or names, also when something else in it is wrong. */
  readonly secrets: readonly string[];
}

const MASK = '[secret]';

export async function shownConfig(source: string | Uint8Array, environment: Environment): Promise<ShownConfig> {
  const { tree } = expandTemplates(readYaml(source));
  if (typeof tree !== 'object' || tree === null) return { secrets: [] };
  const { tree: resolved } = await resolveSecrets(configSchema, tree, environment);
  const secrets = new Set<string>();
  visitFields(configSchema, resolved, ({ meta, value, path }) => {
    if (typeof value !== 'string' && typeof value !== 'number') return;
    const cameFromElsewhere = meta.private === true && fieldAt(configSchema, tree, path)?.value !== value;
    if (meta.secret === true || cameFromElsewhere) secrets.add(String(value));
  });
  return {
    text: stringify(masked(tree, configSchema), { aliasDuplicateObjects: false, lineWidth: 0 }),
    secrets: [...secrets],
  };
}

/** `schema` is undefined where there is none. */
function masked(value: unknown, schema: z.core.$ZodType | undefined): unknown {
  if (value === null) return null;
  if (schema === undefined || bare(schema).meta.secret === true) return MASK;
  if (Array.isArray(value)) return value.map((item, index) => masked(item, member(schema, value, index)));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        shownKey(key, member(schema, value, key)),
        masked(item, member(schema, value, key)),
      ]),
    );
  return isHarmless(value, bare(schema)) ? (typeof value === 'string' ? withoutUser(value) : value) : MASK;
}

/** One that nobody knows may be a secret that slipped in front of a colon. */
function shownKey(key: string, schema: z.core.$ZodType | undefined): string {
  return schema !== undefined || isLikeKey(key) ? key : MASK;
}

function member(schema: z.core.$ZodType | undefined, value: object, key: string | number): z.core.$ZodType | undefined {
  return schema === undefined ? undefined : memberSchema(schema, value, key);
}
