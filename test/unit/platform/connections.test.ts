/** Where the bytes go: kept-alive sockets, lanes, TLS with its own authority and client certificate, proxies, and the count of it all. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { makeCertificate, type SelfSignedCertificate } from '../../../src/host/self-signed-certificate.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import type { HttpDeviceApiSettings } from '../../../src/platform/platform-calls.ts';
import { http2Peer, PEER_CERTIFICATE } from '../../support/http2-peer.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';

const never = new AbortController().signal;
const RECORDS = rowsOf({ ts: 1, values: { a: 1 } });
const DAY_MS = 86_400_000;
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

function certificate(names: readonly string[], untilMs = Date.now() + DAY_MS): SelfSignedCertificate {
  return makeCertificate({ names, fromMs: untilMs - 2 * DAY_MS, untilMs });
}

function client(settings: HttpDeviceApiSettings): HttpDeviceApi {
  const api = new HttpDeviceApi({ settings, token: () => 'token', clock: systemClock });
  open.push(api);
  return api;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return (server.address() as AddressInfo).port;
}

function answering(
  sockets = new Set<Socket>(),
): (request: IncomingMessage, response: import('node:http').ServerResponse) => void {
  return (request, response) => {
    sockets.add(request.socket);
    request.resume().on('end', () => response.end());
  };
}

describe('sockets', () => {
  it('are kept for one upload after the other', async () => {
    const sockets = new Set<Socket>();
    const port = await listen(createServer(answering(sockets)));
    const api = client({ url: `http://127.0.0.1:${port}` });
    for (let upload = 0; upload < 5; upload += 1)
      expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
    expect(sockets.size).toBe(1);
  });

  it('ask by TCP whether the other side is there after 31 s of silence', async () => {
    const keptAlive = vi.spyOn(Socket.prototype, 'setKeepAlive');
    const port = await listen(createServer(answering()));
    await client({ url: `http://127.0.0.1:${port}` }).postTelemetry(RECORDS, never);
    expect(keptAlive.mock.lastCall).toEqual([true, 31_000]);
    keptAlive.mockRestore();
  });

  it('are not shared between polls and uploads', async () => {
    const waiting: (() => void)[] = [];
    const sockets = new Map<string, Socket>();
    const port = await listen(
      createServer((request, response) => {
        sockets.set((request.url ?? '').replace(/\?.*/, ''), request.socket);
        if (request.method === 'GET') waiting.push(() => response.writeHead(408).end());
        else request.resume().on('end', () => response.end());
      }),
    );
    const api = client({ url: `http://127.0.0.1:${port}` });
    const polls = [api.pollRpc(1000, never), api.pollAttributes(1000, never)];
    expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
    for (const finish of waiting) finish();
    await Promise.all(polls);
    expect(new Set(sockets.values()).size).toBe(3);
  });

  it('are opened anew when the server comes back', async () => {
    const first = createServer(answering());
    const port = await listen(first);
    const api = client({ url: `http://127.0.0.1:${port}` });
    expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
    first.closeAllConnections();
    await new Promise((resolve) => first.close(resolve));
    expect(await api.postTelemetry(RECORDS, never)).toMatchObject({ kind: 'busy' });
    const second = createServer(answering());
    await new Promise<void>((resolve) => second.listen(port, '127.0.0.1', resolve));
    open.push(second);
    expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
    second.closeAllConnections();
  });

  it('count every byte of HTTP, as the server counts them', async () => {
    const sockets = new Set<Socket>();
    const port = await listen(createServer(answering(sockets)));
    const api = client({ url: `http://127.0.0.1:${port}/some/prefix/` });
    for (let upload = 0; upload < 3; upload += 1)
      await api.postTelemetry(rowsOf({ ts: 1, values: { text: 'x'.repeat(1000) } }), never);
    const [socket] = sockets;
    expect(api.traffic).toMatchObject({ sentBytes: socket?.bytesRead, receivedBytes: socket?.bytesWritten });
    expect(api.traffic.sentBytes).toBeGreaterThan(3000);
    const before = api.traffic;
    await api.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(api.traffic).toEqual(before);
  });
});

