/** A saved view's rows, as a table, as CSV or as JSON, on the terminal or in a file. */
import { parseFilters, parseRange } from '../analytics/report-range.ts';
import { systemClock } from '../host/clock.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import { openReportClient } from './analytics-access.ts';
import type { ReportCall } from './commands/report.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { OutputFile } from './output-file.ts';
import type { Printer } from './printer.ts';
import { ProgressBar } from './progress-bar.ts';
import { formatterFor } from './report-formats.ts';

/** Where a report goes; each write resolves when there is room for the next. */
interface Sink {
  write(text: string): Promise<void>;
  /** Nothing of a report that was not complete is left where a whole one is expected. */
  close(isComplete: boolean): Promise<void>;
}

/** A table in a file is for people too, but no terminal cuts it. */
const FILE_WIDTH = 200;
const FILE_MODE = 0o640;

export async function report({ args, flags, edge, print }: ReportCall): Promise<void> {
  const range = parseRange(flags, systemClock.wallMs());
  const filters = parseFilters(flags.filter ?? []);
  const client = await openReportClient(flags, edge);
  const sink = flags.output === undefined ? terminalSink(edge, print) : await fileSink(flags.output);
  const progress = new ProgressBar(edge.stderr, 'report');
  const formatter = formatterFor(flags.format, flags.output === undefined ? print.width : FILE_WIDTH);
  let rows = 0;
  let isComplete = false;
  try {
    const request = { viewConfigId: args.viewId, ...range, ...(Object.keys(filters).length === 0 ? {} : { filters }) };
    for await (const part of client.buildReport(request, edge.signal)) {
      await sink.write(part.kind === 'labels' ? formatter.labels(part.columnLabels) : formatter.rows(part.rows));
      if (part.kind !== 'rows') continue;
      rows += part.rows.length;
      if (flags.output !== undefined) progress.update(rows, undefined, rowCount);
    }
    await sink.write(formatter.end());
    isComplete = true;
  } catch (error) {
    throw edge.signal.aborted ? new CommandError('', { exitCode: EXIT.interrupted, cause: error }) : error;
  } finally {
    progress.end();
    await sink.close(isComplete);
    await client.close();
  }
  if (flags.output !== undefined) edge.stderr.write(`${rowCount(rows)} written to ${flags.output}\n`);
}

function rowCount(rows: number): string {
  return `${rows.toLocaleString('en-GB')} row${rows === 1 ? '' : 's'}`;
}

function terminalSink({ stdout }: Edge, print: Printer): Sink {
  return {
    write: async (text) => {
      if (text === '') return;
      print.writeForeign(text);
      await stdout.drained();
    },
    close: async () => {},
  };
}

async function fileSink(path: string): Promise<Sink> {
  // Passwords and certificates were read.
  await actAsOwnerOfWay(path);
  const file = await OutputFile.open(path, FILE_MODE);
  return {
    write: async (text) => {
      if (text !== '') await file.write(text);
    },
    close: (isComplete) => (isComplete ? file.keep() : file.discard()),
  };
}
