/** Pieces of a manual page in the language of man(7). Each takes plain text and gives whole lines. */

/** Characters of roff's own, and those that it would print as typographic ones. */
const SPECIAL: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
};

/** Text that stands as it is, all in ASCII. */
export function plain(text: string): string {
  return text
    .replace(/[\\\-'`^~]/g, (sign) => SPECIAL[sign] ?? sign)
    .replace(/[^\n -~]/gu, (letter) => `\\[u${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replace(/^(?=\.)/gm, '\\&');
}

export function bold(text: string): string {
  return `\\fB${plain(text)}\\fP`;
}

export function italic(text: string): string {
  return `\\fI${plain(text)}\\fP`;
}

/** First lines of a page, and its NAME. Lines are not stretched, and words not taken apart. */
export function title(name: string, section: number, version: string, says: string): string {
  return `.TH "${plain(name.toUpperCase())}" "${section}" "" "turnstone ${plain(version)}"\n.nh\n.ad l\n${heading('NAME')}${plain(name)} \\- ${plain(says)}\n`;
}

export function heading(text: string): string {
  return `.SH "${plain(text)}"\n`;
}

export function subheading(text: string): string {
  return `.SS "${plain(text)}"\n`;
}

/** Paragraphs, of which each is one line of roff. */
export function paragraphs(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((one) => `.PP\n${plain(one.replace(/\s*\n\s*/g, ' ').trim())}\n`)
    .join('');
}

/** Term with what it means below it; the term is roff already. */
export function definition(term: string, says: string): string {
  return `.TP\n${term}\n${says === '' ? '\\&' : plain(says.replace(/\s*\n\s*/g, ' '))}\n`;
}

/** Lines as they are typed. */
export function example(lines: readonly string[]): string {
  return `.PP\n.RS 4\n.nf\n${lines.map((line) => plain(line).replace(/^$/, '\\&')).join('\n')}\n.fi\n.RE\n`;
}
