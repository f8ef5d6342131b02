/** Values and ages as people read them, and as a line of CSV has them. */

import { formatDuration } from '../config/fields/quantity.ts';
import type { SensorStatus } from '../status/shape/agent-status.ts';
import { type JsonValue, stringifyJson } from '../values/json.ts';
import { printable, type Style } from './printer.ts';

/** Symbols that people read, of units that the platform is told in the letters of UCUM. */
const SYMBOLS: Readonly<Record<string, string>> = { By: 'B' };

/** Null is a value that nobody knows: that of an output which was not set yet and cannot be asked. */
export function valueText(value: JsonValue, unit?: string): string {
  if (value === null) return 'unknown';
  const shown = typeof value === 'string' ? value : stringifyJson(value);
  return printable(unit === undefined ? shown : `${shown} ${SYMBOLS[unit] ?? unit}`);
}

/** Returns the value of an output as papers and page say it. */
export function outputText(value: JsonValue): string {
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : valueText(value);
}

/** The two largest units: an hour ago nobody counts milliseconds. */
export function shortAge(ms: number): string {
  const whole = ms < 1_000 ? Math.max(0, Math.round(ms)) : Math.round(ms / 1_000) * 1_000;
  return /^(?:\d+[a-z]+){1,2}/.exec(formatDuration(whole))?.[0] ?? '0s';
}

/** How a sensor does. */
export function stateText({ state, fault }: SensorStatus, { green, red, dim }: Style): string {
  const paint = { ok: green, failing: red, starting: dim }[state];
  return `${paint(state)}${fault === undefined ? '' : `: ${printable(fault)}`}`;
}

/** The kind, and the slot of the attached device that it is of. */
export function kindText({ kind, device }: { readonly kind: string; readonly device?: string }): string {
  return device === undefined ? kind : `${kind} of ${printable(device)}`;
}

export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}
