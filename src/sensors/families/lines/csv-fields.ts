/** The fields of one line of separated values, after RFC 4180: a field in quotes may hold the separator, and a quote as two. */

export interface CsvField {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** @throws Error for a quote that does not end, and for text behind one that has. */
export function csvFields(line: string, separator: string): readonly CsvField[] {
  const fields: CsvField[] = [];
  let at = 0;
  for (;;) {
    const start = quoteAt(line, at, separator);
    if (start === undefined) {
      const end = line.indexOf(separator, at);
      fields.push({ text: line.slice(at, end < 0 ? line.length : end), isQuoted: false });
      if (end < 0) return fields;
      at = end + separator.length;
    } else {
      const { text, end } = quoted(line, start + 1);
      fields.push({ text, isQuoted: true });
      const next = line.indexOf(separator, end);
      if (line.slice(end, next < 0 ? line.length : next).trim() !== '') throw new Error('text behind a field in quotes');
      if (next < 0) return fields;
      at = next + separator.length;
    }
  }
}

/** Where the field's quote is, when it begins with one; blanks may stand before it, where they are no separator. */
function quoteAt(line: string, from: number, separator: string): number | undefined {
  let at = from;
  while (at < line.length && /\s/.test(line.charAt(at)) && line.charAt(at) !== separator) at += 1;
  return line.charAt(at) === '"' ? at : undefined;
}

/** From behind the opening quote to behind the closing one. */
function quoted(line: string, from: number): { readonly text: string; readonly end: number } {
  let text = '';
  let at = from;
  for (;;) {
    const end = line.indexOf('"', at);
    if (end < 0) throw new Error('a quote that does not end');
    text += line.slice(at, end);
    if (line.charAt(end + 1) !== '"') return { text, end: end + 1 };
    text += '"';
    at = end + 2;
  }
}
