/** `turnstone actuate NAME VALUE`: moves an actuator from on site, through the running agent and so within limits and interlocks. */
import { argument, type Call, command, toggle } from '../command.ts';

const ARGUMENTS = { name: argument('its name in the configuration'), value: argument('on, off, a number, or a text') };
const OPTIONS = { text: toggle('take the value as text, also when it looks like a number'), json: toggle('print the answer as JSON') };
export type ActuateCall = Call<typeof OPTIONS, typeof ARGUMENTS>;

export const ACTUATE = command('actuate', {
  says: 'set an actuator from on site',
  agent: 'needed',
  arguments: ARGUMENTS,
  options: OPTIONS,
  examples: ['actuate pump on', 'actuate fan 60', "actuate sign 'OPEN' --text"],
  notes: 'The agent must run: limits, interlocks and safe states are its. A lockout stops what comes from afar, not this command.',
  run: async (call) => (await import('../actuate.ts')).actuate(call),
});
