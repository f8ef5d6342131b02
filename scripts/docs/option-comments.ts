/** Meaning of an option: the comment that stands above its field in the sources. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT } from '../bundle.ts';
import { skip } from './source-text.ts';

const FIELDS = join(ROOT, 'src/config/fields');
const SCHEMA = join(ROOT, 'src/config/schema');
const COMMENT = /\/\*\*\s*((?:[^*]|\*(?!\/))*?)\s*\*\/\s*$/;

/** Fields that stand in one pair of braces, with their comments. */
export interface Fields {
  readonly file: string;
  readonly comments: ReadonlyMap<string, string | undefined>;
}

/** The fields of a kind's folder, of the families that it has parts of, and of those that all share. */
export function fieldsOf(folder: string): readonly Fields[] {
  const definition = join(folder, 'definition.ts');
  const imported = [...readFileSync(definition, 'utf8').matchAll(/from '(\.\.\/families\/[^']+)'/g)].map(
    ([, path = '']) => join(folder, path),
  );
  return [definition, ...imported, ...sharedFiles()].flatMap(fieldsIn);
}

/** Fields of the sections outside of sensors and actuators. */
export function configFields(): readonly Fields[] {
  const schema = readdirSync(SCHEMA)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(SCHEMA, name));
  return [...schema, ...sharedFiles()].flatMap(fieldsIn);
}

function sharedFiles(): readonly string[] {
  return readdirSync(FIELDS)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'fields.ts') // which has no sections
    .map((name) => join(FIELDS, name));
}

const CACHE = new Map<string, readonly Fields[]>();

function fieldsIn(path: string): readonly Fields[] {
  const known = CACHE.get(path);
  if (known !== undefined) return known;
  const found = braces(readFileSync(path, 'utf8')).map((comments) => ({ file: relative(ROOT, path), comments }));
  CACHE.set(path, found);
  return found;
}

/** Comment of the option among these siblings; the braces with most of them in common tell. */
export function commentOf(fields: readonly Fields[], option: string, siblings: readonly string[]): string | undefined {
  let best: { readonly text: string; readonly shared: number } | undefined;
  for (const { comments } of fields) {
    const names = [...comments.keys()];
    const text = comments.get(option);
    if (text === undefined || !names.every((name) => siblings.includes(name))) continue;
    if (best === undefined || names.length > best.shared) best = { text, shared: names.length };
  }
  return best?.text;
}

/** Comment with which a file begins, without its stars. */
export function headOf(folder: string, file: string): string {
  const [, text = ''] = /^\/\*\*([\s\S]*?)\*\//.exec(readFileSync(join(folder, file), 'utf8')) ?? [];
  return withoutStars(text).split('\n\n')[0]?.replace(/\s+/g, ' ').trim() ?? '';
}

/** Folders of the families whose parts a kind has. */
export function familiesOf(folder: string): readonly string[] {
  const text = readFileSync(join(folder, 'definition.ts'), 'utf8');
  return [...text.matchAll(/from '(\.\.\/families\/[^']+)'/g)].map(([, path = '']) => dirname(join(folder, path)));
}

function withoutStars(text: string): string {
  return text.replace(/^[^\S\n]*\*[^\S\n]?/gm, '').trim();
}

/** Every pair of braces with the names that stand directly in it. */
function braces(source: string): ReadonlyMap<string, string | undefined>[] {
  const all: Map<string, string | undefined>[] = [];
  const open: Map<string, string | undefined>[] = [];
  const constants = new Map<string, string>();
  let depth = 0; // of parentheses and brackets since the last brace
  const depths: number[] = [];
  for (let at = 0; at < source.length; at += 1) {
    const skipped = skip(source, at);
    if (skipped > at) {
      at = skipped - 1;
      continue;
    }
    const sign = source[at] ?? '';
    if (sign === '{') {
      const inner = new Map<string, string | undefined>();
      all.push(inner);
      open.push(inner);
      depths.push(depth);
      depth = 0;
    } else if (sign === '}') {
      open.pop();
      depth = depths.pop() ?? 0;
    } else if ('(['.includes(sign)) depth += 1;
    else if (')]'.includes(sign)) depth -= 1;
    const [, secret] = /^\.\.\.secretFields\('(\w+)'/.exec(source.slice(at, at + 64)) ?? [];
    if (secret !== undefined && depth === 0) open.at(-1)?.set(secret, comment(source.slice(Math.max(0, at - 600), at)));
    if (!/[A-Za-z]/.test(sign) || /[\w.$]/.test(source[at - 1] ?? '')) continue;
    const [word = ''] = /^\w+/.exec(source.slice(at, at + 64)) ?? [];
    const before = source.slice(Math.max(0, at - 600), at).replace(/readonly $/, '');
    const next = /^\??:/.test(source.slice(at + word.length)) ? ':' : '';
    if (word === 'const') {
      const [, name = ''] = /^const (\w+)/.exec(source.slice(at, at + 64)) ?? [];
      const text = comment(before.replace(/export $/, ''));
      if (text !== undefined) constants.set(name, text);
    } else if (
      depth === 0 &&
      (next === ':' || (/^,|^\s*}/.test(source.slice(at + word.length)) && /[{,]\s*$|\*\/\s*$/.test(before)))
    )
      open.at(-1)?.set(word, comment(before) ?? (next === ':' ? undefined : constants.get(word)));
    at += word.length - 1;
  }
  return all.filter((one) => one.size > 0);
}

function comment(before: string): string | undefined {
  const text = COMMENT.exec(before)?.[1];
  return text === undefined ? undefined : withoutStars(text).replace(/\s+/g, ' ');
}
