/** `turnstone check-config FILE`: every fault of a configuration at once. */
import { DEFAULT_CONFIG_FILE } from '../../config/fields/default-places.ts';
import { argument, type Call, command, toggle } from '../command.ts';

const ARGUMENTS = { file: argument('the configuration', { byDefault: DEFAULT_CONFIG_FILE }) };
const OPTIONS = { json: toggle('print faults and warnings as JSON') };
export type CheckConfigCall = Call<typeof OPTIONS, typeof ARGUMENTS>;

export const CHECK_CONFIG = command('check-config', {
  says: 'check a configuration: every fault at once, with line, column and a hint',
  arguments: ARGUMENTS,
  options: OPTIONS,
  examples: ['check-config /etc/turnstone/turnstone.yaml', 'check-config gateway.yaml --json'],
  exitCodes: '0 the agent would start with it, 78 it would not, or not with all that is named',
  run: async (call) => (await import('../check-config.ts')).checkConfig(call),
});
