/** `turnstone report VIEW-ID`: a saved view's rows, as a table, as CSV or as JSON, on the terminal or in a file. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseFilters, parseRange, type RangeWords } from '../analytics/report-range.ts';
import { systemClock } from '../host/clock.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import { type AnalyticsFlags, addAnalyticsOptions, openReportClient } from './analytics-access.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { OutputFile } from './output-file.ts';
import { ProgressBar } from './progress-bar.ts';
import { formatterFor, REPORT_FORMATS, type ReportFormat } from './report-formats.ts';
import { linesFor } from './style.ts';

interface ReportFlags extends AnalyticsFlags, RangeWords {
  readonly filter: readonly string[];
  readonly format: ReportFormat;
  readonly output?: string;
}

/** Where a report goes; each write resolves when there is room for the next. */
interface Sink {
  write(text: string): Promise<void>;
  /** Nothing of a report that was not complete is left where a whole one is expected. */
  close(isComplete: boolean): Promise<void>;
}

/** A table in a file is for people too, but no terminal cuts it. */
const FILE_WIDTH = 200;
const FILE_MODE = 0o640;
const EXAMPLES = `
Examples:
  $ turnstone report 7e57ab1e-0000-4000-8000-000000000001 --last 24h
  $ turnstone report VIEW-ID --from 2026-05-01 --to 2026-06-01 --filter Device=gateway-7,gateway-8
  $ turnstone report VIEW-ID --format csv --output may.csv

Times: 2026-05-31T12:00:00Z, milliseconds since 1970, or a duration ago such as 24h. Without a range the view's own is used.
The view's id is the last part of its link.`;

export function addReportCommand(program: Command, edge: Edge): void {
  const command = program
    .command('report')
    .description('fetch a report of the analytics service')
    .argument('<view-id>', 'UUID of the saved view', viewId);
  addRangeOptions(addAnalyticsOptions(command))
    .addOption(new Option('--format <format>', 'how to print it').choices(REPORT_FORMATS).default('table'))
    .option('--output <file>', 'write it to a file')
    .addHelpText('after', EXAMPLES)
    .action(async (viewConfigId: string, flags: ReportFlags) => {
      const range = parseRange(flags, systemClock.wallMs());
      const filters = parseFilters(flags.filter);
      const client = await openReportClient(flags, edge);
      const sink = flags.output === undefined ? terminalSink(edge) : await fileSink(flags.output);
      const progress = new ProgressBar(edge.stderr, 'report');
      const formatter = formatterFor(flags.format, flags.output === undefined ? edge.stdout.columns : FILE_WIDTH);
      let rows = 0;
      let isComplete = false;
      try {
        const request = { viewConfigId, ...range, ...(Object.keys(filters).length === 0 ? {} : { filters }) };
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
    });
}

export function addRangeOptions(command: Command): Command {
  return command
    .option('--from <time>', 'beginning of the range')
    .option('--to <time>', 'end of the range')
    .option('--last <duration>', 'the range up to now')
    .option(
      '--filter <name=a,b>',
      'values of one of the filters of the view (repeatable)',
      (word: string, before: readonly string[]) => [...before, word],
      [],
    );
}

/** @throws InvalidArgumentError for anything but a UUID. */
export function viewId(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text;
  throw new InvalidArgumentError('a view is named by its UUID, the last part of its link');
}

function rowCount(rows: number): string {
  return `${rows.toLocaleString('en-GB')} row${rows === 1 ? '' : 's'}`;
}

function terminalSink(edge: Edge): Sink {
  return {
    write: async (text) => {
      if (text === '') return;
      edge.stdout.write(linesFor(edge.stdout, text));
      await edge.stdout.drained();
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
