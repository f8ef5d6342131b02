/** Proof of delivery, by the ledger of what was acknowledged against what a report finds. */

import { agentWallMs } from '../cli/agent-calls.ts';
import { EXIT, interrupted } from '../cli/exit-code.ts';
import type { Printer } from '../cli/printer.ts';
import { checkRange } from '../cli/range-words.ts';
import { parseFilters, parseRange } from '../cli/report-range.ts';
import { printable } from '../names/printable.ts';
import { openReportClient } from './analytics-access.ts';
import type { AuditCall } from './report-command.ts';
import { type AuditLine, isFaulty } from './reports/audit-comparison.ts';
import { type AuditResult, auditDelivery } from './reports/audit-delivery.ts';

const DAY_MS = 86_400_000;
/** Reading a long ledger, or putting a day back. */
const DEADLINE_MS = 120_000;

export async function audit(call: AuditCall): Promise<void> {
  const { flags, edge, print } = call;
  const result = await auditResult(call).catch((error: unknown) => {
    throw edge.signal.aborted ? interrupted('', { cause: error }) : error;
  });
  // Where nothing was compared nothing is proven.
  const ok = sentIn(result) > 0 && !result.lines.some(isFaulty);
  const notAuditedDevices = await notAuditedDevicesOf(call);
  print.result(
    { ok, ...result, ...(notAuditedDevices > 0 && { notAuditedDevices }) },
    () => `${auditPage(result, flags.all === true, print)}${notAuditedText(notAuditedDevices, print)}`,
  );
  if (!ok) print.exitCode = EXIT.failure;
}

async function auditResult({ args, flags, edge, settings, agent }: AuditCall): Promise<AuditResult> {
  checkRange(flags);
  const asked = await agent();
  const nowMs = await agentWallMs(asked);
  const { rangeStartTs = nowMs - DAY_MS, rangeEndTs = nowMs } = parseRange(flags, nowMs);
  const filters = parseFilters(flags.filter ?? []);
  const labels = Object.fromEntries(
    Object.entries(parseFilters(flags.column ?? [])).map(([key, words]) => [key, words.join(',')]),
  );
  // The name that the platform gave; a configured token tells none.
  const deviceName = flags.device ?? (await asked.ask('getStatus')).deviceName;
  const client = await openReportClient({ flags, edge, settings });
  try {
    return await auditDelivery(
      {
        readLedger: (range) => asked.ask('readLedger', { ...range }, { deadlineMs: DEADLINE_MS }),
        buildReport: (request, signal) => client.buildReport(request, signal),
        resend: (range) => asked.ask('resend', { ...range }, { deadlineMs: DEADLINE_MS }),
      },
      {
        viewConfigId: args.viewId,
        fromMs: rangeStartTs,
        toMs: rangeEndTs,
        labels,
        filters,
        resend: flags.resend === true,
        deviceName: deviceName || undefined,
        timeColumn: flags.timeColumn,
        deviceColumn: flags.deviceColumn,
      },
      edge.signal,
    );
  } finally {
    await client.close();
  }
}

/** The ledger that is compared is the gateway's own. */
async function notAuditedDevicesOf({ agent }: AuditCall): Promise<number> {
  const status = await (await agent()).ask('getStatus').catch(() => undefined);
  return status?.devices?.total ?? 0;
}

function notAuditedText(devices: number, { style }: Printer): string {
  if (devices === 0) return '';
  return `${style.yellow('not audited:')} what ${devices} attached ${devices === 1 ? 'device' : 'devices'} sent\n`;
}

function auditPage(result: AuditResult, all: boolean, print: Printer): string {
  const { lines, notShown, resent } = result;
  const { bold, red, green, yellow, dim } = print.style;
  const faulty = lines.filter(isFaulty);
  const shown = all ? lines : faulty;
  const head = ['key', 'hour', 'sent', 'found', 'missing', 'different'];
  const rows = shown.map((line) => {
    const counts = [line.sent, line.found, line.missing].map(String);
    return [printable(line.key), hourText(line), ...counts, printable(line.different.join('; '))];
  });
  const table = shown.length === 0 ? '' : print.table([head, ...rows]);
  const sent = sentIn(result);
  const missing = sum(lines.map((line) => line.missing));
  const scope = dim(`${lines.length} hours of ${new Set(lines.map(({ key }) => key)).size} keys`);
  const whole =
    sent === 0
      ? yellow('nothing to compare: the view shows nothing that was sent in this range')
      : green(`all ${sent} entries that were sent are there`);
  const verdict =
    faulty.length === 0 ? whole : red(`${missing} of ${sent} entries missing; ${faulty.length} hours differ`);
  const unseen = `${yellow('not audited, as the view does not show them:')} ${printable(notShown.join(', '))}\n`;
  const put = `${sum(resent.map(({ entries }) => entries))} entries of ${resent.length} hours put back into the backlog`;
  const mended = resent.length === 0 ? '' : `${put}; what is not kept any more stays missing\n`;
  return `${table}${notShown.length === 0 ? '' : unseen}${bold(verdict)}, ${scope}\n${mended}`;
}

function sentIn({ lines }: AuditResult): number {
  return sum(lines.map(({ sent }) => sent));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function hourText({ hourMs }: AuditLine): string {
  return new Date(hourMs).toISOString().replace(':00:00.000Z', 'Z');
}
