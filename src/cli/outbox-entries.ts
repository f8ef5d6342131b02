/** The entries of the outbox themselves, for people and for programs. */
import { parseRange } from '../analytics/report-range.ts';
import { given } from '../host/given.ts';
import { type JsonObject, stringifyJson } from '../host/json.ts';
import type { ResolvedEntry } from '../outbox/outbox.ts';
import { type AgentCalls, agentWallMs } from './agent-calls.ts';
import type { EntriesCall, ExportCall, ListCall } from './commands/outbox.ts';
import { csvLine } from './csv-line.ts';
import { printable } from './printer.ts';
import { withBar } from './progress-bar.ts';
import { valueText } from './value-text.ts';

export async function listEntries(call: ListCall): Promise<void> {
  const { edge, flags, print } = call;
  let newest: readonly ResolvedEntry[] = [];
  await entries(call, (some) => {
    newest = [...newest, ...some].slice(-flags.limit);
  });
  if (newest.length === 0 && flags.json !== true) return edge.stderr.write('no entry of known time; --all shows delivered ones too\n');
  print.result(newest, () =>
    print.table([
      ['TIME', 'KEY', 'VALUE', ''],
      ...newest.map((entry) => [timeOf(entry), printable(entry.key), valueText(entry.value), entry.class === 'alarm' ? 'alarm' : '']),
    ]),
  );
}

export async function exportEntries(call: ExportCall): Promise<void> {
  const { edge, flags, print } = call;
  const line = flags.format === 'csv' ? csvOf : jsonLine;
  let done = 0;
  if (flags.format === 'csv') print.write('time,ts,key,value,class\r\n');
  await withBar(edge.stderr, 'export', (bar) =>
    entries(call, async (some) => {
      print.writeForeign(some.map(line).join(''));
      done += some.length;
      bar.update(done, undefined, (amount) => `${amount} entries`);
      await edge.stdout.drained();
    }),
  );
}

/** Calls back with what the flags choose, in the order of blocks, a few hundred at a time. */
async function entries(
  { agent, flags, edge }: EntriesCall,
  onEntries: (entries: readonly ResolvedEntry[]) => void | Promise<void>,
): Promise<void> {
  const asked = await agent();
  await asked.subscribe('outboxEntries', await queryOf(flags, asked), onEntries, edge.signal);
}

async function queryOf(flags: EntriesCall['flags'], agent: AgentCalls): Promise<JsonObject> {
  const { from, to, last, key, all } = flags;
  const nowMs = await agentWallMs(agent);
  const isRanged = from !== undefined || to !== undefined || last !== undefined;
  const { rangeStartTs, rangeEndTs } = isRanged ? parseRange(flags, nowMs) : {};
  return given({ heldOnly: all !== true, keys: key, fromMs: rangeStartTs, toMs: rangeEndTs });
}

function jsonLine({ ts, key, value, class: own }: ResolvedEntry): string {
  return `${stringifyJson({ ts, key, value, class: own })}\n`;
}

function csvOf(entry: ResolvedEntry): string {
  const value = typeof entry.value === 'string' ? entry.value : stringifyJson(entry.value);
  return csvLine([timeOf(entry), String(entry.ts), entry.key, value, entry.class]);
}

function timeOf({ ts }: ResolvedEntry): string {
  return new Date(ts).toISOString();
}
