/** Columns for people. */
import { COLOUR } from './style.ts';

/** Rows with their columns lined up, two spaces apart; a line that is wider than the terminal is cut. Colours take no room. */
export function columns(rows: readonly (readonly string[])[], width: number, indent = ''): string {
  const widths: number[] = [];
  for (const row of rows) for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, plain(cell).length);
  const pad = (cell: string, index: number): string => cell + ' '.repeat(Math.max(0, (widths[index] ?? 0) - plain(cell).length));
  return rows
    .map((row) => (indent + row.map((cell, index) => (index === row.length - 1 ? cell : pad(cell, index))).join('  ')).trimEnd())
    .map((line) => (plain(line).length > width ? `${plain(line).slice(0, Math.max(1, width - 1))}…` : line))
    .map((line) => `${line}\n`)
    .join('');
}

/** A text without the colours that style.ts puts into it. */
function plain(text: string): string {
  return text.replaceAll(COLOUR, '');
}
