/** One HTTP/2 connection through the web server that stands before most platforms, which goes away from it after a few requests. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { PEER_CERTIFICATE } from '../support/http2-peer.ts';
import { rowsOf } from '../support/telemetry-rows.ts';

const PROGRAM = 'nginx';
const isThere = spawnSync(PROGRAM, ['-v'], { env: { PATH: `${process.env.PATH}:/usr/sbin` } }).status === 0;
const never = new AbortController().signal;

describe.skipIf(!isThere)('behind nginx, which must be installed for this (Debian: nginx-light)', () => {
  let folder = '';
  let port = 0;
  let nginx: ChildProcess | undefined;
  const polls: ServerResponse[] = [];
  const bodies: string[] = [];
  const upstream = createServer((request: IncomingMessage, response) => {
    if (request.method === 'GET') return void polls.push(response);
    const pieces: Buffer[] = [];
    request
      .on('data', (piece: Buffer) => pieces.push(piece))
      .on('end', () => {
        bodies.push(Buffer.concat(pieces).toString());
        response.end();
      });
  });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnstone-nginx-'));
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    port = await freePort();
    await writeFile(join(folder, 'cert.pem'), PEER_CERTIFICATE.cert);
    await writeFile(join(folder, 'key.pem'), PEER_CERTIFICATE.key);
    await writeFile(join(folder, 'nginx.conf'), configuration((upstream.address() as AddressInfo).port));
    nginx = spawn(PROGRAM, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
      env: { PATH: `${process.env.PATH}:/usr/sbin` },
      stdio: 'ignore',
    });
    await untilListening(port);
  });

  afterAll(async () => {
    nginx?.kill('SIGTERM');
    upstream.closeAllConnections();
    upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  function configuration(upstreamPort: number): string {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${join(folder, name)};`,
    );
    return `daemon off; master_process off; pid ${join(folder, 'pid')};
      events { worker_connections 256; }
      http {
        access_log off; keepalive_requests 5; ${temporary.join(' ')}
        server {
          listen 127.0.0.1:${port} ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem;
          location / { proxy_pass http://127.0.0.1:${upstreamPort}; proxy_read_timeout 600s; }
        }
      }`;
  }

  it('loses and doubles nothing while it goes away after each five requests, and keeps the poll that stands', async () => {
    const settings = { url: `https://127.0.0.1:${port}`, ca: PEER_CERTIFICATE.cert };
    const api = new HttpDeviceApi({ settings, token: () => 'token', clock: systemClock });
    try {
      const poll = api.pollRpc(60_000, never).catch((error: unknown) => error);
      while (polls.length === 0) await delay(10);
      for (let upload = 0; upload < 30; upload += 1)
        expect(await api.postTelemetry(rowsOf({ ts: 1, values: { upload } }), never), `upload ${upload}`).toEqual({
          kind: 'accepted',
        });
      const together = Array.from({ length: 20 }, (_, index) =>
        api.postTelemetry(rowsOf({ ts: 1, values: { upload: 30 + index } }), never),
      );
      expect((await Promise.all(together)).filter(({ kind }) => kind !== 'accepted')).toEqual([]);
      const uploads = bodies.map((body) => Number(/"upload":(\d+)/.exec(body)?.[1])).sort((a, b) => a - b);
      expect(uploads).toEqual(Array.from({ length: 50 }, (_, index) => index));
      for (const response of polls) response.writeHead(408).end();
      expect(await poll).toBeUndefined();
      expect(polls.length).toBe(1);
    } finally {
      await api.close();
    }
  });
});

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const isListening = await new Promise<boolean>((resolve) => {
      const socket = connectTcp(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isListening) return;
    await delay(50);
  }
  throw new Error('nginx does not listen');
}
