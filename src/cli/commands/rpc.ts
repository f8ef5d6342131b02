/** `turnstone rpc METHOD [PARAMS]`: a client-side RPC through the running agent, which holds the token and the connection. */
import { parseJson } from '../../host/json.ts';
import { argument, type Call, command, taking, toggle, valued } from '../command.ts';

const MAX_TIMEOUT_S = 300;
const ARGUMENTS = {
  method: argument('the method that the rule chain knows'),
  params: argument('its parameters, as JSON', {
    parse: taking('parameters are JSON, for example \'{"day": "monday"}\'; mind the quotes of the shell', (text) => parseJson(text)),
    byDefault: {},
  }),
};
const OPTIONS = {
  timeout: valued('<seconds>', 'how long to wait for the reply', {
    parse: taking(`seconds from 1 to ${MAX_TIMEOUT_S}`, (text) =>
      Number(text) > 0 && Number(text) <= MAX_TIMEOUT_S ? Number(text) : undefined,
    ),
    byDefault: 15,
  }),
  json: toggle('print the reply on one line'),
};
export type RpcCall = Call<typeof OPTIONS, typeof ARGUMENTS>;

export const RPC = command('rpc', {
  says: 'send a client-side RPC to the platform and print its reply',
  agent: 'needed',
  arguments: ARGUMENTS,
  options: OPTIONS,
  examples: ['rpc getTime', 'rpc getSchedule \'{"day": "monday"}\''],
  notes: "The reply is what the platform's rule chain answers, as JSON.",
  run: async (call) => (await import('../rpc.ts')).sendRpc(call),
});