describe('TLS', () => {
  async function secure(own: SelfSignedCertificate, more: object = {}, seen = new Set<string>()): Promise<number> {
    const server = createTlsServer({ ...own, ...more }, (request, response) => {
      seen.add(String((request.socket as TLSSocket).getPeerCertificate().subject?.CN));
      request.resume().on('end', () => response.end());
    });
    return listen(server as unknown as Server);
  }

  it('trusts the authority that it is given, by name and by address', async () => {
    const own = certificate(['localhost', '127.0.0.1']);
    const port = await secure(own);
    for (const host of ['localhost', '127.0.0.1'])
      expect(
        await client({ url: `https://${host}:${port}`, ca: own.cert }).postTelemetry(RECORDS, never),
        host,
      ).toEqual({
        kind: 'accepted',
      });
  });

  it('trusts the authority that it is given beside those that it trusted before', async () => {
    const [known, own] = [certificate(['known', '127.0.0.1']), certificate(['own', '127.0.0.1'])];
    const ports = [await secure(known), await secure(own)];
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, known.cert]);
    try {
      for (const port of ports)
        expect(await client({ url: `https://127.0.0.1:${port}`, ca: own.cert }).postTelemetry(RECORDS, never)).toEqual({
          kind: 'accepted',
        });
    } finally {
      setDefaultCACertificates(before);
    }
  });

  it.each<[string, () => Partial<HttpDeviceApiSettings> & { readonly own: SelfSignedCertificate }, RegExp]>([
    ['an unknown authority', () => ({ own: certificate(['127.0.0.1']) }), /authority that is not trusted/],
    [
      'another name',
      () => {
        const own = certificate(['elsewhere.example']);
        return { own, ca: own.cert };
      },
      /for another name/,
    ],
    [
      'an expired certificate',
      () => {
        const own = certificate(['127.0.0.1'], Date.now() - DAY_MS);
        return { own, ca: own.cert };
      },
      /expired/,
    ],
  ])('sends nothing to %s, and says why', async (_name, prepare, words) => {
    const { own, ...settings } = prepare();
    const seen = new Set<string>();
    const port = await secure(own, {}, seen);
    const answer = await client({ url: `https://127.0.0.1:${port}`, ...settings }).postTelemetry(RECORDS, never);
    expect(answer).toMatchObject({ kind: 'busy', text: expect.stringMatching(words) });
    expect(seen.size).toBe(0);
  });

  it('shows its client certificate to a server that asks for one', async () => {
    const own = certificate(['127.0.0.1']);
    const mine = certificate(['gateway-17']);
    const seen = new Set<string>();
    const port = await secure(own, { requestCert: true, rejectUnauthorized: true, ca: mine.cert }, seen);
    const url = `https://127.0.0.1:${port}`;
    const with_ = client({ url, ca: own.cert, clientCertificate: mine.cert, clientKey: mine.key });
    expect(await with_.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
    expect([...seen]).toEqual(['gateway-17']);
    expect(await client({ url, ca: own.cert }).postTelemetry(RECORDS, never)).toMatchObject({ kind: 'busy' });
  });
});

