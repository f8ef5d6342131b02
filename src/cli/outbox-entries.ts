/** `turnstone outbox list` and `export`: the entries themselves, for people and for programs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseRange, type RangeWords } from '../analytics/report-range.ts';
import { type JsonObject, type JsonValue, stringifyJson } from '../host/json.ts';
import type { ResolvedEntry } from '../outbox/outbox-batch.ts';
import { addAgentOptions } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { type OutboxFlags, withOutbox } from './outbox-access.ts';
import { ProgressBar } from './progress-bar.ts';
import { linesFor, printable } from './style.ts';
import { columns } from './table.ts';
import { valueText } from './value-text.ts';

type EntryFlags = OutboxFlags & RangeWords & { readonly key?: readonly string[]; readonly all?: boolean };
type ListFlags = EntryFlags & { readonly limit: number };
type ExportFlags = EntryFlags & { readonly format: 'jsonl' | 'csv' };

const LIST_EXAMPLES = `
Examples:
  $ turnstone outbox list
  $ turnstone outbox list --key temperature --key humidity --last 1h --limit 100
  $ turnstone outbox list --all --from 2026-05-01 --to 2026-05-02`;
const EXPORT_EXAMPLES = `
Examples:
  $ turnstone outbox export > waiting.jsonl
  $ turnstone outbox export --all --format csv --last 24h > day.csv`;
const DEFAULT_LIMIT = 50;

export function addOutboxEntryCommands(outbox: Command, edge: Edge): void {
  entryOptions(outbox.command('list').description('list entries, newest last'))
    .option('--limit <number>', 'at most so many, the newest', count, DEFAULT_LIMIT)
    .option('--json', 'print as JSON')
    .addHelpText('after', LIST_EXAMPLES)
    .action((flags: ListFlags) => list(flags, edge));
  entryOptions(outbox.command('export').description('write entries to stdout, as JSON lines or CSV'))
    .addOption(new Option('--format <format>', 'of the lines').choices(['jsonl', 'csv']).default('jsonl'))
    .addHelpText('after', EXPORT_EXAMPLES)
    .action((flags: ExportFlags) => exportEntries(flags, edge));
}

function entryOptions(command: Command): Command {
  return addAgentOptions(command)
    .option('--key <key>', 'only this key (repeatable)', (key: string, before: readonly string[] = []) => [...before, key])
    .option('--from <time>', 'beginning of the range: ISO time, date or milliseconds')
    .option('--to <time>', 'end of the range')
    .option('--last <duration>', 'the range up to now')
    .option('--all', 'also what was delivered and is still kept');
}

async function list(flags: ListFlags, edge: Edge): Promise<void> {
  let newest: ResolvedEntry[] = [];
  await withOutbox(flags, edge, async (access) =>
    access.entries(
      queryOf(flags, await access.wallMs()),
      (entries) => {
        newest = [...newest, ...entries].slice(-flags.limit);
      },
      edge.signal,
    ),
  );
  if (flags.json === true) edge.stdout.write(`${stringifyJson(newest as unknown as JsonValue)}\n`);
  else if (newest.length === 0) edge.stderr.write('no entry of known time; --all shows delivered ones too\n');
  else
    edge.stdout.write(
      columns(
        [
          ['TIME', 'KEY', 'VALUE', ''],
          ...newest.map((entry) => [timeOf(entry), printable(entry.key), valueText(entry.value), entry.class === 'alarm' ? 'alarm' : '']),
        ],
        edge.stdout.columns,
      ),
    );
}

async function exportEntries(flags: ExportFlags, edge: Edge): Promise<void> {
  const line = flags.format === 'csv' ? csvLine : jsonLine;
  const bar = new ProgressBar(edge.stderr, 'export');
  let done = 0;
  if (flags.format === 'csv') edge.stdout.write('time,ts,key,value,class\r\n');
  try {
    await withOutbox(flags, edge, async (access) =>
      access.entries(
        queryOf(flags, await access.wallMs()),
        async (entries) => {
          edge.stdout.write(linesFor(edge.stdout, entries.map(line).join('')));
          done += entries.length;
          bar.update(done, undefined, (amount) => `${amount} entries`);
          await edge.stdout.drained();
        },
        edge.signal,
      ),
    );
  } finally {
    bar.end();
  }
}

function queryOf(flags: EntryFlags, nowMs: number): JsonObject {
  const { rangeStartTs, rangeEndTs } = rangeOf(flags, nowMs);
  return {
    heldOnly: flags.all !== true,
    ...(flags.key === undefined ? {} : { keys: flags.key }),
    ...(rangeStartTs === undefined ? {} : { fromMs: rangeStartTs }),
    ...(rangeEndTs === undefined ? {} : { toMs: rangeEndTs }),
  };
}

function rangeOf(flags: RangeWords, nowMs: number): { readonly rangeStartTs?: number; readonly rangeEndTs?: number } {
  return flags.from === undefined && flags.to === undefined && flags.last === undefined ? {} : parseRange(flags, nowMs);
}

function jsonLine({ ts, key, value, class: own }: ResolvedEntry): string {
  return `${stringifyJson({ ts, key, value, class: own })}\n`;
}

/** RFC 4180. */
function csvLine(entry: ResolvedEntry): string {
  const value = typeof entry.value === 'string' ? entry.value : stringifyJson(entry.value);
  const cells = [timeOf(entry), String(entry.ts), entry.key, value, entry.class];
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}

function timeOf({ ts }: ResolvedEntry): string {
  return new Date(ts).toISOString();
}

function count(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 999999');
  return Number(text);
}
