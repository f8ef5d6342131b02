/** A proxy that lies once: it answers one telemetry upload with 200 and never passes it on. What the audit of a run must find. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The upload that is swallowed; the first ones let the run begin well. */
const SWALLOWED_UPLOAD = 3;

export async function startSwallowingProxy(
  target: string,
): Promise<{ readonly url: string; readonly server: Server; readonly swallowed: () => number }> {
  const { hostname, port } = new URL(target);
  let uploads = 0;
  let swallowed = 0;
  const server = createServer((incoming, answer) => {
    if (incoming.method === 'POST' && incoming.url?.endsWith('/telemetry') === true) {
      uploads += 1;
      if (uploads === SWALLOWED_UPLOAD) {
        swallowed += 1;
        incoming.resume().on('end', () => answer.writeHead(200).end());
        return;
      }
    }
    const onward = request(
      { hostname, port, path: incoming.url, method: incoming.method, headers: incoming.headers },
      (reply) => {
        answer.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(answer);
      },
    );
    onward.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    answer.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, swallowed: () => swallowed };
}
