/** Commands that find what keeps this gateway from working, each thing with a verdict, a reason and a remedy; and one redacted archive for support. */

import { type Call, CONFIG, command, toggle, valued } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const DOCTOR_OPTIONS = { config: CONFIG, json: toggle('print the report as JSON') };
export type DoctorCall = Call<typeof DOCTOR_OPTIONS>;

export const DOCTOR = command('doctor', {
  says: SENTENCES.doctor,
  options: DOCTOR_OPTIONS,
  examples: ['doctor', 'doctor --config gateway.yaml', `doctor --json | jq '.checks[] | select(.verdict != "good")'`],
  exitCodes: '0 nothing must be mended (warnings may stand), 1 something must',
  run: async (call) => (await import('../doctor.ts')).examineGateway(call),
});

const DIAGNOSE_OPTIONS = {
  config: CONFIG,
  out: valued('<file>', 'the archive (default: turnstone-diagnosis-<time>.tar.gz in this folder)'),
  logFile: valued('<file>', 'log of an agent that does not run as a service'),
  json: toggle('print what was packed as JSON'),
};
export type DiagnoseCall = Call<typeof DIAGNOSE_OPTIONS>;

export const DIAGNOSE = command('diagnose', {
  says: SENTENCES.diagnose,
  options: DIAGNOSE_OPTIONS,
  examples: ['diagnose', 'diagnose --out /tmp/gateway-7.tar.gz', 'diagnose --config gateway.yaml --log-file agent.log'],
  notes: `\
The archive holds the configuration without comments, status, outbox summary, doctor's report, versions and the last log lines.
Access tokens, keys, passwords and PINs are taken out of all of them, arguments of programs out of the configuration.`,
  run: async (call) => (await import('../diagnose.ts')).diagnose(call),
});
