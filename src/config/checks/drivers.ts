/** Drivers of a user's own that Node cannot even parse. They are not executed: what is checked on a desk has no hardware to open. */
import { extname } from 'node:path';
import { systemClock } from '../../host/clock.ts';
import { type ProgramOutcome, runProgram } from '../../host/run-program.ts';
import { readUserFile } from '../../host/whole-file.ts';
import { definitionOf } from '../../kinds/sensor-kinds.ts';
import { type Finding, finding } from '../fields/findings.ts';
import type { ConfigDraft } from './draft.ts';

const DEADLINE_MS = 5_000;
/** More than any driver that is read at all. */
const MAX_BYTES = 2 * 2 ** 20;
/** Strips types as Node does when it loads a file, which `--check` does not. */
const STRIP_TYPES =
  "process.stdout.write(require('node:module').stripTypeScriptTypes(require('node:fs').readFileSync(0, 'utf8')))";
/** Parses many, and runs none. */
const SCREEN = `const vm = require('node:vm');
const { stripTypeScriptTypes } = require('node:module');
const parse = {
  module: (text) => new vm.SourceTextModule(text),
  commonjs: (text) => vm.compileFunction(text, ['exports', 'require', 'module', '__filename', '__dirname']),
};
const fault = (work) => {
  try {
    work();
    return null;
  } catch (error) {
    return error.name === 'SyntaxError' ? 'SyntaxError: ' + error.message.split('\\n')[0] : null;
  }
};
const faults = JSON.parse(require('node:fs').readFileSync(0, 'utf8')).map(({ text, isTyped, syntaxes }) => {
  let plain = text;
  const untyped = isTyped ? fault(() => { plain = stripTypeScriptTypes(text); }) : null;
  if (untyped !== null) return untyped;
  const found = syntaxes.map((syntax) => fault(() => parse[syntax](plain)));
  return found.includes(null) ? null : found[0];
});
process.stdout.write(JSON.stringify(faults));`;
/** Faults of more are told without their line. */
const MAX_EXPLAINED = 4;
const TYPED = new Set(['.ts', '.mts', '.cts']);
/** Node decides by the name; of a plain name by the text itself. */
const SYNTAXES: Readonly<Record<string, readonly Syntax[]>> = {
  '.mjs': ['module'],
  '.mts': ['module'],
  '.cjs': ['commonjs'],
  '.cts': ['commonjs'],
};

type Syntax = 'module' | 'commonjs';

/** One finding for each sensor whose driver has a syntax error; none where that cannot be found out. */
export async function checkDrivers({ sensors }: ConfigDraft): Promise<Finding[]> {
  const modules = sensors.flatMap(({ config, path }) => {
    const file = definitionOf(config.kind).userCode?.(config);
    return file === undefined ? [] : [{ file, path }];
  });
  const files = [...new Set(modules.map(({ file }) => file))];
  const faults = await screen(files);
  // The one that tells the line takes processes for each driver, one after the other.
  for (const file of [...faults.keys()].slice(0, MAX_EXPLAINED))
    faults.set(file, (await syntaxFault(file)) ?? faults.get(file) ?? '');
  return modules.flatMap(({ file, path }) => {
    const hint = faults.get(file);
    return hint === undefined
      ? []
      : [finding([...path, 'file'], 'a syntax error in', 'a driver that Node can parse', { hint })];
  });
}

/** Returns the faults of files that cannot be parsed, from one process for all: each takes a quarter of a second to start. */
async function screen(files: readonly string[]): Promise<Map<string, string>> {
  if (files.length === 0) return new Map();
  const drivers: object[] = [];
  for (const file of files) {
    const extension = extname(file);
    const written = await readUserFile(file).catch(() => undefined); // told by checkFiles
    drivers.push({
      text: written?.toString('utf8') ?? '',
      isTyped: TYPED.has(extension),
      syntaxes: syntaxesOf(extension),
    });
  }
  const outcome = await node(['--experimental-vm-modules', '--no-warnings', '-e', SCREEN], JSON.stringify(drivers));
  if (outcome?.exitCode !== 0) return new Map();
  const faults = JSON.parse(outcome.stdout) as readonly (string | null)[];
  return new Map(files.flatMap((file, at) => (typeof faults[at] === 'string' ? [[file, faults[at]] as const] : [])));
}

function syntaxesOf(extension: string): readonly Syntax[] {
  return SYNTAXES[extension] ?? ['module', 'commonjs'];
}

/** In words, or undefined. */
async function syntaxFault(file: string): Promise<string | undefined> {
  const written = await readUserFile(file).catch(() => undefined); // told by checkFiles
  if (written === undefined) return undefined;
  const extension = extname(file);
  let text: string | Uint8Array = written;
  if (TYPED.has(extension)) {
    const stripped = await node(['--no-warnings', '-e', STRIP_TYPES], text);
    if (stripped?.exitCode !== 0) return stripped && faultIn(stripped);
    text = stripped.stdout;
  }
  const faults: (string | undefined)[] = [];
  for (const syntax of syntaxesOf(extension)) {
    const checked = await node(['--check', `--input-type=${syntax}`, '-'], text);
    faults.push(checked && faultIn(checked));
  }
  return faults.includes(undefined) ? undefined : faults[0];
}

/** Undefined when it could not be run, or not to its end. */
async function node(args: readonly string[], input: string | Uint8Array): Promise<ProgramOutcome | undefined> {
  const program = { file: process.execPath, args, input, deadlineMs: DEADLINE_MS, maxOutputBytes: MAX_BYTES };
  const outcome = await runProgram(program, systemClock, new AbortController().signal).catch(() => undefined);
  return outcome?.cut === true ? undefined : outcome;
}

function faultIn({ exitCode, stderr }: ProgramOutcome): string | undefined {
  const [problem] = /^SyntaxError.*$/m.exec(stderr) ?? [];
  if (exitCode === 0 || problem === undefined) return undefined;
  const [, line] = /^\[stdin\]:(\d+)/m.exec(stderr) ?? [];
  return `${problem}${line === undefined ? '' : `, line ${line}`}`;
}
