/** The hash of a configuration file's bytes, and what differs between two of them, in words that show no secret. */
import { configFileHash } from '../config/changes/config-diff.ts';
import { isHarmless, withoutUser } from '../config/fields/shown-value.ts';
import { bare } from '../config/schema/schema-walk.ts';
import { isMapping } from '../config/template-words.ts';
import { type Difference, parsed, type Schema, type Tree, toldPath, treeDifferences } from './tree-differences.ts';

export { configFileHash as fileHash };

/** More is looked at in the file itself. */
const MAX_LINES = 20;
const MAX_SHOWN = 60;

/** `sensors.roof.period: 10s → 30s`, a line a member; of more than 20 the last says how many there are. */
export function difference(before: Tree, after: Tree): readonly string[] {
  const lines = treeDifferences(before, after).map((one) => lineOf(one, toldPath(one.path, before, after)));
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES - 1), `and ${lines.length - MAX_LINES + 1} more`];
}

function lineOf({ before, after, schemaBefore, schemaAfter, isOrder }: Difference, path: string): string {
  const words = path || 'the file';
  if (isOrder === true) return `${words}: in another order`;
  const [was, is] = [shown(before, schemaBefore), shown(after, schemaAfter)];
  if (before === undefined) return `${words}: added${is === undefined ? '' : `, ${is}`}`;
  if (after === undefined) return `${words}: removed${was === undefined ? '' : `, was ${was}`}`;
  return was === undefined || is === undefined || was === is ? `${words}: changed` : `${words}: ${was} → ${is}`;
}

/** Undefined for what may hold a secret, as what the schema does not read may, and for what is too much for a line. */
function shown(value: unknown, schema: Schema): string | undefined {
  if (schema === undefined || parsed(schema, value) === undefined) return undefined;
  const field = bare(schema);
  if (field.meta.secret === true || field.meta.private === true || isMapping(value)) return undefined;
  if (Array.isArray(value)) {
    if (value.some((item) => typeof item === 'object' || !isHarmless(item, itemOf(field)))) return undefined;
  } else if (!isHarmless(value, field)) return undefined;
  const text = withoutUser(Array.isArray(value) ? value.join(', ') : String(value));
  return text === '' || text.length > MAX_SHOWN ? undefined : text;
}

/** The field that the items of a list are. */
function itemOf({ schema, meta }: ReturnType<typeof bare>): ReturnType<typeof bare> {
  const { def } = (schema as { readonly _zod: { readonly def: { readonly element?: Schema } } })._zod;
  return def.element === undefined ? { schema, meta } : bare(def.element);
}
