/** The command line: overview and version by themselves, everything else by the one command that is asked for. Commander comes with that. */
import type { Edge } from '../edge.ts';
import { EXIT, type ExitCode, usageError } from '../exit-code.ts';
import { reportError } from './error-report.ts';
import { OVERVIEW, overviewText } from './overview.ts';

/** Returns the commands that can be typed after `turnstone`. */
export function commandNames(): readonly string[] {
  return Object.keys(OVERVIEW);
}

/** Runs one command line to its end; resolves to the exit code. Nothing is thrown. */
export async function runCommandLine(
  words: readonly string[],
  deps: { readonly edge: Edge; readonly version: () => string },
): Promise<ExitCode> {
  const { edge, version } = deps;
  try {
    const [first, ...others] = words;
    if (first === undefined) {
      edge.stderr.write(overviewText(edge.stderr.columns));
      return EXIT.usage;
    }
    if (first === '--version' || first === '-V') edge.stdout.write(`${version()}\n`);
    else if (first === '--help' || first === '-h' || (first === 'help' && others.length === 0))
      edge.stdout.write(overviewText(edge.stdout.columns));
    else await runCommand(first === 'help' ? [...others, '--help'] : words, edge);
    return EXIT.ok;
  } catch (error) {
    return reportError(error, { stderr: edge.stderr, asJson: wantsJson(words) });
  }
}

async function runCommand(words: readonly string[], edge: Edge): Promise<void> {
  const [name = ''] = words;
  if (!Object.hasOwn(OVERVIEW, name)) throw await unknown(name);
  await (await import('./commander-program.ts')).parseAndRun(words, edge, wantsJson(words));
}

async function unknown(word: string): Promise<Error> {
  const { nearest } = await import('../../config/fields/did-you-mean.ts');
  const shown = commandNames().filter((name) => OVERVIEW[name]?.isHidden !== true);
  const meant = nearest(word, shown);
  const kind = word.startsWith('-') ? 'option' : 'command';
  const suggestion = meant === undefined || kind === 'option' ? '' : ` (Did you mean ${meant}?)`;
  return usageError(`unknown ${kind} '${word}'${suggestion}`, { nextStep: 'see turnstone --help' });
}

/** True where the switch stands among the words that are options. */
function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).includes('--json');
}
