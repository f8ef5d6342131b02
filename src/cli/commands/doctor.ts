/** `turnstone doctor`: what keeps this gateway from working, each thing with a verdict, a reason and a remedy. */
import { type Call, CONFIG, command, toggle } from '../command.ts';

const OPTIONS = { config: CONFIG, json: toggle('print the report as JSON') };
export type DoctorCall = Call<typeof OPTIONS>;

export const DOCTOR = command('doctor', {
  says: 'look at everything that keeps a gateway from working, and say what to do',
  options: OPTIONS,
  examples: ['doctor', 'doctor --config gateway.yaml', `doctor --json | jq '.checks[] | select(.verdict != "good")'`],
  exitCodes: '0 nothing must be mended (warnings may stand), 1 something must',
  run: async (call) => (await import('../doctor.ts')).examineGateway(call),
});
