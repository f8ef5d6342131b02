/** Pieces of Markdown that every generated page is made of. */

/** First line of every generated page. */
export const MADE_BY = '<!-- Made by `npm run docs:pages` from the sources: change those, not this page. -->';

/** Text of a page with its heading. */
export function page(title: string, parts: readonly (string | undefined)[]): string {
  return `${[MADE_BY, `# ${title}`, ...parts.filter((part) => part !== undefined && part !== '')].join('\n\n')}\n`;
}

/** Heading with what stands below it; undefined without anything below. */
export function part(heading: string, ...below: readonly (string | undefined)[]): string | undefined {
  const given = below.filter((one) => one !== undefined && one !== '');
  return given.length === 0 ? undefined : [`## ${heading}`, ...given].join('\n\n');
}

/** Table with its columns; undefined without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string | undefined {
  if (rows.length === 0) return undefined;
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replace(/\n/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** The same without columns that are empty in every row. */
export function filledTable(head: readonly string[], rows: readonly (readonly string[])[]): string | undefined {
  const isFilled = (at: number): boolean => rows.some((row) => row[at] !== '');
  const filled = (cells: readonly string[]): readonly string[] => cells.filter((_, at) => isFilled(at));
  return table(filled(head), rows.map(filled));
}

export function code(text: string): string {
  const [fence, pad] = text.includes('`') ? ['``', ' '] : ['`', ''];
  return `${fence}${pad}${text}${pad}${fence}`;
}

export const codes = (texts: readonly string[]): string => texts.map(code).join(', ');

export function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trim()}\n\`\`\``;
}

export const list = (items: readonly string[]): string => items.map((item) => `* ${item}`).join('\n');

/** Text outside of code, where < would begin an element. */
export const plain = (text: string): string => text.replaceAll('<', '&lt;');

/** The first letter large, and a full stop behind. */
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
