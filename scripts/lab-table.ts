/**
 * The README's table of the last full lab run, made from test/lab/last-run.json. It stands between two marks:
 *
 *   node scripts/lab-table.ts           prints it
 *   node scripts/lab-table.ts --write   puts it into README.md
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LabRun, readLabRun } from '../test/lab/results/lab-run.ts';

const README = join(import.meta.dirname, '../README.md');
const BEGIN = '<!-- lab table: made by scripts/lab-table.ts -->';
const END = '<!-- end of lab table -->';

export function labTable(run: LabRun): string {
  const cuts = sum(run.cuts.map((one) => one.cuts));
  const losses = sum(run.cuts.map((one) => one.losses)) + sum(run.replays.map((one) => one.losses));
  const rows = [
    ['run', `${run.date}, commit ${run.commit.slice(0, 10)}${run.changed ? ' with changes' : ''}, ${run.machine}, ${run.minutes} min`],
    ['tests', `${run.tests.passed} passed, ${run.tests.failed} failed, ${run.tests.skipped} skipped`],
    ['guests booted', String(run.boots)],
    ['power cuts', `${cuts}: ${run.cuts.map((one) => `${one.cuts} during ${one.during}`).join(', ')}`],
    ...run.replays.map((one) => ['writes replayed', `${one.flushes} flushes of an ${one.of} run, ${one.promised} promised entries`]),
    ['losses', String(losses)],
    ['GPIO edges at 200 a second', `${run.edges.counted} counted of ${run.edges.made}`],
    ...run.exposure.map((one) => ['systemd exposure', `${one.exposure} (${one.unit}), every driver working`]),
    ...run.rpcLatency.map((one) => [`RPC, ${one.disk} disk`, `median ${one.medianMs} ms, worst ${one.worstMs} ms, ${one.calls} calls`]),
  ];
  return ['| Lab | Last full run |', '|---|---|', ...rows.map(([what, figure]) => `| ${what} | ${figure} |`)].join('\n');
}

/** What the README has between the marks; undefined without marks. */
export function tableInReadme(readme: string): string | undefined {
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  return begin < 0 || end < begin ? undefined : readme.slice(begin + BEGIN.length, end).trim();
}

/** @throws when the README has no marks. */
export function withTable(readme: string, table: string): string {
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`README.md has no place for the table: ${BEGIN} and ${END}`);
  return `${readme.slice(0, begin)}${BEGIN}\n${table}\n${readme.slice(end)}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

if (import.meta.main) {
  const table = labTable(await readLabRun());
  if (process.argv.includes('--write')) await writeFile(README, withTable(await readFile(README, 'utf8'), table));
  else console.log(table);
}
