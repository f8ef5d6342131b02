/** The live table of `turnstone watch`: its rows, their order, what is filtered, and the part that the terminal shows. It draws nothing itself. */

import { printable } from '../names/printable.ts';
import { nameText, shownText } from '../names/shown-text.ts';
import type { AgentStatus } from '../status/shape/agent-status.ts';
import { WATCH_SORTS, type WatchSort } from './commands/status.ts';
import type { Style } from './printer.ts';
import type { Key } from './screen.ts';
import { outputText, shortAge } from './value-text.ts';
import { type Watched, watchedOf } from './watched.ts';
import { cutText, wrapRows } from './wrapped-text.ts';

const BLOCKS = '▁▂▃▄▅▆▇█';
/** Head, an empty line, and the foot. */
const LINES_AROUND = 3;
const MAX_FILTER = 60;
/** Characters of a name; a label may have 64, and values need their room. */
const MAX_NAME = 24;
/** Rows are cut to the terminal, and not wrapped. */
const UNBOUNDED = 10_000;

interface Row {
  readonly cells: readonly string[];
  /** Words that a filter looks in. */
  readonly text: string;
  readonly name: string;
  readonly device: string;
  /** Urgency: what fails comes first. */
  readonly rank: number;
  /** Infinite where there is no value. */
  readonly ageMs: number;
}

const RANK = { failing: 0, starting: 1, ok: 2, output: 3 } as const;

const ORDERS: Readonly<Record<WatchSort, (one: Row, other: Row) => number>> = {
  name: (one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }),
  state: (one, other) => one.rank - other.rank,
  // The oldest value is the one to look at.
  age: (one, other) => other.ageMs - one.ageMs || 0,
  device: (one, other) => one.device.localeCompare(other.device, 'en', { numeric: true }),
};

export class WatchView {
  readonly #style: Style;
  #sort: WatchSort | undefined;
  #status: AgentStatus | undefined;
  #seen: ReadonlyMap<string, Watched> = new Map();
  #filter = '';
  #isTyping = false;
  #offset = 0;
  #page = 1;

  constructor(options: { readonly style: Style; readonly sort?: WatchSort | undefined }) {
    this.#style = options.style;
    this.#sort = options.sort;
  }

  take(status: AgentStatus): void {
    this.#seen = watchedOf(status, this.#seen);
    this.#status = status;
  }

  /** Returns false where the key ends the view. */
  press(key: Key): boolean {
    if (key.ctrl === true && key.name === 'c') return false;
    if (this.#isTyping) {
      this.#type(key);
      return true;
    }
    if (key.name === 'q') return false;
    this.#move(key);
    return true;
  }

  /** Returns the lines of a terminal of that size. */
  lines({ rows }: { readonly rows: number }): readonly string[] {
    const status = this.#status;
    if (status === undefined) return [];
    const { bold } = this.#style;
    const { platform, outbox } = status;
    const head = `${bold(printable(status.label ?? status.deviceName) || 'turnstone')}  ${printable(platform.words)}, ${outbox.heldEntries} entries wait`;
    const all = this.#rows(status);
    const lines = wrapRows(
      all.map(({ cells }) => cells),
      UNBOUNDED,
    ).flat();
    this.#page = Math.max(1, rows - LINES_AROUND);
    this.#offset = Math.max(0, Math.min(this.#offset, lines.length - this.#page));
    const shown = lines.slice(this.#offset, this.#offset + this.#page);
    return [head, '', ...shown, this.#foot(shown.length, lines.length)];
  }

  #foot(shown: number, all: number): string {
    const { dim, bold } = this.#style;
    if (this.#isTyping) return `${bold('/')}${printable(this.#filter)}▏${dim('  Enter keeps it, Esc clears it')}`;
    const place = all === 0 ? 'nothing to show' : `${this.#offset + 1} to ${this.#offset + shown} of ${all}`;
    const filter = this.#filter === '' ? '/ filters' : `/ filter: ${printable(this.#filter)}`;
    return dim(`${place}   s sorted by ${this.#sort ?? 'configuration'}   ${filter}   ↑ ↓ PgUp PgDn   q ends`);
  }

  #type({ name, ctrl = false, sequence = '' }: Key): void {
    if (name === 'return' || name === 'enter') this.#isTyping = false;
    else if (name === 'escape') {
      this.#isTyping = false;
      this.#filter = '';
    } else if (name === 'backspace') this.#filter = [...this.#filter].slice(0, -1).join('');
    else if (!ctrl && /^\P{Cc}$/u.test(sequence)) this.#filter = (this.#filter + sequence).slice(0, MAX_FILTER);
  }

  #move({ name, sequence }: Key): void {
    const page = this.#page;
    const steps: Readonly<Record<string, number>> = { up: -1, down: 1, pageup: -page, pagedown: page };
    if (name === 'home') this.#offset = 0;
    else if (name === 'end') this.#offset = Number.MAX_SAFE_INTEGER;
    else if (name === 's') this.#sort = nextSort(this.#sort);
    else if (name === 'escape') this.#filter = '';
    else if (sequence === '/') {
      this.#isTyping = true;
      this.#filter = '';
    } else if (name !== undefined) this.#offset = Math.max(0, this.#offset + (steps[name] ?? 0));
  }

