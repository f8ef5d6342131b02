/** Columns for people. */

/** Rows with their columns lined up, two spaces apart; the last column is cut where the width ends. */
export function columns(rows: readonly (readonly string[])[], width: number, indent = ''): string {
  const widths: number[] = [];
  for (const row of rows) for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return rows
    .map((row) => {
      const line = indent + row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0))).join('  ');
      return line.length > width ? `${line.slice(0, Math.max(1, width - 1))}…` : line;
    })
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}
