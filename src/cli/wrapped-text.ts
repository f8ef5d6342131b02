/** Fits text into a terminal's width: wraps at words, cuts lines. Colours take no room, and none runs on into what stands beside or below. */
import { stripVTControlCharacters } from 'node:util';

const ESCAPE = '\u001b';
const COLOUR = new RegExp(`(${ESCAPE}\\[[\\d;]*m)`);
/** Codes that end a colour or a weight. */
const ENDS: readonly string[] = ['0', '22', '39'].map((code) => `${ESCAPE}[${code}m`);
const END_ALL = `${ESCAPE}[0m`;
/** A column in which text is wrapped is no narrower. */
const MIN_CELL = 20;
const GAP = 2;

export function textWidth(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** Returns the lines of a text. A word that is wider than a line has a line of its own, whole, so that it can be copied. */
export function wrapWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let used = 0;
  for (const word of text.split(' ')) {
    const wide = textWidth(word);
    if (lines.length > 0 && used + 1 + wide <= width) {
      lines[lines.length - 1] += ` ${word}`;
      used += 1 + wide;
    } else {
      lines.push(word);
      used = wide;
    }
  }
  return withColoursEnded(lines);
}

/** Returns the lines of a text behind an indent; those after the first hang further in. */
export function hangingLines(text: string, width: number, indent = ''): readonly string[] {
  const hanging = `${indent}  `;
  return wrapWords(text, width - hanging.length).map((line, at) => (at === 0 ? indent : hanging) + line);
}

/** Returns the first lines of a text, the last of them with a mark where others are missing. */
export function firstLines(lines: readonly string[], count: number, width: number): readonly string[] {
  if (lines.length <= count) return lines;
  return lines.slice(0, count).map((line, at) => (at === count - 1 ? cutText(`${line} …`, width) : line));
}

/** Returns a line that is no wider, with a mark at its end where something is missing. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let room = Math.max(1, width) - 1;
  const parts = text.split(COLOUR).map((part) => {
    if (part.startsWith(ESCAPE)) return part;
    const shown = part.slice(0, room);
    room -= shown.length;
    return shown;
  });
  return `${parts.join('')}…`;
}

/** Returns the lines of each row, columns lined up. The widest column gives way until a line fits, and so does whatever ends a row. */
export function wrapRows(
  rows: readonly (readonly string[])[],
  width: number,
  indent = '',
): readonly (readonly string[])[] {
  const widths = columnWidths(rows);
  const flexible = widths.indexOf(Math.max(...widths));
  const others = widths.reduce((sum, one) => sum + one, indent.length + GAP * (widths.length - 1));
  const over = Math.max(0, others - width);
  if (flexible !== -1) widths[flexible] = Math.max(MIN_CELL, (widths[flexible] ?? 0) - over);
  return rows.map((row) => rowLines(row, { widths, width, indent }));
}

function columnWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, textWidth(cell));
  return widths;
}

function rowLines(
  row: readonly string[],
  { widths, width, indent }: { readonly widths: readonly number[]; readonly width: number; readonly indent: string },
): readonly string[] {
  const last = row.findLastIndex((cell) => cell !== '');
  let start = indent.length;
  const cells = row.slice(0, last + 1).map((cell, index) => {
    const own = widths[index] ?? 0;
    const lines = wrapWords(cell, index === last ? Math.max(MIN_CELL, width - start) : own);
    start += own + GAP;
    return lines;
  });
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  const pad = (text: string, index: number): string =>
    text + ' '.repeat(Math.max(0, (widths[index] ?? 0) - textWidth(text)));
  return Array.from({ length: height }, (_, at) =>
    (indent + cells.map((lines, index) => pad(lines[at] ?? '', index)).join(' '.repeat(GAP))).trimEnd(),
  );
}

/** Ends at each line's end what is coloured, and begins it again on the next line. */
function withColoursEnded(lines: readonly string[]): readonly string[] {
  let open = '';
  return lines.map((line) => {
    const begun = open + line;
    for (const part of line.split(COLOUR)) {
      if (!part.startsWith(ESCAPE)) continue;
      open = ENDS.includes(part) ? '' : open + part;
    }
    return open === '' ? begun : begun + END_ALL;
  });
}
