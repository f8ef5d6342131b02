/** The barest device there could be: polls for RPC, answers with what came, polls again. What it takes is the platform's share, not an agent's. */
import { Agent, request } from 'node:http';

const [url = '', token = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 2 });
process.stdout.write('ready\n');

for (;;) {
  const poll = await exchange('GET', 'rpc?timeout=20000');
  if (poll.status !== 200) continue;
  const { id, params } = JSON.parse(poll.body) as { id: number; params: unknown };
  await exchange('POST', `rpc/${id}`, JSON.stringify({ result: params }));
}

function exchange(
  method: string,
  path: string,
  body = '',
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers =
      body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(`${url}/api/v1/${token}/${path}`, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
