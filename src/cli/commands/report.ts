/** `turnstone report VIEW-ID`: a saved view's rows, as a table, as CSV or as JSON, on the terminal or in a file. */

import { ANALYTICS_OPTIONS, RANGE_OPTIONS, VIEW } from '../analytics-options.ts';
import { type Call, choice, command, valued } from '../command.ts';

export const REPORT_FORMATS = ['table', 'csv', 'json'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

const OPTIONS = {
  ...ANALYTICS_OPTIONS,
  ...RANGE_OPTIONS,
  format: choice<ReportFormat>('<format>', 'how to print it', REPORT_FORMATS, 'table'),
  output: valued('<file>', 'write it to a file'),
};
export type ReportCall = Call<typeof OPTIONS, typeof VIEW>;

export const REPORT = command('report', {
  says: 'fetch a report of the analytics service',
  arguments: VIEW,
  options: OPTIONS,
  takesSettings: true,
  examples: [
    'report 7e57ab1e-0000-4000-8000-000000000001 --last 24h',
    'report VIEW-ID --from 2026-05-01 --to 2026-06-01 --filter Device=gateway-7,gateway-8',
    'report VIEW-ID --format csv --output may.csv',
  ],
  notes: `\
Times: 2026-05-31T12:00:00Z, milliseconds since 1970, or a duration ago such as 24h. Without a range the view's own is used.
The view's id is the last part of its link.`,
  run: async (call) => (await import('../report.ts')).report(call),
});
