/** Which values of a configuration a message may show. */
import type { z } from 'zod';
import type { Bare } from '../schema/schema-walk.ts';

/** User and password, whatever signs are in them, and what a query may hold. */
const USER_IN_URL = /(\bhttps?:\/*|:\/\/)\S*@/gi;
const QUERY_IN_URL = /(:\/\/[^\s?#]*[?#])[^\s"]+/g;
/** Text in the place of a whole section: `none`, `true`, `5`. A token is longer. */
const SHORT_WORD = /^(?:[A-Za-z]{0,12}|\d{1,3})$/;

/** Names that people give: `accesToken`, `sensors`, `turnstone_token`. A token has digits, or changes its case more often. */
const WORD = /^[A-Za-z]?[a-z]{0,15}(?:[A-Z_.-][a-z]{1,15}){0,4}\d{0,3}$/;
const MIN_TOKEN_LENGTH = 12;
const PIN = /^\d{4,}$/;
/** Without an address before it, and so with a password for one. */
const USER_ALONE = /^"?[^\s"/:]{1,255}:(?!\/\/)[^\s"]*@(?=[\w-]+\.)/;

/** True when a person may have chosen the text as a name. */
export function isWord(text: string): boolean {
  return WORD.test(text);
}

/** True when an unknown key can be no token, which is longer, and no PIN, which is a number. */
export function isLikeKey(key: string): boolean {
  return (key.length < MIN_TOKEN_LENGTH && !PIN.test(key)) || isWord(key);
}

/** A text without the user, password and query of an address. */
export function withoutUser(text: string): string {
  return text.replace(USER_IN_URL, '$1[secret]@').replace(USER_ALONE, '[secret]@').replace(QUERY_IN_URL, '$1[secret]');
}

/** True when a value can be no secret, by what the schema says of its place. */
export function isHarmless(value: unknown, { schema, meta }: Pick<Bare, 'schema' | 'meta'>): boolean {
  if (meta.secret === true || meta.private === true) return false;
  if (typeof value === 'string' && !isInPlace(value, meta)) return false;
  return typeof value === 'object' || !isStructure(schema) || SHORT_WORD.test(String(value));
}

/** A secret itself is easily written where its file or its name belongs, and beside the program that is given it. */
function isInPlace(value: string, { names, exists }: Bare['meta']): boolean {
  if (names === 'secret-file' && !value.startsWith('/')) return false;
  if (names === 'secret-credential' && !isWord(value)) return false;
  return exists !== 'program' || !/\s/.test(value);
}

function isStructure(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return (
    (def.type === 'literal' && def.values.every((one) => typeof one === 'number')) ||
    def.type === 'object' ||
    def.type === 'record' ||
    def.type === 'array' ||
    (def.type === 'union' && 'discriminator' in def)
  );
}
