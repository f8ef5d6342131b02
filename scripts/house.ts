/**
 * Reports what the house weighs, and judges nothing: `npm run house [-- --json] [--list]`. The ages are those of the lab's and the mutants' tables in
 * docs/testing.md and of each row of docs/figures.md, in commits and in days.
 *
 * A folder is the directory that holds the file. Types that are imported do not count for circles; `import()` does, except that of a definition for
 * the driver or twin of its own folder.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = resolve(import.meta.dirname, '..');
const MAX_SUBJECT = 72;
const SUBJECTS = 50;
/** Characters shown of a figure's row. */
const ROW_SHOWN = 90;
const DAY_MS = 86_400_000;
const SUBJECT = /^[a-z][a-z0-9-]*(\([a-z-]+\))?: [a-z]\S*( .*)?$/;
/** Beginnings of a doc comment that name no thing: a title or a question, not a noun or a verb. */
const FORBIDDEN = /^\s*(\/\*\*|\*) (What|Whether|Of|Whom|Who)\b/;
const OWN_PARTS = /^(.*\/)definition\.ts > \1(driver|twin)\.ts$/;

type Figures = Readonly<
  Record<
    | 'srcLines'
    | 'actuatorLines'
    | 'uploadLines'
    | 'runtimeFolderCircles'
    | 'forbiddenBeginnings'
    | 'readmeWords'
    | 'longSubjects'
    | 'labAgeCommits'
    | 'labAgeDays'
    | 'mutantsAgeCommits'
    | 'mutantsAgeDays'
    | 'oldestFigureCommits',
    number
  >
>;

interface Age {
  readonly commits: number;
  readonly days: number;
}

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, list: { type: 'boolean', default: false } },
});
const files = git('ls-files', 'src')
  .split('\n')
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
const circles = circlesOf(importsByFolder());
const begun = files.flatMap((file) =>
  linesOf(file).flatMap((line, at) => (FORBIDDEN.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
);
const subjects = git('log', '--no-merges', `-${SUBJECTS}`, '--format=%s')
  .split('\n')
  .filter((subject) => subject.length > MAX_SUBJECT || !SUBJECT.test(subject));
const testing = readFileSync(join(ROOT, 'docs/testing.md'), 'utf8');
const lab = ageOf(/^\| run \| ([-\d]{10}), commit /m.exec(testing)?.[1]);
const mutants = ageOf(/^\| run \| ([-\d]{10}), seed /m.exec(testing)?.[1]);
const measured = agesOfFigures();
const figures: Figures = {
  srcLines: linesIn(/^src\//),
  actuatorLines: linesIn(/^src\/(actuators|outputs|rules)\//),
  uploadLines: linesIn(/^src\/telemetry\/answers\//),
  runtimeFolderCircles: circles.length,
  forbiddenBeginnings: begun.length,
  readmeWords: readFileSync(join(ROOT, 'README.md'), 'utf8').split(/\s+/).filter(Boolean).length,
  longSubjects: subjects.length,
  labAgeCommits: lab.commits,
  labAgeDays: lab.days,
  mutantsAgeCommits: mutants.commits,
  mutantsAgeDays: mutants.days,
  oldestFigureCommits: Math.max(...measured.map(({ age }) => age.commits)),
};
const names = Object.keys(figures) as (keyof Figures)[];

if (values.json) console.log(JSON.stringify(figures));
else {
  for (const name of names) console.log(`${name.padEnd(22)}${String(figures[name]).padStart(8)}`);
  console.log('\nRows of docs/figures.md: commits and days since they were measured');
  for (const { row, age } of measured)
    console.log(`${String(age.commits).padStart(6)}${String(age.days).padStart(4)}  ${row.slice(0, ROW_SHOWN)}`);
}
if (values.list)
  console.log([...circles.map((circle) => `circle: ${circle.join(' ')}`), ...begun, ...subjects].join('\n'));

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trimEnd();
}

/** Age of what was measured on a date, from the end of its day; -1 without a date. */
function ageOf(date: string | undefined): Age {
  if (date === undefined) return { commits: -1, days: -1 };
  return {
    commits: Number(git('rev-list', '--count', `--since=${date}T23:59:59Z`, 'HEAD')),
    days: Math.floor((Date.now() - Date.parse(date)) / DAY_MS),
  };
}

/** Rows of docs/figures.md with their ages, by the date that a row gives, else by that of the page; the oldest first. */
function agesOfFigures(): readonly { readonly row: string; readonly age: Age }[] {
  const page = readFileSync(join(ROOT, 'docs/figures.md'), 'utf8');
  const otherwise = /on ([-\d]{10}) where no other date/.exec(page)?.[1];
  return page
    .split('\n')
    .filter((line) => /^\| .* \|$/.test(line) && !line.startsWith('| Figure '))
    .map((line) => ({ row: line.slice(2), age: ageOf(/\((\d{4}-\d\d-\d\d)[,;)]/.exec(line)?.[1] ?? otherwise) }))
    .toSorted((a, b) => b.age.commits - a.age.commits);
}

function linesOf(file: string): readonly string[] {
  return texts.get(file)?.trimEnd().split('\n') ?? [];
}

function linesIn(folder: RegExp): number {
  return files.filter((file) => folder.test(file)).reduce((sum, file) => sum + linesOf(file).length, 0);
}

/** Folders by those that import them at run time. */
function importsByFolder(): ReadonlyMap<string, ReadonlySet<string>> {
  const graph = new Map<string, Set<string>>(files.map((file) => [dirname(file), new Set()]));
  for (const [file, text] of texts) {
    const targets = [
      ...text.matchAll(/^(?:import|export)\s+(?!type\s)[^;'"]*?from\s+'(\.[^']+)'/gms),
      ...text.matchAll(/\bimport\(\s*'(\.[^']+)'\s*\)/g),
    ].map(([, path = '']) => join(dirname(file), path));
    for (const target of targets) {
      if (dirname(target) !== dirname(file) && !OWN_PARTS.test(`${file} > ${target}`))
        graph.get(dirname(file))?.add(dirname(target));
    }
  }
  return graph;
}

/** Sets of more than one folder that reach each other (Tarjan). */
function circlesOf(graph: ReadonlyMap<string, ReadonlySet<string>>): readonly (readonly string[])[] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (folder: string): number => {
    const own = index.size;
    index.set(folder, own);
    low.set(folder, own);
    stack.push(folder);
    for (const next of graph.get(folder) ?? []) {
      const reached = index.has(next) ? (stack.includes(next) ? (index.get(next) ?? own) : own) : visit(next);
      low.set(folder, Math.min(low.get(folder) ?? own, reached));
    }
    if (low.get(folder) === own) found.push(stack.splice(stack.indexOf(folder)));
    return low.get(folder) ?? own;
  };
  for (const folder of graph.keys()) if (!index.has(folder)) visit(folder);
  return found.filter((folders) => folders.length > 1).map((folders) => folders.toSorted());
}
