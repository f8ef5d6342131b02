/** Texts that a person keeps as a file. */
import { el } from './dom.js';

export function saveText(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el('a', { href: url, download: name }).click();
  // The browser has begun to take it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Lines of CSV; a cell that a spreadsheet would take for a formula is told as text. */
export function csvOf(rows) {
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(value) {
  const text = value === undefined || value === null ? '' : String(value);
  const plain = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
