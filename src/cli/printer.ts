/** Prints what a command found: for programs as JSON, for people as text in columns, coloured on a terminal only (and see no-color.org). */

import { styleText } from 'node:util';
import { printable } from '../names/printable.ts';
import { type JsonValue, stringifyJson } from '../values/json.ts';
import type { Edge, Output } from './edge.ts';
import { CommandError, EXIT, type ExitCode } from './exit-code.ts';
import { cutText, textWidth } from './wrapped-text.ts';

const STYLES = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const;

/** Width of a page of text that is piped. */
const PIPE_COLUMNS = 100;

/** `auto`: on a terminal that has not said otherwise, or where FORCE_COLOR asks for them. */
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
    const { NO_COLOR: never = '', FORCE_COLOR: forced, TERM: terminal } = environment;
    const isShown = forced === undefined ? stdout.isTerminal && terminal !== 'dumb' : !['0', 'false'].includes(forced);
    this.style = styleOf(never === '' && (colours === 'always' || (colours === 'auto' && isShown)));
  }

  get width(): number {
    return this.#output.columns;
  }

  /** Width of text that is wrapped at words. */
  get pageWidth(): number {
    return this.#output.isTerminal ? this.#output.columns : Math.min(this.#output.columns, PIPE_COLUMNS);
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
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, textWidth(cell));
  const pad = (cell: string, index: number): string =>
    cell + ' '.repeat(Math.max(0, (widths[index] ?? 0) - textWidth(cell)));
  return rows
    .map((row) =>
      (indent + row.map((cell, index) => (index === row.length - 1 ? cell : pad(cell, index))).join('  ')).trimEnd(),
    )
    .map((line) => `${cutText(line, width)}\n`)
    .join('');
}

function styleOf(isWanted: boolean): Style {
  const paint = (name: keyof Style) => (text: string) =>
    isWanted ? styleText(name, text, { validateStream: false }) : text;
  return Object.fromEntries(STYLES.map((name) => [name, paint(name)])) as Style;
}