  #rows(status: AgentStatus): readonly Row[] {
    const wanted = this.#filter.toLowerCase();
    const rows = [...this.#readings(status), ...this.#failing(status), ...this.#outputs(status)].filter(({ text }) =>
      text.toLowerCase().includes(wanted),
    );
    return this.#sort === undefined ? rows : rows.toSorted(ORDERS[this.#sort]);
  }

  #readings({ nowMs }: AgentStatus): readonly Row[] {
    const { cyan, dim } = this.#style;
    return [...this.#seen.values()].map((reading) => {
      const { called, device = '', state } = reading;
      const ageMs = nowMs - reading.atMs;
      const key = printable(nameText(reading));
      const value = printable(shownText(reading.value, reading));
      return {
        cells: [this.#name(called, device), key, value, cyan(sparkline(reading.history)), dim(shortAge(ageMs))],
        text: `${called} ${reading.sensor} ${nameText(reading)} ${reading.key} ${device}`,
        name: called,
        device,
        rank: RANK[state],
        ageMs,
      };
    });
  }

  #failing({ sensors }: AgentStatus): readonly Row[] {
    return sensors
      .filter(({ state }) => state === 'failing')
      .map(({ name, label = name, fault = 'fails', device = '' }) => ({
        cells: [this.#name(label, device), '', this.#style.red(printable(fault))],
        text: `${label} ${name} ${fault} ${device} failing`,
        name: label,
        device,
        rank: RANK.failing,
        ageMs: Number.POSITIVE_INFINITY,
      }));
  }

  #outputs({ actuators }: AgentStatus): readonly Row[] {
    return actuators.map(({ name, label = name, device = '', fault, value, class: kind }) => ({
      cells: [
        this.#name(label, device),
        '',
        fault === undefined ? outputText(value, kind) : this.#style.red(printable(fault)),
      ],
      text: `${label} ${name} ${device}`,
      name: label,
      device,
      rank: fault === undefined ? RANK.output : RANK.failing,
      ageMs: Number.NEGATIVE_INFINITY,
    }));
  }

  #name(label: string, device: string): string {
    const { bold, dim } = this.#style;
    const name = bold(cutText(printable(label), MAX_NAME));
    return device === '' ? name : `${name} ${dim(`of ${cutText(printable(device), MAX_NAME)}`)}`;
  }
}

/** After the last one the order of the configuration. */
function nextSort(sort: WatchSort | undefined): WatchSort | undefined {
  return WATCH_SORTS[sort === undefined ? 0 : WATCH_SORTS.indexOf(sort) + 1];
}

/** A curve in one line of text: a block for each number, from the least to the greatest of them; a flat curve lies at the bottom. */
export function sparkline(values: readonly number[]): string {
  const least = Math.min(...values);
  const range = Math.max(...values) - least;
  return values
    .map((value) => BLOCKS[range === 0 ? 0 : Math.round(((value - least) / range) * (BLOCKS.length - 1))] ?? '')
    .join('');
}
