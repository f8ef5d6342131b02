/** `turnstone safe-states`: what systemd's stop hook calls after the agent has ended, in a process of its own. */
import { DEFAULT_CONFIG_FILE } from '../../config/fields/default-places.ts';
import { type Call, choice, command, valued } from '../command.ts';

const OPTIONS = {
  config: valued('<file>', 'configuration of the agent', { byDefault: DEFAULT_CONFIG_FILE }),
  event: choice('<event>', 'which of the declared states', ['stop', 'crash'], 'crash'),
};
export type SafeStatesCall = Call<typeof OPTIONS>;

export const SAFE_STATES = command('safe-states', {
  says: 'set the safe states that are declared for a stop or a crash, and switch off what the agent left to be, without an agent',
  options: OPTIONS,
  examples: ['safe-states --event crash'],
  notes:
    'Opens the hardware itself, so no agent may run: beside one that does it sets nothing.\n' +
    'Goes by what the last agent of this boot had in force, until all of that is set; then, or without it, by the configuration.\n' +
    'Of a configuration with faults it sets what it understands, and says where the rest is wrong.',
  exitCodes: '0 all were set, 1 some were not, or could not be understood',
  run: async (call) => (await import('../safe-states.ts')).applySafeStates(call),
});
