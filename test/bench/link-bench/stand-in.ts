/** Starts stand-ins of the platform, each a process of its own, and clients of them. Their chain of certificates has the size of an ordinary one. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../../../src/host/clock.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { connectOverNetwork, type PlatformConnections } from '../../../src/platform/connections.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { exchange } from '../../../src/platform/http-exchange.ts';

export interface StandInOptions {
  readonly isHttp1: boolean;
  /** How long a poll stands; undefined: for ever. */
  readonly pollMs?: number;
  /** Then the server goes away from an HTTP/2 connection. */
  readonly requestsPerConnection?: number;
  /** Of a piece of firmware. */
  readonly fileBytes?: number;
  readonly key: string;
  readonly cert: string;
}

export interface StandIn {
  readonly port: number;
  readonly standing: () => number;
  readonly end: () => void;
}

export const TOKEN = 'ABCDEFGHIJ0123456789';
const DAY_MS = 86_400_000;
/** Names that make a certificate about as large as those of the public authorities. */
const PADDING = Array.from({ length: 36 }, (_, at) => `name-${at}.of-an-authority.example`);

const certified = (names: readonly string[]) =>
  makeCertificate({ names, fromMs: Date.now() - DAY_MS, untilMs: Date.now() + DAY_MS });
const own = certified(['127.0.0.1', ...PADDING.slice(12)]);
/** Server's certificate and two more. */
const chain = [own.cert, certified(PADDING).cert, certified(PADDING).cert].join('');

/** Length of the chain as a handshake carries it. */
export const CHAIN_BYTES = Math.round((chain.replace(/-----[^-]+-----|\s/g, '').length * 3) / 4);

export async function standIn(options: Omit<StandInOptions, 'key' | 'cert'>): Promise<StandIn> {
  const child = fork(new URL('./stand-in-child.ts', import.meta.url), [
    JSON.stringify({ ...options, key: own.key, cert: chain }),
  ]);
  let standing = 0;
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }];
  child.on('message', (message: { readonly standing: number }) => {
    standing = message.standing;
  });
  return { port, standing: () => standing, end: () => child.disconnect() };
}

export interface Client {
  readonly api: HttpDeviceApi;
  readonly connections: PlatformConnections;
}

export function clientOf(port: number, shortHandshake = false): Client {
  const connections = connectOverNetwork(systemClock)({
    url: `https://127.0.0.1:${port}`,
    ca: own.cert,
    shortHandshake,
  });
  const api = new HttpDeviceApi({
    settings: { url: connections.origin },
    token: () => TOKEN,
    clock: systemClock,
    connect: () => connections,
  });
  return { api, connections };
}

const never = new AbortController().signal;

/** A poll as the agent asks for one. */
export async function poll(
  { connections }: Client,
  what: 'rpc' | 'attributes/updates',
  timeoutMs: number,
  signal = never,
): Promise<void> {
  const lane = what === 'rpc' ? 'rpc-poll' : 'attribute-poll';
  const bounds = { contentType: 'application/json', deadlineMs: timeoutMs + 10_000, limitBytes: 65_536 };
  const request = { lane, method: 'GET', path: `/api/v1/${TOKEN}/${what}?timeout=${timeoutMs}`, ...bounds } as const;
  await exchange(request, { connections, clock: systemClock, secrets: () => [TOKEN] }, signal);
}
