/** A platform reduced to what the agent's devices need: it counts the values of each token, and holds polls until their time is over. Its own process. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Times on CLOCK_MONOTONIC, ms: one clock for all processes of a machine. */
interface Arrived {
  values: number;
  readonly firstMs: number;
  lastMs: number;
}

const DEFAULT_POLL_MS = 20_000;
const arrived = new Map<string, Arrived>();
/** From the time of each record to its arrival, once for each of its values. */
let delaysMs: number[] = [];

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://sink');
  const [, , , token = '', what = ''] = pathname.split('/');
  if (pathname === '/arrived') return answer(response, Object.fromEntries(arrived));
  if (pathname === '/delays') {
    const sorted = Float64Array.from(delaysMs).sort();
    const share = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0;
    return answer(response, { values: sorted.length, p50Ms: share(0.5), p99Ms: share(0.99) });
  }
  if (pathname === '/reset') {
    arrived.clear();
    delaysMs = [];
    return answer(response, {});
  }
  if (request.method === 'GET' && (what === 'rpc' || pathname.endsWith('/updates')))
    return hold(response, Number(searchParams.get('timeout')));
  return take(request, (body) => {
    if (request.method === 'POST' && what === 'telemetry') count(token, body);
    if (request.method === 'GET') answer(response, {});
    else response.end();
  });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));

function take(request: IncomingMessage, done: (body: Buffer) => void): void {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => done(Buffer.concat(pieces)));
}

function count(token: string, body: Buffer): void {
  const records = JSON.parse(body.toString()) as unknown;
  const nowMs = Number(process.hrtime.bigint()) / 1e6;
  const one = arrived.get(token) ?? { values: 0, firstMs: nowMs, lastMs: nowMs };
  arrived.set(token, one);
  one.lastMs = nowMs;
  const wallMs = Date.now();
  for (const record of Array.isArray(records) ? records : [records]) {
    const { ts, values } = record as { readonly ts?: number; readonly values?: object };
    const count = Object.keys(values ?? (record as object)).length;
    one.values += count;
    if (ts !== undefined) for (let at = 0; at < count; at += 1) delaysMs.push(wallMs - ts);
  }
}

function hold(response: ServerResponse, timeoutMs: number): void {
  const timer = setTimeout(() => response.writeHead(408).end(), timeoutMs > 0 ? timeoutMs : DEFAULT_POLL_MS);
  response.on('close', () => clearTimeout(timer));
}

function answer(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
