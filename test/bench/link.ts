/**
 * Bytes on the line for one reading and for one empty poll, each alone on a connection that stands, over HTTP/2 and over HTTP/1.1 with TLS 1.3; and
 * the time of an upload beside 90 standing polls over HTTP/2.
 *
 *   npm run bench:link [-- --json] [-- --posts 300]
 *
 * A TCP proxy between agent and platform counts what passes, both directions, TLS included. To that comes TCP/IP by a model: 52 bytes
 * (IPv4, timestamps) for each segment that the proxy saw and for one acknowledgement after the last. The platform is a stand-in that answers with the
 * headers of a stock server; medians of ten exchanges.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/host/clock.ts';
import { makeCertificate } from '../../src/host/self-signed-certificate.ts';
import { connectOverNetwork, type PlatformConnections } from '../../src/platform/connections.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { exchange } from '../../src/platform/http-exchange.ts';
import { rowsOf } from '../support/telemetry-rows.ts';

const TOKEN = 'ABCDEFGHIJ0123456789';
const HEADERS = {
  ...{ vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers', 'x-content-type-options': 'nosniff' },
  ...{ 'x-xss-protection': '0', 'cache-control': 'no-cache, no-store, max-age=0, must-revalidate', pragma: 'no-cache', expires: '0' },
};
const SEGMENT_BYTES = 52;
const TIMES = 10;
const STANDING = 90;
const never = new AbortController().signal;

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false }, posts: { type: 'string', default: '300' } } });
const nowMs = Date.now();
const own = makeCertificate({ names: ['127.0.0.1'], fromMs: nowMs - 86_400_000, untilMs: nowMs + 86_400_000 });

const http2 = await measure(false);
const http1 = await measure(true);
const figures = {
  ...{ readingBytesH2: http2.readingBytes, readingBytesH1: http1.readingBytes },
  ...{ pollBytesH2: http2.pollBytes, pollBytesH1: http1.pollBytes },
  postBehindPollMs: await postBehindPolls(),
};
if (flags.json) console.log(JSON.stringify(figures));
else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)}${value}`);

async function measure(isHttp1: boolean): Promise<{ readonly readingBytes: number; readonly pollBytes: number }> {
  const platform = await standIn({ isHttp1, holdsPolls: false });
  const line = await countingProxy(platform.port);
  const connections = connectOverNetwork(systemClock)({ url: `https://127.0.0.1:${line.port}`, ca: own.cert });
  const api = new HttpDeviceApi({
    settings: { url: connections.origin },
    token: () => TOKEN,
    clock: systemClock,
    connect: () => connections,
  });
  try {
    const reading = async (time: number): Promise<void> => {
      const answer = await api.postTelemetry(rowsOf({ ts: 1_780_000_000_000 + time, values: { temperature: 21.5 + time / 10 } }), never);
      if (answer.kind !== 'accepted') throw new Error(`an upload was ${answer.kind}`);
    };
    return { readingBytes: await bytesOf(line, reading), pollBytes: await bytesOf(line, () => poll(connections)) };
  } finally {
    await api.close();
    line.server.close();
    platform.end();
  }
}

/** The first exchanges open the connection and fill the table of its headers. */
async function bytesOf(line: Line, work: (time: number) => Promise<void>): Promise<number> {
  const bytes: number[] = [];
  for (let time = -3; time < TIMES; time += 1) {
    const before = line.bytes();
    await work(time);
    await delay(50);
    if (time >= 0) bytes.push(line.bytes() - before + SEGMENT_BYTES);
  }
  return bytes.toSorted((a, b) => a - b)[TIMES / 2] ?? Number.NaN;
}

async function poll(connections: PlatformConnections, signal = never): Promise<void> {
  const path = `/api/v1/${TOKEN}/rpc?timeout=30000`;
  const request = {
    lane: 'rpc-poll',
    method: 'GET',
    path,
    contentType: 'application/json',
    deadlineMs: 60_000,
    limitBytes: 65_536,
  } as const;
  await exchange(request, { connections, clock: systemClock, secrets: () => [TOKEN] }, signal);
}

/** 99th percentile, ms. */
async function postBehindPolls(): Promise<number> {
  const platform = await standIn({ isHttp1: false, holdsPolls: true });
  const connections = connectOverNetwork(systemClock)({ url: `https://127.0.0.1:${platform.port}`, ca: own.cert });
  const api = new HttpDeviceApi({
    settings: { url: connections.origin },
    token: () => TOKEN,
    clock: systemClock,
    connect: () => connections,
  });
  const stop = new AbortController();
  try {
    const polls = Array.from({ length: STANDING }, () => poll(connections, stop.signal).catch(() => {}));
    while (platform.standing() < STANDING) await delay(10);
    const times: number[] = [];
    for (let post = 0; post < Number(flags.posts); post += 1) {
      const startMs = performance.now();
      await api.postTelemetry(rowsOf({ ts: 1_780_000_000_000 + post, values: { temperature: post } }), never);
      times.push(performance.now() - startMs);
    }
    stop.abort();
    await Promise.all(polls);
    return Math.round((times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN) * 10) / 10;
  } finally {
    await api.close();
    platform.end();
  }
}

async function standIn({ isHttp1, holdsPolls }: { readonly isHttp1: boolean; readonly holdsPolls: boolean }) {
  let standing = 0;
  const answer = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void => {
    const end = (status: number): void => {
      response.statusCode = status;
      for (const [name, value] of Object.entries({ ...HEADERS, 'content-length': '0' })) response.setHeader(name, value);
      response.end();
    };
    if (request.method === 'POST') request.resume().on('end', () => end(200));
    else if (holdsPolls) standing += 1;
    else end(408);
  };
  const server = isHttp1 ? createHttpsServer(own, answer) : createSecureServer({ ...own, settings: { maxConcurrentStreams: 100 } }, answer);
  const port = await listen(server);
  return { port, standing: () => standing, end: () => server.close() };
}

interface Line {
  readonly server: Server;
  readonly port: number;
  readonly bytes: () => number;
}

async function countingProxy(toPort: number): Promise<Line> {
  let bytes = 0;
  const server = createServer((near) => {
    const far = connect(toPort, '127.0.0.1');
    for (const [from, to] of [
      [near.setNoDelay(), far.setNoDelay()],
      [far, near],
    ] as const) {
      from.on('data', (piece) => {
        bytes += piece.byteLength + SEGMENT_BYTES;
        to.write(piece);
      });
      from.on('error', () => {}).on('close', () => to.destroy());
    }
  });
  return { server, port: await listen(server), bytes: () => bytes };
}

async function listen(server: Pick<Server, 'listen' | 'address'>): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
