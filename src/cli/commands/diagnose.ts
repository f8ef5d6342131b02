/** `turnstone diagnose`: one redacted archive for support. */
import { type Call, CONFIG, command, toggle, valued } from '../command.ts';

const OPTIONS = {
  config: CONFIG,
  out: valued('<file>', 'the archive (default: turnstone-diagnosis-<time>.tar.gz in this folder)'),
  logFile: valued('<file>', 'log of an agent that does not run as a service'),
  json: toggle('print what was packed as JSON'),
};
export type DiagnoseCall = Call<typeof OPTIONS>;

export const DIAGNOSE = command('diagnose', {
  says: 'pack configuration, status, logs and the doctor’s report into one redacted archive',
  options: OPTIONS,
  examples: ['diagnose', 'diagnose --out /tmp/gateway-7.tar.gz', 'diagnose --config gateway.yaml --log-file agent.log'],
  notes: `\
The archive holds the configuration without comments, status, outbox summary, doctor's report, versions and the last log lines.
Access tokens, keys, passwords and PINs are taken out of all of them, arguments of programs out of the configuration.`,
  run: async (call) => (await import('../diagnose.ts')).diagnose(call),
});
