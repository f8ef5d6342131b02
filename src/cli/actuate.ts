/** `turnstone actuate NAME VALUE`: moves an actuator from on site, through the running agent and so within limits and interlocks. */
import type { Command } from 'commander';
import { type JsonValue, stringifyJson } from '../host/json.ts';
import { type AgentFlags, addAgentOptions, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { valueText } from './value-text.ts';

type ActuateFlags = AgentFlags & { readonly text?: boolean; readonly json?: boolean };

const EXAMPLES = `
Examples:
  $ turnstone actuate pump on
  $ turnstone actuate fan 60
  $ turnstone actuate sign 'OPEN' --text

The agent must run: limits, interlocks and safe states are its. A lockout stops what comes from afar, not this command.`;

export function addActuateCommand(program: Command, edge: Edge): void {
  const command = program
    .command('actuate')
    .description('set an actuator from on site')
    .argument('<name>', 'its name in the configuration')
    .argument('<value>', 'on, off, a number, or a text');
  addAgentOptions(command)
    .option('--text', 'take the value as text, also when it looks like a number')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, value: string, flags: ActuateFlags) => {
      const agent = await connectAgent(flags, edge);
      const answer = await agent
        .request('setActuator', { name, value: flags.text === true ? value : typedValue(value) })
        .finally(() => agent.close());
      edge.stdout.write(flags.json === true ? `${stringifyJson(answer)}\n` : `${name}: ${shown(answer)}\n`);
    });
}

/** As a technician types it. */
function typedValue(text: string): JsonValue {
  if (/^(on|true)$/i.test(text)) return true;
  if (/^(off|false)$/i.test(text)) return false;
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

function shown(answer: JsonValue): string {
  const value =
    typeof answer === 'object' && answer !== null && !Array.isArray(answer) ? (answer as { readonly value?: JsonValue }).value : answer;
  return value === undefined ? 'done' : valueText(value);
}
