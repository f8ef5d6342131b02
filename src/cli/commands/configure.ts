/** `turnstone configure` and `turnstone configuration …`: another configuration on trial, and those that were tried. */
import { AS_JSON, argument, assignment, type Call, CONFIG, command, list, toggle, wholeNumber } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const TRY_OPTIONS = {
  check: toggle('say what would change and what is wrong, and change nothing'),
  wait: toggle('follow it until it is kept, returned or refused (on a terminal the default)'),
  // Commander gives `wait` the value false.
  noWait: toggle('do not wait for the end of the trial'),
  ...AS_JSON,
};
const CONFIGURE_OPTIONS = {
  set: list(
    '<path=value>',
    'set a value, written as in the file (repeatable): sensors.roof.period=30s',
    assignment('write a path and a value, as sensors.roof.period=30s'),
  ),
  remove: list('<path>', 'take a member or an item out (repeatable): sensors.hall'),
  ...TRY_OPTIONS,
};
const FILE = { file: argument('the whole configuration; without it --set and --remove', { byDefault: '' }) };
const historyNumber = wholeNumber('write a number of the history', 1, 999_999);
const NUMBER = { number: argument('its number in the history', { parse: historyNumber }) };
const TWO_NUMBERS = {
  ...NUMBER,
  other: argument('number of the later one; without it the file in place', { parse: historyNumber, byDefault: 0 }),
};
const READ_OPTIONS = { config: CONFIG, ...AS_JSON };

export type ConfigureCall = Call<typeof CONFIGURE_OPTIONS, typeof FILE>;
export type TryCall = Call<typeof TRY_OPTIONS>;
export type RollBackCall = Call<typeof TRY_OPTIONS, typeof NUMBER>;
export type HistoryCall = Call<typeof AS_JSON>;
export type ShowCall = Call<typeof READ_OPTIONS, typeof NUMBER>;
export type DiffCall = Call<typeof READ_OPTIONS, typeof TWO_NUMBERS>;

const TRY_EXIT_CODES =
  '0 kept, handed over or checked, 1 refused or returned, 69 no agent runs, 75 its end is not known, 77 no permission (join group turnstone), 78 it has faults';

export const CONFIGURE = command('configure', {
  says: SENTENCES.configure,
  agent: 'needed',
  arguments: FILE,
  options: CONFIGURE_OPTIONS,
  examples: [
    'configure turnstone.yaml --check       what would change, and what is wrong',
    'configure turnstone.yaml',
    'configure --set sensors.roof.period=30s --remove sensors.hall',
  ],
  notes: 'It needs remoteConfiguration.enabled. The previous file returns by itself unless the new one proves itself.',
  exitCodes: TRY_EXIT_CODES,
  run: async (call) => (await import('../configure.ts')).configure(call),
});

const SUBCOMMANDS = [
  command('history', {
    says: 'those that were tried, and what is on trial',
    agent: 'needed',
    options: AS_JSON,
    run: async (call) => (await import('../configuration-history.ts')).showHistory(call),
  }),
  command('show', {
    says: 'one of them, without its secrets',
    arguments: NUMBER,
    options: READ_OPTIONS,
    run: async (call) => (await import('../configuration-history.ts')).showTried(call),
  }),
  command('diff', {
    says: 'what differs between one of them and another, or the file in place',
    arguments: TWO_NUMBERS,
    options: READ_OPTIONS,
    run: async (call) => (await import('../configuration-history.ts')).showDifference(call),
  }),
  command('rollback', {
    says: 'try one of them again, as configure does with a file',
    agent: 'needed',
    arguments: NUMBER,
    options: TRY_OPTIONS,
    exitCodes: TRY_EXIT_CODES,
    run: async (call) => (await import('../configuration-history.ts')).rollBack(call),
  }),
];

export const CONFIGURATION = command('configuration', {
  says: SENTENCES.configuration,
  subcommands: SUBCOMMANDS,
  defaultSubcommand: 'history',
  examples: [
    'configuration history',
    'sudo turnstone configuration show 3',
    'sudo turnstone configuration diff 3',
    'sudo turnstone configuration rollback 3',
  ],
  exitCodes: '0 done, 1 there is no such number, 69 no agent runs, 77 no permission (try sudo)',
});
