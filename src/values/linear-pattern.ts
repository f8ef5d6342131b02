/**
 * Regular expressions of the configuration, matched in time that grows with the text alone (RE2's syntax and automata): no line and no command can
 * hold the agent up. The engine is loaded when the first pattern is compiled. Its `\s` knows ASCII blanks only.
 */
import { messageOf } from '../errors/agent-error.ts';

export interface LinearPattern {
  /** Matches anywhere unless anchored. */
  readonly test: (text: string) => boolean;
  /** Named groups of the first match, those without a part in it undefined; undefined without a match. */
  readonly groups: (text: string) => NamedParts | undefined;
  /** Named groups of each match, in order. */
  readonly all: (text: string) => readonly NamedParts[];
}

type NamedParts = Readonly<Record<string, string | undefined>>;

export type CompilePattern = (source: string) => LinearPattern;

/** Parts of a pattern in which a group cannot begin, or the beginning of one with a name. */
const TOKEN = /\\.|\[(?:\\.|[^\]\\])*\]|\(\?<([^=!>][^>]*)>/gs;
const LOOK_AROUND = /\(\?<?[=!]/;
const LOOK_BACK = /(?<!\\)(?:\\\\)*\\(?:[1-9]|k<)/;

/** Loads the engine. The returned function throws Error, in words for people, for what is no pattern or needs a look around or back. */
export async function loadLinearPatterns(): Promise<CompilePattern> {
  const { RE2JS } = await import('re2js');
  return (source) => {
    if (LOOK_BACK.test(source)) throw new Error('no \\1 and no \\k<name>: write out what is to come again');
    const names: string[] = [];
    // Names of groups may have any letters here; the engine knows ASCII.
    const plain = source.replace(TOKEN, (token, name: string | undefined) =>
      name === undefined ? token : `(?<g${names.push(name) - 1}>`,
    );
    const compiled = RE2JS.compile(RE2JS.translateRegExp(plain));
    const matches = function* (text: string): Generator<NamedParts> {
      const matcher = compiled.matcher(text);
      while (matcher.find())
        yield Object.fromEntries(names.map((name, n) => [name, matcher.group(`g${n}`) ?? undefined]));
    };
    return {
      test: (text) => compiled.matcher(text).find(),
      groups: (text) => matches(text).next().value ?? undefined,
      all: (text) => [...matches(text)],
    };
  };
}

/** Words for what a pattern should be instead; undefined when it can be compiled. */
export function patternProblem(compile: CompilePattern, source: string): string | undefined {
  try {
    compile(source);
    return undefined;
  } catch (error) {
    if (LOOK_AROUND.test(source))
      return 'a regular expression without (?=, (?!, (?<= and (?<!: match what stands there, in a group of its own';
    const [said = ''] = messageOf(error)
      .replace(/^error parsing regexp: /, '')
      .split(': `');
    return `a regular expression (RE2's): ${said}`;
  }
}
