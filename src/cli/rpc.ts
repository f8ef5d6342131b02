/** Sends a client-side RPC through the running agent, and prints the reply. */
import { type JsonValue, stringifyJson } from '../host/json.ts';
import type { RpcCall } from './commands/status.ts';

export async function sendRpc({ args: { method, params }, flags, agent, print }: RpcCall): Promise<void> {
  const reply = await (await agent()).ask<JsonValue>('clientRpc', { method, params }, { deadlineMs: flags.timeout * 1000 });
  print.writeForeign(`${flags.json === true ? stringifyJson(reply) : indented(reply)}\n`);
}

function indented(reply: JsonValue): string {
  return JSON.stringify(reply, (_key, value: unknown) => (typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value), 2);
}
