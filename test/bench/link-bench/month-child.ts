/** One simulated run in a process of its own: its options come as JSON, its figures go as JSON. */
import type { LineOptions } from './priced-line.ts';
import { runVirtually } from './virtual-agent.ts';

/** Run as it is asked for, and how many days of it are a figure's month. */
export interface MonthAsked extends Omit<LineOptions, 'timeline'> {
  readonly config: object;
  readonly days: number;
}

export interface MonthFigures {
  /** Of 30 days. */
  readonly megabytes: number;
  readonly lanes: Readonly<Record<string, number>>;
  readonly connections: number;
  readonly sentValues: number;
  readonly heldEntries: number;
  readonly step: string;
}

const asked: MonthAsked = JSON.parse(process.argv[2] ?? '');
const { line, link, heldEntries } = await runVirtually(asked);
const perMonth = 30 / asked.days / 1e6;
const figures: MonthFigures = {
  megabytes: Math.round(line.bytes * perMonth * 10) / 10,
  lanes: Object.fromEntries(Object.entries(line.lanes).map(([lane, bytes]) => [lane, Math.round(bytes * perMonth * 10) / 10])),
  ...{ connections: Math.round((line.opened * 30) / asked.days), sentValues: line.postedKeys, heldEntries, step: link.step },
};
process.send?.(figures, () => process.exit());
