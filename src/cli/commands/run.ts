/** `turnstone run`: the agent itself, until it is told to stop. */
import { type Call, CONFIG, command, toggle, valued } from '../command.ts';

const OPTIONS = {
  config: CONFIG,
  simulate: toggle('with a simulated board instead of this machine’s pins, buses and ports'),
  recordAppends: { ...valued('<file>', 'write every entry that became durable to this file, as JSON lines'), isHidden: true },
};
export type RunCall = Call<typeof OPTIONS>;

export const RUN = command('run', {
  says: 'run the agent in the foreground, as the service does',
  options: OPTIONS,
  examples: ['run --config /etc/turnstone/turnstone.yaml', 'run --config gateway.yaml --simulate'],
  notes: `\
Signals: SIGTERM and Ctrl-C make readings durable, send what they can and stop; SIGHUP reads the configuration again and
changes only what changed.
A file that the configuration names and that is not there now (a token, a certificate) is looked for again while it measures.`,
  exitCodes: `0 stopped as told, 1 failed and 66 the configuration cannot be read now (systemd starts it
again), 78 the configuration is wrong (systemd does not)`,
  run: async (call) => (await import('../run.ts')).run(call),
});
