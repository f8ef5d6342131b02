/** The command that shows what the agent has logged, in words. */

import { argument, type Call, choice, command, duration, toggle, valued, wholeNumber } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const ARGUMENTS = {
  file: argument('a log in a file, or - for what is piped in; without it the service’s own', { byDefault: '' }),
};
const OPTIONS = {
  follow: { ...toggle('go on with what is logged from now on'), short: 'f' },
  since: valued('<duration>', 'no older than that', { parse: duration('write a duration such as 10m or 2h', 1) }),
  level: choice('<level>', 'this level and those above it', ['debug', 'info', 'warn', 'error'], 'debug'),
  lines: {
    ...valued('<count>', 'the last lines, at most', {
      parse: wholeNumber('write a whole number from 1 to 100000', 1, 100_000),
      byDefault: 100,
    }),
    short: 'n',
  },
  json: toggle('print the records as they were written'),
};
export type LogsCall = Call<typeof OPTIONS, typeof ARGUMENTS>;

export const LOGS = command('logs', {
  says: SENTENCES.logs,
  arguments: ARGUMENTS,
  options: OPTIONS,
  examples: ['logs', 'logs -f --level warn', 'logs --since 1h', 'logs agent.log', 'logs - < agent.log'],
  notes: 'Times are UTC. The journal of a service is for root and for members of the group systemd-journal.',
  run: async (call) => (await import('../logs.ts')).showLogs(call),
});
