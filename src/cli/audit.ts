/** `turnstone audit VIEW-ID`: proof of delivery, by the ledger of what was acknowledged against what a report finds. */
import type { Command } from 'commander';
import { type AuditResult, auditDelivery } from '../analytics/audit-delivery.ts';
import { type AuditLine, isFaulty } from '../analytics/delivery-audit.ts';
import type { SentCell } from '../analytics/entry-digest.ts';
import { parseFilters, parseRange, type RangeWords } from '../analytics/report-range.ts';
import { systemClock } from '../host/clock.ts';
import { isJsonObject, stringifyJson } from '../host/json.ts';
import { type AgentFlags, connectAgent } from './agent-connection.ts';
import { type AnalyticsFlags, addAnalyticsOptions, openReportClient } from './analytics-access.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { addRangeOptions, viewId } from './report.ts';
import { printable, styleFor } from './style.ts';
import { columns } from './table.ts';

interface AuditFlags extends AgentFlags, AnalyticsFlags, RangeWords {
  readonly config?: string;
  readonly filter: readonly string[];
  readonly device?: string;
  readonly timeColumn?: string;
  readonly deviceColumn?: string;
  readonly column: readonly string[];
  readonly resend?: boolean;
  readonly all?: boolean;
  readonly json?: boolean;
}

const DAY_MS = 86_400_000;
/** Reading a long ledger, or putting a day back. */
const DEADLINE_MS = 120_000;
const EXAMPLES = `
Examples:
  $ turnstone audit 7e57ab1e-0000-4000-8000-000000000001 --last 24h
  $ turnstone audit VIEW-ID --from 2026-05-01 --to 2026-05-08 --device gateway-7
  $ turnstone audit VIEW-ID --column temperature="Temperature AVG" --resend

The view shows a row per instant with a column for each key, a row per key ("Key", "Value"), or a row per key and hour ("Key",
"Count", "Sum", "First", "Last"; then end the range at a whole hour). Whole hours are compared. --resend puts what is missing, and
still kept, back into the backlog; run the audit again when it has been sent.
Exit codes: 0 all that was sent was found, 1 it was not, 69 no agent runs.`;

export function addAuditCommand(program: Command, edge: Edge): void {
  const command = program
    .command('audit')
    .description('prove delivery: what was acknowledged against what a report finds')
    .argument('<view-id>', 'UUID of the saved view', viewId);
  addRangeOptions(addAnalyticsOptions(command))
    .option('--run-folder <folder>', 'run folder of the agent (default: /run/turnstone, or what --config says)')
    .option('--device <name>', 'this device, where the view shows several (default: as the agent knows it)')
    .option('--time-column <label>', 'column of the times')
    .option('--device-column <label>', 'column of the devices')
    .option(
      '--column <key=label>',
      'column of a key, where it is not called after it (repeatable)',
      (word: string, before: readonly string[]) => [...before, word],
      [],
    )
    .option('--resend', 'put what is missing, and still kept, back into the backlog')
    .option('--all', 'print every key and hour, not only those with faults')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (viewConfigId: string, flags: AuditFlags) => {
      const result = await audit(viewConfigId, flags, edge).catch((error: unknown) => {
        throw edge.signal.aborted ? new CommandError('', { exitCode: EXIT.interrupted, cause: error }) : error;
      });
      const faults = result.lines.filter(isFaulty).length;
      if (flags.json === true)
        edge.stdout.write(`${stringifyJson({ ok: faults === 0, ...result } as unknown as Parameters<typeof stringifyJson>[0])}\n`);
      else edge.stdout.write(auditPage(result, flags.all === true, edge));
      if (faults > 0) throw new CommandError('', { exitCode: EXIT.failure });
    });
}

async function audit(viewConfigId: string, flags: AuditFlags, edge: Edge): Promise<AuditResult> {
  const nowMs = systemClock.wallMs();
  const { rangeStartTs = nowMs - DAY_MS, rangeEndTs = nowMs } = parseRange(flags, nowMs);
  const filters = parseFilters(flags.filter);
  const labels = Object.fromEntries(Object.entries(parseFilters(flags.column)).map(([key, words]) => [key, words.join(',')]));
  const agent = await connectAgent(flags, edge);
  try {
    const deviceName = flags.device ?? (await knownName(agent));
    const client = await openReportClient(flags, edge);
    try {
      return await auditDelivery(
        {
          readLedger: async (range) =>
            (await agent.request('readLedger', { ...range }, { deadlineMs: DEADLINE_MS })) as unknown as readonly SentCell[],
          buildReport: (request, signal) => client.buildReport(request, signal),
          resend: async (range) => Number(await agent.request('resend', { ...range }, { deadlineMs: DEADLINE_MS })),
        },
        {
          viewConfigId,
          fromMs: rangeStartTs,
          toMs: rangeEndTs,
          labels,
          filters,
          resend: flags.resend === true,
          ...(deviceName === undefined ? {} : { deviceName }),
          ...(flags.timeColumn === undefined ? {} : { timeColumn: flags.timeColumn }),
          ...(flags.deviceColumn === undefined ? {} : { deviceColumn: flags.deviceColumn }),
        },
        edge.signal,
      );
    } finally {
      await client.close();
    }
  } finally {
    await agent.close();
  }
}

/** The name that the platform gave; a configured token tells none. */
async function knownName(agent: Awaited<ReturnType<typeof connectAgent>>): Promise<string | undefined> {
  const status = await agent.request('getStatus');
  const name = isJsonObject(status) ? status.deviceName : undefined;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function auditPage({ lines, notShown, resent }: AuditResult, all: boolean, edge: Edge): string {
  const { bold, red, green, yellow, dim } = styleFor(edge.stdout, edge.environment);
  const faulty = lines.filter(isFaulty);
  const shown = all ? lines : faulty;
  const head = ['key', 'hour', 'sent', 'found', 'missing', 'different'];
  const rows = shown.map((line) => [
    printable(line.key),
    hourText(line),
    ...[line.sent, line.found, line.missing].map(String),
    printable(line.different.join('; ')),
  ]);
  const table = shown.length === 0 ? '' : columns([head, ...rows], edge.stdout.columns);
  const sent = lines.reduce((sum, line) => sum + line.sent, 0);
  const missing = lines.reduce((sum, line) => sum + line.missing, 0);
  const scope = dim(`${lines.length} hours of ${new Set(lines.map(({ key }) => key)).size} keys`);
  const verdict =
    faulty.length === 0
      ? green(sent === 0 ? 'nothing was sent in this range' : `all ${sent} entries that were sent are there`)
      : red(`${missing} of ${sent} entries missing; ${faulty.length} hours differ`);
  const unseen =
    notShown.length === 0 ? '' : `${yellow('not audited, as the view does not show them:')} ${printable(notShown.join(', '))}\n`;
  const put = resent.reduce((sum, { entries }) => sum + entries, 0);
  const mended =
    resent.length === 0
      ? ''
      : `${put} entries of ${resent.length} hours put back into the backlog; what is not kept any more stays missing\n`;
  return `${table}${unseen}${bold(verdict)}, ${scope}\n${mended}`;
}

function hourText({ hourMs }: AuditLine): string {
  return new Date(hourMs).toISOString().replace(':00:00.000Z', 'h');
}
