/** Reports of the analytics service: a saved view's rows, and proof of delivery by them. */

import {
  AGENT_OPTIONS,
  argument,
  assignment,
  type Call,
  choice,
  command,
  list,
  PASSWORD_VARIABLE,
  taking,
  toggle,
  type Values,
  valued,
  webAddress,
} from '../cli/command.ts';
import { instant, lengthWords } from '../cli/range-words.ts';
import { SENTENCES } from '../cli/sentences.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const VIEW = {
  viewId: argument('UUID of the saved view', {
    parse: taking('a view is named by its UUID, the last part of its link', (text) => UUID.exec(text)?.[0]),
  }),
};
const ANALYTICS_OPTIONS = {
  config: valued('<file>', 'configuration with an analytics section'),
  url: valued('<address>', 'the analytics service, in place of analytics.url', { parse: webAddress }),
  authUrl: valued('<address>', 'the platform to log in at, in place of analytics.authUrl', { parse: webAddress }),
  basePath: valued('<path>', 'path of its API, in place of analytics.basePath'),
  user: valued('<name>', 'who logs in, in place of analytics.user'),
  passwordFile: valued(
    '<file>',
    `the password, from a file; otherwise $${PASSWORD_VARIABLE}, the configuration, or a prompt`,
  ),
};
export type AnalyticsFlags = Values<typeof ANALYTICS_OPTIONS>;
const RANGE_OPTIONS = {
  from: valued('<time>', 'beginning of the range', { parse: instant }),
  to: valued('<time>', 'end of the range', { parse: instant }),
  last: valued('<duration>', 'the range up to now', { parse: lengthWords }),
  filter: list(
    '<name=a,b>',
    'values of one of the filters of the view (repeatable)',
    assignment('write name=value[,value…]'),
  ),
};

const REPORT_FORMATS = ['table', 'csv', 'json'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

const REPORT_OPTIONS = {
  ...ANALYTICS_OPTIONS,
  ...RANGE_OPTIONS,
  format: choice<ReportFormat>('<format>', 'how to print it', REPORT_FORMATS, 'table'),
  output: valued('<file>', 'write it to a file'),
};
export type ReportCall = Call<typeof REPORT_OPTIONS, typeof VIEW>;

export const REPORT = command('report', {
  says: SENTENCES.report,
  arguments: VIEW,
  options: REPORT_OPTIONS,
  takesSettings: true,
  examples: [
    'report 7e57ab1e-0000-4000-8000-000000000001 --last 24h',
    'report VIEW-ID --from 2026-05-01 --to 2026-06-01 --filter Device=gateway-7,gateway-8',
    'report VIEW-ID --format csv --output may.csv',
  ],
  notes: `\
Times: 2026-05-31T12:00:00Z, milliseconds since 1970, or a duration ago such as 24h. Without a range the view's own is used.
The view's id is the last part of its link.`,
  run: async (call) => (await import('./report.ts')).report(call),
});

const AUDIT_OPTIONS = {
  ...ANALYTICS_OPTIONS,
  ...RANGE_OPTIONS,
  runFolder: AGENT_OPTIONS.runFolder,
  device: valued('<name>', 'this device, where the view shows several (default: as the agent knows it)'),
  timeColumn: valued('<label>', 'column of the times'),
  deviceColumn: valued('<label>', 'column of the devices'),
  column: list(
    '<key=label>',
    'column of a key, where it is not called after it (repeatable)',
    assignment('write key=label'),
  ),
  resend: toggle('put what is missing, and still kept, back into the backlog'),
  all: toggle('print every key and hour, not only those with faults'),
  json: toggle('print the result as JSON'),
};
export type AuditCall = Call<typeof AUDIT_OPTIONS, typeof VIEW>;

export const AUDIT = command('audit', {
  says: SENTENCES.audit,
  agent: 'needed',
  arguments: VIEW,
  options: AUDIT_OPTIONS,
  takesSettings: true,
  examples: [
    'audit 7e57ab1e-0000-4000-8000-000000000001 --last 24h',
    'audit VIEW-ID --from 2026-05-01 --to 2026-05-08 --device gateway-7',
    'audit VIEW-ID --column temperature="Temperature AVG" --resend',
  ],
  notes: `\
The view shows a row per instant with a column for each key, a row per key ("Key", "Value"), or a row per key and hour ("Key",
"Count", "Sum", "First", "Last"; then end the range at a whole hour). Whole hours are compared. --resend puts what is missing, and
still kept, back into the backlog; run the audit again when it has been sent.`,
  exitCodes: '0 all that was sent was found, 1 it was not, or nothing was sent, 69 no agent runs',
  run: async (call) => (await import('./audit.ts')).audit(call),
});
