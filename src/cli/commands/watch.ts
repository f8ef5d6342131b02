/** `turnstone watch`: what the sensors show, live. */
import { type Call, command, duration, toggle, valued, wholeNumber } from '../command.ts';

const OPTIONS = {
  every: valued('<duration>', 'how often to look', { parse: duration('a duration from 100ms, such as 1s', 100), byDefault: 1_000 }),
  times: valued('<number>', 'end after so many looks', { parse: wholeNumber('a whole number above 0', 1) }),
  json: toggle('print each new reading as one line of JSON'),
};
export type WatchCall = Call<typeof OPTIONS>;

export const WATCH = command('watch', {
  says: 'show readings and actuators live',
  agent: 'needed',
  options: OPTIONS,
  examples: ['watch', 'watch --every 5s', 'watch --json | jq .value'],
  notes: 'Ctrl-C ends it.',
  run: async (call) => (await import('../watch.ts')).watch(call),
});
