/** One simulated run in a process of its own: its options come as JSON, its figures go as JSON. */
import type { LineOptions } from './priced-line.ts';
import { runVirtually, type VirtualRun } from './virtual-agent.ts';

/** Run as it is asked for, and for how many days, two at least. */
export interface MonthAsked extends Omit<LineOptions, 'timeline'> {
  readonly config: object;
  readonly days: number;
}

export interface MonthFigures {
  /** Of 30 days. */
  readonly megabytes: number;
  readonly lanes: Readonly<Record<string, number>>;
  readonly connectionsADay: number;
  readonly sentValues: number;
  readonly heldEntries: number;
  readonly step: string;
}

const asked: MonthAsked = JSON.parse(process.argv[2] ?? '');
const MONTH_DAYS = 30;
let firstDay: Readonly<Record<string, number>> = {};
const onHour: NonNullable<VirtualRun['onHour']> = (hour, _agent, line) => {
  if (hour === 24) firstDay = line.lanes;
};
const { line, link, heldEntries } = await runVirtually({ ...asked, onHour });
/** The first day counts once, as it has the start and the tries; the others are the month's. */
const megabytesOf = (first: number, all: number): number =>
  Math.round((first + ((all - first) * (MONTH_DAYS - 1)) / (asked.days - 1)) / 1e5) / 10;
const figures: MonthFigures = {
  megabytes: megabytesOf(sum(firstDay), line.bytes),
  lanes: Object.fromEntries(
    Object.entries(line.lanes).map(([lane, bytes]) => [lane, megabytesOf(firstDay[lane] ?? 0, bytes)]),
  ),
  connectionsADay: Math.round(line.opened / asked.days),
  sentValues: line.postedKeys,
  heldEntries,
  step: link.step,
};
process.send?.(figures, () => process.exit());

function sum(lanes: Readonly<Record<string, number>>): number {
  return Object.values(lanes).reduce((total, one) => total + one, 0);
}
