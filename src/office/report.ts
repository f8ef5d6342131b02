/** A saved view's rows, as a table, as CSV or as JSON, on the terminal or in a file. */

import { interrupted } from '../cli/exit-code.ts';
import { withProgress } from '../cli/progress.ts';
import { parseFilters, parseRange } from '../cli/report-range.ts';
import { csvLine } from '../cli/value-text.ts';
import { WrittenFile } from '../cli/written-file.ts';
import { systemClock } from '../host/clock.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import { printable } from '../names/printable.ts';
import { type JsonObject, type JsonValue, stringifyJson } from '../values/json.ts';
import { openReportClient } from './analytics-access.ts';
import type { ReportCall, ReportFormat } from './report-command.ts';
import { timeOf } from './reports/report-columns.ts';

/** A table in a file is for people too, but no terminal cuts it. */
const FILE_WIDTH = 200;
const FILE_MODE = 0o640;

export async function report({ args, flags, edge, print, settings }: ReportCall): Promise<void> {
  const range = parseRange(flags, systemClock.wallMs());
  const filters = parseFilters(flags.filter ?? []);
  const client = await openReportClient({ flags, edge, settings });
  const file = flags.output === undefined ? undefined : await openFile(flags.output);
  const formatter = formatterFor(flags.format, file === undefined ? print.width : FILE_WIDTH);
  const write = async (text: string): Promise<void> => {
    if (text === '') return;
    if (file !== undefined) return file.write(text);
    print.writeForeign(text);
    await edge.stdout.drained();
  };
  let rows = 0;
  try {
    const request = { viewConfigId: args.viewId, ...range, ...(Object.keys(filters).length === 0 ? {} : { filters }) };
    await withProgress(edge.stderr, 'report', async (progress) => {
      for await (const part of client.buildReport(request, edge.signal)) {
        await write(part.kind === 'labels' ? formatter.labels(part.columnLabels) : formatter.rows(part.rows));
        if (part.kind !== 'rows') continue;
        rows += part.rows.length;
        if (file !== undefined) progress.update(rows, undefined, rowCount);
      }
    });
    await write(formatter.end());
    await file?.keep();
  } catch (error) {
    throw edge.signal.aborted ? interrupted('', { cause: error }) : error;
  } finally {
    // Nothing of a report that was not complete is left where a whole one is expected.
    await file?.discard();
    await client.close();
  }
  if (file !== undefined) edge.stderr.write(`${rowCount(rows)} written to ${flags.output}\n`);
}

function rowCount(rows: number): string {
  return `${rows.toLocaleString('en-GB')} row${rows === 1 ? '' : 's'}`;
}

async function openFile(path: string): Promise<WrittenFile> {
  // Passwords and certificates were read.
  await actAsOwnerOfWay(path);
  return WrittenFile.open(path, FILE_MODE);
}

export interface ReportFormatter {
  /** Once, before the rows. */
  labels(columnLabels: readonly string[]): string;
  rows(rows: readonly JsonObject[]): string;
  end(): string;
}

/** By these a table's columns get their widths; later cells are cut. */
const SAMPLE_ROWS = 200;
const NARROWEST_COLUMN = 6;
const GAP = 2;
/** Cells of these columns are shown as times, in a table. */
const TIME_LABEL = /^(ts|timestamp|date|time|datetime|hour|day)\b/i;

export function formatterFor(format: ReportFormat, width: number): ReportFormatter {
  if (format === 'csv') return csv();
  return format === 'json' ? json() : table(width);
}

function csv(): ReportFormatter {
  let labels: readonly string[] = [];
  return {
    labels: (columnLabels) => {
      labels = columnLabels;
      return csvLine(labels);
    },
    rows: (rows) => rows.map((row) => csvLine(labels.map((label) => plain(row[label])))).join(''),
    end: () => '',
  };
}

/** A list of the rows as they came. */
function json(): ReportFormatter {
  let separator = '[\n';
  return {
    labels: () => '',
    rows: (rows) => {
      const text = rows.map((row, index) => `${index === 0 ? separator : ',\n'}${stringifyJson(row)}`).join('');
      separator = ',\n';
      return text;
    },
    end: () => (separator === '[\n' ? '[]\n' : '\n]\n'),
  };
}

function table(width: number): ReportFormatter {
  let labels: readonly string[] = [];
  let sample: (readonly string[])[] | undefined = [];
  let widths: readonly number[] = [];
  const cellsOf = (row: JsonObject): readonly string[] => labels.map((label) => shown(label, row[label]));
  const begin = (): string => {
    const cells = sample ?? [];
    const headings = labels.map(printable);
    sample = undefined;
    widths = fitted(
      headings.map((heading, index) => Math.max(heading.length, ...cells.map((row) => row[index]?.length ?? 0))),
      width,
    );
    const rule = widths.map((one) => '─'.repeat(one));
    return [headings, rule, ...cells].map((row) => lineOf(row, widths)).join('');
  };
  return {
    labels: (columnLabels) => {
      labels = columnLabels;
      return '';
    },
    rows: (rows) => {
      const cells = rows.map(cellsOf);
      if (sample === undefined) return cells.map((row) => lineOf(row, widths)).join('');
      sample.push(...cells);
      return sample.length < SAMPLE_ROWS ? '' : begin();
    },
    end: () => (sample === undefined ? '' : begin()),
  };
}

/** The widest columns give way until the line fits. */
function fitted(wanted: readonly number[], width: number): readonly number[] {
  const widths = [...wanted];
  const total = (): number => widths.reduce((sum, one) => sum + one + GAP, -GAP);
  while (total() > width) {
    const widest = widths.indexOf(Math.max(...widths));
    const current = widths[widest] ?? 0;
    if (current <= NARROWEST_COLUMN) break;
    widths[widest] = Math.max(NARROWEST_COLUMN, current - (total() - width));
  }
  return widths;
}

function lineOf(cells: readonly string[], widths: readonly number[]): string {
  const padded = widths.map((width, index) => {
    const cell = cells[index] ?? '';
    return (cell.length > width ? `${cell.slice(0, width - 1)}…` : cell).padEnd(width);
  });
  return `${padded.join(' '.repeat(GAP)).trimEnd()}\n`;
}

function shown(label: string, value: JsonValue | undefined): string {
  const ts = TIME_LABEL.test(label) ? timeOf(value) : undefined;
  return ts === undefined ? printable(plain(value)) : new Date(ts).toISOString().replace('.000Z', 'Z');
}

function plain(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? stringifyJson(value) : String(value);
}
