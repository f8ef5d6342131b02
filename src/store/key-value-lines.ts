/** Small files of KEY=VALUE lines: those that a shell script reads and writes, too. A value keeps to its line and to 300 characters. */

const MAX_VALUE_LENGTH = 300;

/** One KEY=VALUE a line; members that are undefined are left out. */
export function keyValueLines(fields: object): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${oneLine(String(value))}\n`)
    .join('');
}

/** The text on one line, cut where it is too long for a value. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}]+/gu, ' ').slice(0, MAX_VALUE_LENGTH);
}

/** Reads any bytes; the last of two lines with one key counts. */
export function parseKeyValueLines(bytes: Uint8Array | undefined): Readonly<Record<string, string | undefined>> {
  const text = bytes === undefined ? '' : Buffer.from(bytes).toString('utf8');
  return Object.fromEntries(
    text.split('\n').map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
}
