/** A saved view's rows, as a table, as CSV or as JSON, on the terminal or in a file. */
import { parseFilters, parseRange } from '../analytics/report-range.ts';
import { systemClock } from '../host/clock.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import { openReportClient } from './analytics-access.ts';
import type { ReportCall } from './commands/report.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { OutputFile } from './output-file.ts';
import { withBar } from './progress-bar.ts';
import { formatterFor } from './report-formats.ts';

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
    await withBar(edge.stderr, 'report', async (bar) => {
      for await (const part of client.buildReport(request, edge.signal)) {
        await write(part.kind === 'labels' ? formatter.labels(part.columnLabels) : formatter.rows(part.rows));
        if (part.kind !== 'rows') continue;
        rows += part.rows.length;
        if (file !== undefined) bar.update(rows, undefined, rowCount);
      }
    });
    await write(formatter.end());
    await file?.keep();
  } catch (error) {
    throw edge.signal.aborted ? new CommandError('', { exitCode: EXIT.interrupted, cause: error }) : error;
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

async function openFile(path: string): Promise<OutputFile> {
  // Passwords and certificates were read.
  await actAsOwnerOfWay(path);
  return OutputFile.open(path, FILE_MODE);
}
