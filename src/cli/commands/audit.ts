/** `turnstone audit VIEW-ID`: proof of delivery, by the ledger of what was acknowledged against what a report finds. */

import { ANALYTICS_OPTIONS, RANGE_OPTIONS, VIEW } from '../analytics-options.ts';
import { AGENT_OPTIONS, type Call, command, list, toggle, valued } from '../command.ts';

const OPTIONS = {
  ...ANALYTICS_OPTIONS,
  ...RANGE_OPTIONS,
  runFolder: AGENT_OPTIONS.runFolder,
  device: valued('<name>', 'this device, where the view shows several (default: as the agent knows it)'),
  timeColumn: valued('<label>', 'column of the times'),
  deviceColumn: valued('<label>', 'column of the devices'),
  column: list('<key=label>', 'column of a key, where it is not called after it (repeatable)'),
  resend: toggle('put what is missing, and still kept, back into the backlog'),
  all: toggle('print every key and hour, not only those with faults'),
  json: toggle('print the result as JSON'),
};
export type AuditCall = Call<typeof OPTIONS, typeof VIEW>;

export const AUDIT = command('audit', {
  says: 'prove delivery: what was acknowledged against what a report finds',
  agent: 'needed',
  arguments: VIEW,
  options: OPTIONS,
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
  run: async (call) => (await import('../audit.ts')).audit(call),
});
