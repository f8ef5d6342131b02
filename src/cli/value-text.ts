/** Values and ages as people read them, and as a line of CSV has them. */

import { formatDuration } from '../config/fields/quantity.ts';
import { printable } from '../names/printable.ts';
import { nameText, shownText } from '../names/shown-text.ts';
import type { SensorStatus } from '../status/shape/agent-status.ts';
import { type JsonValue, stringifyJson } from '../values/json.ts';
import type { Style } from './printer.ts';

/** Symbols that people read, of units that the platform is told in the letters of UCUM. */
const SYMBOLS: Readonly<Record<string, string>> = { By: 'B' };

/** Null is a value that nobody knows: that of an output which was not set yet and cannot be asked. */
export function valueText(value: JsonValue, unit?: string): string {
  if (value === null) return 'unknown';
  const shown = typeof value === 'string' ? value : stringifyJson(value);
  return printable(unit === undefined ? shown : `${shown} ${SYMBOLS[unit] ?? unit}`);
}

/** Returns the value of an output as papers and page say it. @param className Class of the output. */
export function outputText(value: JsonValue, className?: string): string {
  return printable(shownText(value, { class: className }));
}

/** Returns label and value of a reading as people read them: `Room temperature: 21.2 °C`. */
export function readingText(reading: SensorStatus['readings'][number]): string {
  return printable(`${nameText(reading)}: ${shownText(reading.value, reading)}`);
}

/** Returns `1 fault`, `2 faults`. */
export function counted(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

/** The two largest units: an hour ago nobody counts milliseconds. */
export function shortAge(ms: number): string {
  const whole = ms < 1_000 ? Math.max(0, Math.round(ms)) : Math.round(ms / 1_000) * 1_000;
  return /^(?:\d+[a-z]+){1,2}/.exec(formatDuration(whole))?.[0] ?? '0s';
}

/** Age within a sentence, otherwise as `shortAge`: `2 h 5 min`. */
export function spokenAge(ms: number): string {
  return shortAge(ms)
    .replace(/(\d)m(?!s)/g, '$1min')
    .replace(/(\d+)([a-z]+)/g, '$1 $2 ')
    .trim();
}

/** How a sensor does. */
export function stateText({ state, fault }: SensorStatus, { green, red, dim }: Style): string {
  const paint = { ok: green, failing: red, starting: dim }[state];
  return `${paint(state)}${fault === undefined ? '' : `: ${printable(fault)}`}`;
}

/** The kind, and the slot of the attached device that it is of; before them the name, where a label stands in its place. */
export function kindText({
  name = '',
  label,
  kind,
  device,
}: {
  readonly name?: string;
  readonly label?: string;
  readonly kind: string;
  readonly device?: string;
}): string {
  const whose = device === undefined ? kind : `${kind} of ${printable(device)}`;
  return label === undefined || name === '' ? whose : `${name}, ${whose}`;
}

/** Returns a line of CSV (RFC 4180); a text that a spreadsheet would take for a formula is told as text. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(cell: string): string {
  const harmless = /^[=+\-@\t\r]/.test(cell) && !Number.isFinite(Number(cell)) ? `'${cell}` : cell;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
