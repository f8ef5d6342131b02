/** The agent's log in words: a JSON line as time, level, message and fields; any other line as it is. */

import { LOG_LEVELS, type LogLevel } from '../host/log.ts';
import { printable } from '../names/printable.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson, stringifyJson } from '../values/json.ts';
import { PLAIN, type Style } from './printer.ts';

export interface LogLine {
  /** Absent of a line that does not say. */
  readonly atMs?: number;
  readonly level?: LogLevel;
  readonly message: string;
  readonly fields: JsonObject;
  /** As the agent wrote it. */
  readonly written: string;
  /** Its place in the journal. */
  readonly cursor?: string;
}

/** A record of the agent is far smaller. */
export const MAX_LINE_BYTES = 64 * 1024;
const MAX_FIELDS = 40;
const MAX_VALUE_LENGTH = 400;
/** Levels of others in the journal, most urgent first: 0 to 3 are errors, 4 is a warning. */
const PRIORITIES: readonly LogLevel[] = ['error', 'error', 'error', 'error', 'warn', 'info', 'info', 'debug'];

/** Understands a record of the agent, one of the journal around it, or any text. */
export function logLineOf(text: string): LogLine {
  const json = parsed(text);
  if (json === undefined) return asItIs(text);
  const { MESSAGE: inner, __REALTIME_TIMESTAMP: micros, PRIORITY: priority, __CURSOR: cursor } = json;
  if (micros !== undefined && inner !== undefined) {
    const within = logLineOf(messageText(inner));
    const atMs = Math.floor(Number(micros) / 1_000);
    const level = within.level ?? PRIORITIES[Number(priority)];
    const place = typeof cursor === 'string' ? { cursor } : {};
    return { ...(isTime(atMs) ? { atMs } : {}), ...(level === undefined ? {} : { level }), ...within, ...place };
  }
  const { time, level, msg, ...fields } = json;
  if (typeof msg !== 'string') return asItIs(text);
  const atMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  const known = LOG_LEVELS.find((one) => one === level);
  return {
    ...(isTime(atMs) ? { atMs } : {}),
    ...(known === undefined ? {} : { level: known }),
    message: msg,
    fields,
    written: text,
  };
}

/** True of a line that is to be shown; one that names no level is of the same record as the line before it, or of somebody else. */
export function isWanted({ level, atMs }: LogLine, min: LogLevel, sinceMs: number | undefined): boolean {
  if (sinceMs !== undefined && atMs !== undefined && atMs < sinceMs) return false;
  return level === undefined || LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(min);
}

/** `2026-11-28 07:10:14Z WARN  a driver does not answer  sensor=roof error="no answer"`. */
export function logLineText({ atMs, level, message, fields }: LogLine, style: Style = PLAIN): string {
  const { dim, red, yellow, bold } = style;
  const time =
    atMs === undefined
      ? ''
      : `${dim(
          new Date(atMs)
            .toISOString()
            .replace('T', ' ')
            .replace(/\.\d+Z$/, 'Z'),
        )} `;
  const paint = level === 'error' ? red : level === 'warn' ? yellow : dim;
  const grade = level === undefined ? '' : `${paint(level.toUpperCase().padEnd(5))} `;
  const written = Object.entries(fields)
    .slice(0, MAX_FIELDS)
    .map(([name, value]) => `${dim(`${printable(name)}=`)}${valueIn(value)}`);
  const words = level === 'error' ? bold(printable(message)) : printable(message);
  return `${time}${grade}${words}${written.length === 0 ? '' : `  ${written.join(' ')}`}\n`;
}

function valueIn(value: JsonValue | undefined): string {
  const text = typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : stringifyJson(value);
  return printable(text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text);
}

function asItIs(text: string): LogLine {
  return { message: text, fields: {}, written: text };
}

/** The journal writes bytes that are no text as a list of numbers. */
function messageText(message: JsonValue): string {
  if (Array.isArray(message)) return Buffer.from(message.map(Number)).toString('utf8');
  return typeof message === 'string' ? message : '';
}

function parsed(text: string): JsonObject | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const json = parseJson(text, { length: 2 * MAX_LINE_BYTES });
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** True of what a date can be made of. */
function isTime(ms: number): boolean {
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;
}
