/** `turnstone rpc METHOD [PARAMS]`: a client-side RPC through the running agent, which holds the token and the connection. */
import { type Command, InvalidArgumentError } from 'commander';
import { type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import { type AgentFlags, addAgentOptions, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { linesFor } from './style.ts';

interface RpcFlags extends AgentFlags {
  readonly timeout: number;
  readonly json?: boolean;
}

const DEFAULT_TIMEOUT_S = 15;
const LONGEST_TIMEOUT_S = 300;
const EXAMPLES = `
Examples:
  $ turnstone rpc getTime
  $ turnstone rpc getSchedule '{"day": "monday"}'

The reply is what the platform's rule chain answers, as JSON.`;

export function addRpcCommand(program: Command, edge: Edge): void {
  const command = program
    .command('rpc')
    .description('send a client-side RPC to the platform and print its reply')
    .argument('<method>', 'the method that the rule chain knows')
    .argument('[params]', 'its parameters, as JSON', jsonValue, {});
  addAgentOptions(command)
    .option('--timeout <seconds>', 'how long to wait for the reply', seconds, DEFAULT_TIMEOUT_S)
    .option('--json', 'print the reply on one line')
    .addHelpText('after', EXAMPLES)
    .action(async (method: string, params: JsonValue, flags: RpcFlags) => {
      const agent = await connectAgent(flags, edge);
      try {
        const reply = await agent.request('clientRpc', { method, params }, { deadlineMs: flags.timeout * 1000 });
        edge.stdout.write(linesFor(edge.stdout, `${flags.json === true ? stringifyJson(reply) : indented(reply)}\n`));
      } finally {
        await agent.close();
      }
    });
}

function indented(reply: JsonValue): string {
  return JSON.stringify(reply, (_key, value: unknown) => (typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value), 2);
}

function jsonValue(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    throw new InvalidArgumentError('parameters are JSON, for example \'{"day": "monday"}\'; mind the quotes of the shell');
  }
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= LONGEST_TIMEOUT_S)) throw new InvalidArgumentError(`seconds from 1 to ${LONGEST_TIMEOUT_S}`);
  return value;
}