describe('a proxy', () => {
  interface Proxy {
    readonly port: number;
    readonly requests: string[];
    readonly authorisations: (string | undefined)[];
    /** Whose certificates were shown to the proxy itself. */
    readonly certificates: (string | string[] | undefined)[];
    readonly bytes: () => number;
  }

  /** Forwards plain requests in absolute form and opens tunnels, as squid does. */
  async function proxy(own?: SelfSignedCertificate): Promise<Proxy> {
    const requests: string[] = [];
    const authorisations: (string | undefined)[] = [];
    const certificates: (string | string[] | undefined)[] = [];
    const sockets = new Set<Socket>();
    const listener: RequestListener = (incoming, response) => {
      requests.push(`${incoming.method} ${incoming.url}`);
      authorisations.push(incoming.headers['proxy-authorization']);
      const target = new URL(incoming.url ?? '');
      incoming.resume().on('end', () => {
        const upstream = connect(Number(target.port), target.hostname, () =>
          upstream.end(`POST ${target.pathname} HTTP/1.1\r\nhost: x\r\n\r\n`),
        );
        upstream.on('close', () => response.end()).resume();
      });
    };
    const server =
      own === undefined
        ? createServer(listener)
        : (createTlsServer({ ...own, requestCert: true, rejectUnauthorized: false }, listener) as unknown as Server);
    server.on('secureConnection', (socket: TLSSocket) => certificates.push(socket.getPeerCertificate().subject?.CN));
    server.on('connection', (socket) => sockets.add(socket));
    server.on('connect', (incoming, socket: Socket) => {
      requests.push(`CONNECT ${incoming.url}`);
      authorisations.push(incoming.headers['proxy-authorization']);
      const [host = '', port = ''] = (incoming.url ?? '').split(':');
      const upstream = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on('error', () => socket.destroy());
      socket.on('error', () => upstream.destroy());
      open.push({ close: () => upstream.destroy() }, { close: () => socket.destroy() });
    });
    const port = await listen(server);
    return {
      port,
      requests,
      authorisations,
      certificates,
      bytes: () => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0),
    };
  }

  it('carries plain HTTP, with its own user and password', async () => {
    const origin = await listen(createServer(answering()));
    const { port, requests, authorisations, bytes } = await proxy();
    const api = client({ url: `http://127.0.0.1:${origin}`, proxy: `http://user:pass@127.0.0.1:${port}` });
    expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
    expect(requests).toEqual([`POST http://127.0.0.1:${origin}/api/v1/token/telemetry`]);
    expect(authorisations).toEqual([`Basic ${Buffer.from('user:pass').toString('base64')}`]);
    expect(api.traffic.sentBytes).toBe(bytes());
  });

  it('carries HTTPS through a tunnel, without seeing the path', async () => {
    const own = certificate(['127.0.0.1']);
    const origin = await listen(createTlsServer(own, answering()) as unknown as Server);
    const { port, requests } = await proxy();
    const api = client({ url: `https://127.0.0.1:${origin}`, ca: own.cert, proxy: `http://127.0.0.1:${port}` });
    for (let upload = 0; upload < 3; upload += 1)
      expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
    expect(requests).toEqual([`CONNECT 127.0.0.1:${origin}`]);
    expect(api.traffic.sentBytes).toBeGreaterThan(300);
  });

  it('that speaks TLS itself is trusted by the same authority, and gets no client certificate', async () => {
    const own = certificate(['127.0.0.1']);
    const mine = certificate(['gateway-17']);
    const [plain, secure] = [
      await listen(createServer(answering())),
      await listen(createTlsServer(own, answering()) as unknown as Server),
    ];
    const { port, requests, certificates } = await proxy(own);
    const settings = {
      ca: own.cert,
      clientCertificate: mine.cert,
      clientKey: mine.key,
      proxy: `https://127.0.0.1:${port}`,
    };
    for (const url of [`http://127.0.0.1:${plain}`, `https://127.0.0.1:${secure}`])
      expect(await client({ url, ...settings }).postTelemetry(RECORDS, never), url).toEqual({ kind: 'accepted' });
    expect(requests).toEqual([`POST http://127.0.0.1:${plain}/api/v1/token/telemetry`, `CONNECT 127.0.0.1:${secure}`]);
    expect(new Set(certificates)).toEqual(new Set([undefined]));
  });

  it('is known by its own name, not by that of the platform', async () => {
    const [ofProxy, own] = [certificate(['localhost']), certificate(['127.0.0.1'])];
    const origin = await listen(createTlsServer(own, answering()) as unknown as Server);
    const { port } = await proxy(ofProxy);
    const settings = { ca: `${own.cert}\n${ofProxy.cert}`, proxy: `https://localhost:${port}` };
    expect(await client({ url: `https://127.0.0.1:${origin}`, ...settings }).postTelemetry(RECORDS, never)).toEqual({
      kind: 'accepted',
    });
  });

  it('carries HTTP/2 through one tunnel, with its own user and password', async () => {
    const peer = await http2Peer();
    open.push(peer);
    const { port, requests, authorisations } = await proxy();
    const api = client({ url: peer.url, ca: PEER_CERTIFICATE.cert, proxy: `http://user:pass@127.0.0.1:${port}` });
    for (let upload = 0; upload < 3; upload += 1)
      expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
    expect([requests, peer.sessions.length]).toEqual([[`CONNECT 127.0.0.1:${peer.port}`], 1]);
    expect(authorisations).toEqual([`Basic ${Buffer.from('user:pass').toString('base64')}`]);
    expect(api.traffic.sentBytes).toBeGreaterThan(300);
  });

  it('that quotes what it was sent is told without its password', async () => {
    const quoting = await listen(
      createServer((incoming, response) => {
        incoming.resume();
        response
          .writeHead(400, { 'content-type': 'text/plain' })
          .end(`no: ${incoming.headers['proxy-authorization']} of proxypassword`);
      }),
    );
    const api = client({ url: 'http://platform.example', proxy: `http://user:proxypassword@127.0.0.1:${quoting}` });
    const answer = JSON.stringify(await api.postTelemetry(RECORDS, never));
    expect(answer).toMatch(/Basic \[+token\]+ of /);
    expect(answer).not.toMatch(new RegExp(`proxypassword|${Buffer.from('user:proxypassword').toString('base64')}`));
  });

  it('that is gone makes the platform busy, without showing its password', async () => {
    const { port } = await proxy();
    await open.shift()?.close();
    for (const scheme of ['http', 'https']) {
      const api = client({ url: `${scheme}://127.0.0.1:9`, proxy: `http://user:proxypassword@127.0.0.1:${port}` });
      const answer = await api.postTelemetry(RECORDS, never);
      expect(answer).toMatchObject({ kind: 'busy' });
      expect(JSON.stringify(answer)).not.toContain('proxypassword');
    }
  });
});

describe('settings', () => {
  it.each(['', 'platform', 'ftp://host', 'file:///etc/passwd'])('of the address %j stop the agent', (url) => {
    expect(() => new HttpDeviceApi({ settings: { url }, token: () => 't', clock: systemClock })).toThrow(
      expect.objectContaining({ code: 'platform/settings', recovery: 'stop' }),
    );
  });
});
