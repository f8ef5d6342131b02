/** Runs a delivery audit: asks the ledger, then the report, compares, and puts back what is missing and still kept. */
import { AnalyticsError } from '../../errors/analytics-error.ts';
import { HOUR_MS, hourOf, type SentCell } from '../../telemetry/entry-digest.ts';
import { AuditComparison, type AuditLine, isFaulty } from './audit-comparison.ts';
import type { ReportClient } from './report-client.ts';
import { type ColumnWords, findColumns, shows } from './report-columns.ts';

export interface AuditDeps {
  readonly readLedger: (range: { readonly fromMs: number; readonly toMs: number }) => Promise<readonly SentCell[]>;
  readonly buildReport: ReportClient['buildReport'];
  /** Puts entries that are still kept back into the backlog, and says how many. */
  readonly resend: (range: { readonly key: string; readonly fromMs: number; readonly toMs: number }) => Promise<number>;
}

export interface AuditRequest extends ColumnWords {
  readonly viewConfigId: string;
  /** UTC epoch ms; widened to whole hours. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Where the view shows several devices. */
  readonly deviceName?: string;
  readonly filters?: Readonly<Record<string, readonly string[]>>;
  readonly resend: boolean;
}

export interface AuditResult {
  readonly lines: readonly AuditLine[];
  /** Keys that were sent and that the view does not show. */
  readonly notShown: readonly string[];
  /** Entries put back, by line. */
  readonly resent: readonly { readonly key: string; readonly hourMs: number; readonly entries: number }[];
}

/** @throws AnalyticsError as `buildReport`, and `analytics/settings` (stop) when the view does not suit. */
export async function auditDelivery(deps: AuditDeps, request: AuditRequest, signal: AbortSignal): Promise<AuditResult> {
  const fromMs = hourOf(request.fromMs);
  const toMs = Math.ceil(request.toMs / HOUR_MS) * HOUR_MS;
  // First the ledger: whatever is delivered in between is found by the report, and is not held against it.
  const sent = (await deps.readLedger({ fromMs, toMs })).filter(({ hourMs }) => hourMs >= fromMs && hourMs < toMs);
  const keys = new Set(sent.map(({ key }) => key));
  let audit: AuditComparison | undefined;
  let notShown: readonly string[] = [];
  const { viewConfigId, filters } = request;
  const parts = deps.buildReport(
    {
      viewConfigId,
      rangeStartTs: fromMs,
      rangeEndTs: toMs,
      filters,
    },
    signal,
  );
  for await (const part of parts) {
    if (part.kind === 'labels') {
      const columns = findColumns(part.columnLabels, keys, request);
      notShown = [...keys].filter((key) => !shows(columns, key)).sort();
      audit = new AuditComparison(sent, {
        columns,
        deviceName: request.deviceName,
      });
    } else audit?.compareRows(part.rows);
  }
  if (audit === undefined) throw new AnalyticsError('bad-answer', 'the report cannot be read: it has no columnLabels');
  const lines = audit.lines();
  return { lines, notShown, resent: request.resend ? await resendAll(deps, lines) : [] };
}

/** Whole hours are sent again: what is there already overwrites itself, time by time. */
async function resendAll(deps: AuditDeps, lines: readonly AuditLine[]): Promise<AuditResult['resent']> {
  const resent: { key: string; hourMs: number; entries: number }[] = [];
  for (const { key, hourMs } of lines.filter(isFaulty)) {
    resent.push({ key, hourMs, entries: await deps.resend({ key, fromMs: hourMs, toMs: hourMs + HOUR_MS }) });
  }
  return resent;
}
