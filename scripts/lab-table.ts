/**
 * The table of the last full lab run in docs/testing.md, made from test/lab/last-run.json. It stands between two marks:
 *
 *   node scripts/lab-table.ts           prints it
 *   node scripts/lab-table.ts --write   puts it into docs/testing.md
 */
import { type LabRun, readLabRun } from '../test/lab/results/lab-run.ts';
import { printOrWrite } from './page-table.ts';

export function labTable(run: LabRun): string {
  const cuts = sum(run.cuts.map((one) => one.cuts));
  const losses = sum(run.cuts.map((one) => one.losses)) + sum(run.replays.map((one) => one.losses));
  const rows = [
    [
      'run',
      `${run.date}, commit ${run.commit.slice(0, 10)}${run.changed ? ' with changes' : ''}, ${run.machine}, ${run.minutes} min`,
    ],
    ['tests', `${run.tests.passed} passed, ${run.tests.failed} failed, ${run.tests.skipped} skipped`],
    ['guests booted', String(run.boots)],
    ['power cuts', `${cuts}: ${run.cuts.map((one) => `${one.cuts} during ${one.during}`).join(', ')}`],
    ...run.configurations.map((one) => [
      'configurations on trial on an installed service',
      `${one.changes}, of which ${one.lockedOut} locked the gateway out`,
    ]),
    ...run.replays.map((one) => [
      'writes replayed',
      `${one.flushes} flushes of an ${one.of} run, ${one.promised} promised entries`,
    ]),
    ['losses', String(losses)],
    ['GPIO edges at 200 a second', `${run.edges.counted} counted of ${run.edges.made}`],
    ...run.exposure.map((one) => ['systemd exposure', `${one.exposure} (${one.unit}), every driver working`]),
    ...run.rpcLatency.map((one) => [
      `RPC, disk: ${one.disk}`,
      `median ${one.medianMs} ms, worst ${one.worstMs} ms, ${one.calls} calls`,
    ]),
  ];
  return ['| Lab | Last full run |', '|---|---|', ...rows.map(([what, figure]) => `| ${what} | ${figure} |`)].join(
    '\n',
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

if (import.meta.main) await printOrWrite('lab', labTable(await readLabRun()));
