/** `turnstone outbox`: what waits for the platform, how long it can go on waiting, and what the platform did not take. */

import { AS_JSON, type Call, choice, command, duration, list, toggle, valued, wholeNumber } from '../command.ts';
import { instant, lengthWords } from '../range-words.ts';
import { SENTENCES } from '../sentences.ts';

const ENTRY_OPTIONS = {
  key: list('<key>', 'only this key (repeatable)'),
  from: valued('<time>', 'beginning of the range: ISO time, date or milliseconds', { parse: instant }),
  to: valued('<time>', 'end of the range', { parse: instant }),
  last: valued('<duration>', 'the range up to now', { parse: lengthWords }),
  all: toggle('also what was delivered and is still kept'),
};
const LIST_OPTIONS = {
  ...ENTRY_OPTIONS,
  limit: valued('<number>', 'at most so many, the newest', {
    parse: wholeNumber('a whole number from 1 to 999999', 1, 999_999),
    byDefault: 50,
  }),
  ...AS_JSON,
};
const EXPORT_OPTIONS = { ...ENTRY_OPTIONS, format: choice('<format>', 'of the lines', ['jsonl', 'csv'], 'jsonl') };
const VERIFY_OPTIONS = {
  config: valued('<file>', 'configuration of the agent, to find its state folder'),
  ...AS_JSON,
};
const DRAIN_OPTIONS = {
  within: valued('<duration>', 'how long to wait', {
    parse: duration('a duration such as 30s or 10m', 1),
    byDefault: 5 * 60_000,
  }),
  json: toggle('print the end as JSON'),
};
const REJECTED_OPTIONS = {
  resend: toggle('put it back into the outbox'),
  sequence: list(
    '<number>',
    'only this entry (repeatable)',
    wholeNumber('a number, as turnstone outbox rejected shows it', 0),
  ),
  device: valued('<name>', 'only entries of this device; gateway for the gateway itself'),
  ...AS_JSON,
};
export type EntriesCall = Call<typeof ENTRY_OPTIONS>;
export type ListCall = Call<typeof LIST_OPTIONS>;
export type ExportCall = Call<typeof EXPORT_OPTIONS>;
export type VerifyCall = Call<typeof VERIFY_OPTIONS>;
export type DrainCall = Call<typeof DRAIN_OPTIONS>;
export type RejectedCall = Call<typeof REJECTED_OPTIONS>;

const SUBCOMMANDS = [
  command('status', {
    says: 'how much is held, since when, and how many hours still fit',
    options: AS_JSON,
    examples: ['outbox status', 'outbox status --json'],
    run: async (call) => (await import('../outbox.ts')).showOutbox(call),
  }),
  command('list', {
    says: 'list entries, newest last',
    options: LIST_OPTIONS,
    examples: [
      'outbox list',
      'outbox list --key temperature --key humidity --last 1h --limit 100',
      'outbox list --all --from 2026-05-01 --to 2026-05-02',
    ],
    run: async (call) => (await import('../outbox.ts')).listEntries(call),
  }),
  command('export', {
    says: 'write entries to stdout, as JSON lines or CSV',
    options: EXPORT_OPTIONS,
    examples: ['outbox export > waiting.jsonl', 'outbox export --all --format csv --last 24h > day.csv'],
    run: async (call) => (await import('../outbox.ts')).exportEntries(call),
  }),
  command('verify', {
    says: 'read every block on the disk and say what is whole',
    // Reads the files even where an agent runs.
    agent: 'none',
    options: VERIFY_OPTIONS,
    examples: ['outbox verify', 'outbox verify --config gateway.yaml', 'outbox verify --json'],
    exitCodes: '0 every block is whole, 1 something is damaged or was set aside',
    run: async (call) => (await import('../outbox.ts')).verify(call),
  }),
  command('drain', {
    says: 'wait until everything that is held has arrived',
    agent: 'needed',
    options: DRAIN_OPTIONS,
    examples: ['outbox drain', 'outbox drain --within 10m'],
    exitCodes: '0 everything has arrived, 1 something still waits',
    run: async (call) => (await import('../outbox.ts')).drain(call),
  }),
  command('rejected', {
    says: 'what the platform refused, with its answers',
    options: REJECTED_OPTIONS,
    examples: [
      'outbox rejected',
      'outbox rejected --resend',
      'outbox rejected --resend --sequence 1204 --sequence 1207',
      'outbox rejected --resend --sequence 12 --device meter-1',
    ],
    run: async (call) => (await import('../outbox.ts')).rejected(call),
  }),
];

export const OUTBOX = command('outbox', {
  says: SENTENCES.outbox,
  agent: async (configFile, edge) => (await import('../outbox-files.ts')).openOutboxFiles(configFile, edge),
  subcommands: SUBCOMMANDS,
  defaultSubcommand: 'status',
  examples: [
    'outbox',
    'outbox list --key temperature --last 1h',
    'outbox export --format csv > readings.csv',
    'outbox verify',
    'outbox drain',
    'outbox rejected --resend',
  ],
  notes: 'A running agent is asked; when none runs, the files are opened, but nothing is sent.',
});
