/** `turnstone actuate NAME [VALUE]`: moves an actuator from on site, through the running agent and so within limits and interlocks. */
import { argument, type Call, command, duration, toggle, valued } from '../command.ts';

const ARGUMENTS = {
  name: argument('its name in the configuration'),
  value: argument('on, off, a number, or a text', { byDefault: '' }),
};
const OPTIONS = {
  for: valued('<time>', 'hold the value against rules for so long, then release it', { parse: duration('a time, as 30m or 2h', 1_000) }),
  release: toggle('take back what an operator has set: rules, or the state for the start, apply again'),
  why: toggle('tell why it is as it is, and move nothing'),
  text: toggle('take the value as text, also when it looks like a number'),
  json: toggle('print the answer as JSON'),
};
export type ActuateCall = Call<typeof OPTIONS, typeof ARGUMENTS>;

export const ACTUATE = command('actuate', {
  says: 'set or release an actuator from on site, or ask why it is as it is',
  agent: 'needed',
  arguments: ARGUMENTS,
  options: OPTIONS,
  examples: ['actuate pump on', 'actuate fan 60 --for 2h', 'actuate pump --release', 'actuate pump --why', "actuate sign 'OPEN' --text"],
  notes: 'The agent must run: limits, interlocks and safe states are its. A lockout stops what comes from afar, not this command.',
  run: async (call) => (await import('../actuate.ts')).actuate(call),
});
