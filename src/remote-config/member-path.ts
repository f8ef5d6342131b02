/**
 * Paths as people write them: members joined by dots, members of lists by their name, `sensors.roof.period`. A word that is not of letters, digits,
 * `_`, `-`, `*` and `:` alone stands in brackets and double quotes, `sensors.roof.keys["1.8.0"].scale`; so does a place in a list without names,
 * as a number: `rules.fan.set.curve.points[1]`.
 */

/** Words of a path; a number is a place in a list, from 0. */
export type MemberPath = readonly (string | number)[];

/** A word that needs no quotes. */
const PLAIN = /^[\w*:-]+$/;
/** The next step of a path: a word behind a dot, a place or a quoted word in brackets. */
const STEP = /(?:(?:^|\.)([\w*:-]+)|\[(\d{1,6})\]|\[("(?:[^"\\]|\\.)*")\])/y;
/** The schema is at most 9 deep; parameters of methods go deeper. */
const MAX_STEPS = 32;
const MAX_LENGTH = 1_024;

export function memberPathText(path: MemberPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!PLAIN.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

/** Undefined for a text that is no path. */
export function parseMemberPath(text: string): MemberPath | undefined {
  if (text === '' || text.startsWith('.') || text.length > MAX_LENGTH) return undefined;
  const path: (string | number)[] = [];
  for (let at = 0; at < text.length; ) {
    STEP.lastIndex = at;
    const found = STEP.exec(text);
    if (found === null || path.length >= MAX_STEPS) return undefined;
    const [whole, word, place, quoted] = found;
    const part = word ?? (place === undefined ? unquoted(quoted ?? '') : Number(place));
    if (part === undefined || part === '__proto__') return undefined;
    path.push(part);
    at += whole.length;
  }
  return path;
}

function unquoted(text: string): string | undefined {
  try {
    return String(JSON.parse(text));
  } catch {
    return undefined;
  }
}
