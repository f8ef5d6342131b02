/**
 * Writes config/turnstone.schema.json, by which editors complete and check a configuration, from the schema that the agent itself uses.
 *
 *   scripts/dev.sh node scripts/schema.ts            writes it
 *   scripts/dev.sh node scripts/schema.ts --print    prints it
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { MAX_ITEMS } from '../src/config/fields/max-items.ts';
import { configSchema } from '../src/config/schema/agent-config.ts';
import { type JsonObject, sharingShapes } from './shared-shapes.ts';

export const SCHEMA_FILE = fileURLToPath(new URL('../config/turnstone.schema.json', import.meta.url));

/** Words by which our fields tell the agent about themselves; editors do not know them. */
const OWN_WORDS = ['live', 'secret', 'private', 'exists', 'amount', 'expected', 'readOnly', 'names'] as const;

/** The JSON Schema of the file as a person writes it: a shape that stands in several places is one definition. */
export function configJsonSchema(): string {
  return `${JSON.stringify(sharingShapes(plainJsonSchema()), undefined, 2)}\n`;
}

/** The same schema with each shape in each of its places. */
export function plainJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const words = jsonSchema as Record<string, unknown>;
      const description = [
        words.description ?? words.expected,
        words.live === true ? 'can be changed live' : undefined,
      ].filter((part) => part !== undefined);
      if (description.length > 0) words.description = description.join('; ');
      for (const word of OWN_WORDS) delete words[word];
      const { properties, required } = jsonSchema;
      // A named line brings the port.
      if (properties !== undefined && 'on' in properties && 'port' in properties)
        jsonSchema.required = required?.filter((key) => key !== 'port');
    },
  });
  return {
    $id: 'turnstone.schema.json',
    title: 'Turnstone agent configuration',
    ...withTemplates(schema as JsonObject),
  };
}

/** What expand-templates.ts takes away before the agent's own schema sees it. */
const REPEATED = {
  type: 'object',
  properties: {
    template: { type: 'string', description: 'name of a template, whose keys and values these stand over' },
    count: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_ITEMS.sensors,
      description: 'how many; {n} is replaced by its number',
    },
    from: { type: 'integer', minimum: 0, description: 'the first number, by default 1' },
    each: { type: 'array', items: { type: 'object' }, description: 'one for each; {word} is replaced by its value' },
  },
  anyOf: ['template', 'count', 'each'].map((key) => ({ required: [key] })),
};

const REPEATABLE = ['devices', 'sensors', 'actuators'] as const;

function withTemplates({ properties, ...schema }: JsonObject): JsonObject {
  const sections = properties as Readonly<Record<(typeof REPEATABLE)[number], JsonObject>>;
  const items = (section: JsonObject): JsonObject => ({ ...section, items: { anyOf: [section.items, REPEATED] } });
  const templates = {
    type: 'object',
    additionalProperties: { type: 'object' },
    description: 'parts of devices, sensors and actuators, by name',
  };
  return {
    ...schema,
    properties: {
      ...sections,
      templates,
      ...Object.fromEntries(REPEATABLE.map((name) => [name, items(sections[name])])),
    },
  };
}

if (import.meta.main) {
  const text = configJsonSchema();
  if (process.argv.includes('--print')) process.stdout.write(text);
  else await writeFile(SCHEMA_FILE, text);
}
