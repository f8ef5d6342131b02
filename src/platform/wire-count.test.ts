/** Bytes of real sockets against what passed a proxy between them. */
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../host/clock.ts';
import { makeCertificate } from '../host/self-signed-certificate.ts';
import { HttpDeviceApi } from './http-device-api.ts';
import { LANES } from './wire-count.ts';

const never = new AbortController().signal;
const DAY_MS = 86_400_000;
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  return (server.address() as AddressInfo).port;
}

/** Passes bytes on and counts them. */
async function countingProxy(port: number) {
  const counted = { bytes: 0, sockets: 0 };
  const server = createServer((client) => {
    counted.sockets += 1;
    const up = connect({ host: '127.0.0.1', port });
    for (const [from, to] of [
      [client, up],
      [up, client],
    ] as const) {
      from.on('error', () => {});
      from.on('data', (data) => {
        counted.bytes += data.length;
        to.write(data);
      });
      from.on('close', () => to.destroy());
    }
  });
  return { port: await listen(server), counted };
}

const answers: RequestListener = (request, response) => {
  request.resume().on('end', () => (request.method === 'GET' ? response.writeHead(408).end() : response.end()));
};

describe.each(['http', 'https'] as const)('over %s', (scheme) => {
  it('all that passes is counted, and shared out by lanes', async () => {
    const { cert, key } = makeCertificate({
      names: ['127.0.0.1'],
      fromMs: Date.now() - DAY_MS,
      untilMs: Date.now() + DAY_MS,
    });
    const server = scheme === 'https' ? createTlsServer({ cert, key }, answers) : createHttpServer(answers);
    const { port, counted } = await countingProxy(await listen(server as unknown as Server));
    const api = new HttpDeviceApi({
      settings: { url: `${scheme}://127.0.0.1:${port}`, ca: cert },
      token: () => 'token',
      clock: systemClock,
    });
    open.push(api);
    const values = Array.from({ length: 2_000 }, (_, at) => at);
    const rows = { keys: values.map((at) => `key${at}`), values, ts: values.map(() => 1_780_000_000_000) };
    for (let at = 0; at < 5; at += 1) expect(await api.postTelemetry(rows, never)).toEqual({ kind: 'accepted' });
    await api.pollRpc(1_000, never);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { lanes } = api.traffic;
    const total = LANES.reduce((sum, lane) => sum + (lanes?.[lane] ?? 0), 0);
    // TCP/IP adds 78 B for each full segment, 52 B or so for the two ends of each of six exchanges, 380 B for each socket, 312 B for a handshake.
    const headers = (counted.bytes / 1_448) * 78 + 6 * 104 + counted.sockets * (scheme === 'https' ? 692 : 380);
    expect(Math.abs(total - counted.bytes - headers) / (counted.bytes + headers)).toBeLessThan(0.01);
    expect(lanes?.upload).toBeGreaterThan((lanes?.['rpc-poll'] ?? 0) * 10);
    expect(lanes?.['rpc-poll']).toBeGreaterThan(500);
    expect(lanes?.download).toBe(0);
  });
});
