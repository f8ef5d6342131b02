/**
 * Meanings of the lists that meters push, one file a list. A list tells the values of places (`shapes`), or the scale of values that come with
 * their code and without a unit (`scales`); it is known by a text or code in it (`id`), or by the types of its places alone.
 */
import { z } from 'zod';
import { messageOf } from '../../errors/agent-error.ts';
import type { Files } from '../../host/files.ts';
import { shippedFiles } from '../../host/model-files.ts';
import { readWhole } from '../../host/whole-file.ts';
import { CODES_OF } from './definition.ts';

const PLACE =
  /^(?:boolean|bits|array|structure|[iu](?:8|16|32|64)|f32|f64|octets|text|enum|time|any)(?: ([a-zA-Z0-9]+))?$/;

/** Factor to the unit of the key; another one for values from a bound on, where makers changed the digits and not the list. */
const scale = z.union([z.number(), z.strictObject({ scale: z.number(), from: z.number(), beyond: z.number() })]);

const meterList = z.strictObject({
  title: z.string().min(1),
  /** Where the facts were found. */
  source: z.string().min(1),
  /** Text in the list, or code of OBIS of its push object: `0-8:25.9.0`. */
  id: z.string().min(1).optional(),
  /** Types of the places of a structure, each with the key of its value: `u32 powerImport`. */
  shapes: z.array(z.array(z.string().regex(PLACE))).default([]),
  scales: z.partialRecord(z.enum(Object.keys(CODES_OF) as [string, ...string[]]), scale).default({}),
});

export interface Place {
  readonly type: string;
  readonly key: string | undefined;
}

export interface MeterList extends Omit<z.infer<typeof meterList>, 'shapes'> {
  readonly shapes: readonly (readonly Place[])[];
}

/** Reads the lists of the release. */
export async function readLists(files: Files): Promise<readonly MeterList[]> {
  const { parse } = await import('yaml');
  const found = await shippedFiles('lists');
  return Promise.all(
    found.map(async ({ name, path }) => {
      const content = await readWhole(files, path, { follow: true });
      try {
        return listOf(parse(content?.toString() ?? ''));
      } catch (error) {
        throw new Error(`the list ${name} is wrong: ${messageOf(error)}`, { cause: error });
      }
    }),
  );
}

function listOf(tree: unknown): MeterList {
  const { shapes, ...others } = meterList.parse(tree);
  return { ...others, shapes: shapes.map((shape) => shape.map(placeOf)) };
}

function placeOf(written: string): Place {
  const [type = '', key] = written.split(' ');
  if (key !== undefined && !Object.hasOwn(CODES_OF, key)) throw new RangeError(`no such key: ${key}`);
  return { type, key };
}
