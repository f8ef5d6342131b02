/** Prints what a command found: for programs as JSON, for people as text in columns, coloured on a terminal only (and see no-color.org). */

import { stripVTControlCharacters, styleText } from 'node:util';
import { type Clock, systemClock } from '../host/clock.ts';
import { type JsonValue, stringifyJson } from '../values/json.ts';
import type { Edge, Output } from './edge.ts';
import { CommandError, EXIT, type ExitCode } from './exit-code.ts';

const STYLES = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const;

/** `auto`: on a terminal that has not said otherwise. */
export type Colours = 'auto' | 'always' | 'never';

/** Functions that colour a text, or leave it alone where colours are not wanted. */
export type Style = { readonly [name in (typeof STYLES)[number]]: (text: string) => string };

export const PLAIN = styleOf(false);

export class Printer {
  readonly style: Style;
  /** How the command ends, unless it throws. */
  exitCode: ExitCode = EXIT.ok;
  readonly #output: Output;
  readonly #asJson: boolean;

  constructor(
    { stdout, environment }: Pick<Edge, 'stdout' | 'environment'>,
    asJson: boolean,
    colours: Colours = 'auto',
  ) {
    this.#output = stdout;
    this.#asJson = asJson;
    const noColor = environment.NO_COLOR !== undefined && environment.NO_COLOR !== '';
    const isWanted = colours === 'always' || (colours === 'auto' && stdout.isTerminal && environment.TERM !== 'dumb');
    this.style = styleOf(isWanted && !noColor);
  }

  get width(): number {
    return this.#output.columns;
  }

  /** One line of JSON where `--json` asks for it; otherwise as `text` words it. */
  result(value: unknown, text: () => string): void {
    this.write(this.#asJson ? `${stringifyJson(value as JsonValue)}\n` : text());
  }

  /** Ends the command as failed; programs have been told with the result. @throws CommandError. */
  fail(message: string, nextStep: string): never {
    throw new CommandError(this.#asJson ? '' : message, { nextStep });
  }

  /** As `columns`, no wider than the terminal. */
  table(rows: readonly (readonly string[])[], indent = ''): string {
    return columns(rows, this.width, indent);
  }

  write(text: string): void {
    this.#output.write(text);
  }

  /** Lines that are of others: they do nothing to a terminal, and a program gets them as they are. */
  writeForeign(text: string): void {
    this.write(this.#output.isTerminal ? text.replace(/[^\r\n]+/g, printable) : text);
  }
}

/** Rows with their columns lined up, two spaces apart; a line that is wider is cut. Colours take no room. */
function columns(rows: readonly (readonly string[])[], width: number, indent: string): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, plain(cell).length);
  const pad = (cell: string, index: number): string =>
    cell + ' '.repeat(Math.max(0, (widths[index] ?? 0) - plain(cell).length));
  return rows
    .map((row) =>
      (indent + row.map((cell, index) => (index === row.length - 1 ? cell : pad(cell, index))).join('  ')).trimEnd(),
    )
    .map((line) => (plain(line).length > width ? `${plain(line).slice(0, Math.max(1, width - 1))}…` : line))
    .map((line) => `${line}\n`)
    .join('');
}

const plain = stripVTControlCharacters;

/** Removes from a text from elsewhere all that could control a terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) => (character === '\n' || character === '\t' ? ' ' : '�'));
}

function styleOf(isWanted: boolean): Style {
  const paint = (name: keyof Style) => (text: string) =>
    isWanted ? styleText(name, text, { validateStream: false }) : text;
  return Object.fromEntries(STYLES.map((name) => [name, paint(name)])) as Style;
}

const BAR_WIDTH = 30;
/** Faster than this nobody reads it. */
const STEP_PERCENT = 1;

export class ProgressBar {
  readonly #output: Output;
  readonly #label: string;
  #shownPercent = -1;

  constructor(output: Output, label: string) {
    this.#output = output;
    this.#label = label;
  }

  /** `total` may be unknown: then the amount alone is shown, as `describe` words it. */
  update(done: number, total: number | undefined, describe: (amount: number) => string = String): void {
    if (!this.#output.isTerminal) return;
    if (total === undefined || total <= 0) {
      this.#draw(`${this.#label} ${describe(done)}`);
      return;
    }
    const percent = Math.min(100, Math.floor((done / total) * 100));
    if (percent < this.#shownPercent + STEP_PERCENT) return;
    this.#shownPercent = percent;
    const filled = Math.round((percent / 100) * BAR_WIDTH);
    this.#draw(
      `${this.#label} [${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${String(percent).padStart(3)}% of ${describe(total)}`,
    );
  }

  /** Leaves the line clean. Idempotent. */
  end(): void {
    if (this.#output.isTerminal) this.#output.write('\r\u001b[K');
  }

  #draw(text: string): void {
    this.#output.write(`\r\u001b[K${text.slice(0, this.#output.columns - 1)}`);
  }
}

/** Where no terminal is, shorter work says nothing. */
const LONG_WORK_MS = 5_000;

/** A bar for as long as the work takes; where no terminal is, a line once it takes long, and one at its end. */
export async function withBar<T>(
  output: Output,
  label: string,
  work: (bar: ProgressBar) => Promise<T>,
  clock: Pick<Clock, 'after' | 'monotonicMs'> = systemClock,
): Promise<T> {
  const bar = new ProgressBar(output, label);
  const startedMs = clock.monotonicMs();
  let isLong = false;
  const say = (text: string): void => output.write(`turnstone: ${label}: ${text}\n`);
  const cancel = clock.after(LONG_WORK_MS, () => {
    isLong = !output.isTerminal;
    if (isLong) say('under way');
  });
  try {
    return await work(bar);
  } finally {
    cancel();
    bar.end();
    if (isLong) say(`ended after ${Math.round((clock.monotonicMs() - startedMs) / 1_000)} s`);
  }
}
