/** The process of a stand-in platform and of the sensors beside it. It tells its parent what it gave and took, in order; argument: its seed. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mulberry32 } from '../../support/random-bytes.ts';
import { type Arrival, isOfSensors, keysOf, type Reading, SENSORS } from './ledger.ts';

/** How the platform answers: within a moment, after 3 to 8 s, with 500, 503 or an end of the connection, or never. */
export const MANNERS = ['at-once', 'late', 'errors', 'silent'] as const;
export type Manner = (typeof MANNERS)[number];

export type ToChild = { readonly manner: Manner } | { readonly settle: number };
export interface FromChild {
  readonly url?: string;
  readonly given?: readonly Reading[];
  readonly taken?: readonly Arrival[];
  readonly settled?: number;
}

const LATE_MS = { from: 3_000, to: 8_000 };
const DEFAULT_POLL_MS = 20_000;
/** Longer than any sensor's period: a connection that ends while it is taken up again is a failing sensor. */
const KEEP_ALIVE_MS = 120_000;

if (import.meta.main) {
  const random = mulberry32(Number(process.argv[2]));
  const numbers = Array.from({ length: SENSORS }, () => 0);
  let manner: Manner = 'at-once';
  const tell = (message: FromChild): void => void process.send?.(message);

  const giveReading = (sensor: number, response: ServerResponse): void => {
    const number = (numbers[sensor] ?? 0) + 1;
    numbers[sensor] = number;
    const keys = keysOf(sensor);
    response.once('finish', () => tell({ given: keys.map((key) => ({ key, number, atMs: Date.now() })) }));
    reply(response, Object.fromEntries(keys.map((key) => [key, number])));
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://platform');
    if (pathname.startsWith('/sensor/')) return giveReading(Number(pathname.slice('/sensor/'.length)), response);
    const own = manner;
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (own === 'silent') return;
    if (own === 'errors') {
      const draw = random();
      if (draw < 1 / 3) request.socket.destroy();
      else response.writeHead(draw < 2 / 3 ? 500 : 503).end();
      return;
    }
    if (request.method === 'GET' && /\/(rpc|updates)$/.test(pathname))
      return hold(response, Number(searchParams.get('timeout')));
    if (own === 'late') await wait(LATE_MS.from + random() * (LATE_MS.to - LATE_MS.from));
    if (response.destroyed) return;
    if (pathname.endsWith('/telemetry')) {
      const rows = rowsOf(Buffer.concat(pieces).toString());
      response.once('finish', () => {
        const atMs = Date.now();
        tell({ taken: rows.map(({ key, number, ts }) => ({ key, number, ts, atMs })) });
      });
    }
    reply(response, {});
  };

  process.on('message', (message: ToChild) => {
    if ('manner' in message) manner = message.manner;
    else tell({ settled: message.settle });
  });
  process.on('disconnect', () => process.exit());
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    // Who is killed in the middle of a request has sent nothing.
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1', () => tell({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
}

function rowsOf(body: string): readonly Omit<Arrival, 'atMs'>[] {
  const records = [JSON.parse(body)].flat() as { readonly ts: number; readonly values: object }[];
  return records.flatMap(({ ts, values }) =>
    Object.entries(values)
      .filter(([key]) => isOfSensors(key))
      .map(([key, number]) => ({ key, number: Number(number), ts })),
  );
}

function hold(response: ServerResponse, timeoutMs: number): void {
  const timer = setTimeout(() => response.writeHead(408).end(), timeoutMs > 0 ? timeoutMs : DEFAULT_POLL_MS);
  response.on('close', () => clearTimeout(timer));
}

function reply(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
