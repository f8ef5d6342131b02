/** The page in the LAN as clients there meet it: TLS, and what becomes of who comes without. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isFromThisMachine } from '../../../src/page-server/clear-requests.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { StatusBench } from '../../support/status-bench.ts';

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly certificate?: PeerCertificate;
}

type Asked = { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string };

const PIN = '471199';
const BEARER = { authorization: `Bearer ${PIN}` };
/** Address by which this machine is no longer "this machine" to itself. */
const LAN = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

describe('the page in the LAN', () => {
  let bench: StatusBench;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = new FakeClock();
    bench = await StatusBench.open({ page: 'lan', pin: PIN }, clock);
  });

  afterEach(() => bench.stop());

  const port = (): number => Number(new URL(bench.url).port);

  it('answers over TLS with its own certificate, whose names and fingerprint a client can check', async () => {
    const { status, certificate } = await ask(`${bench.secureUrl}/healthz`);
    expect([status, certificate?.fingerprint256]).toEqual([200, bench.fingerprint]);
    const { text } = await ask(`${bench.url}/certificate.pem`);
    expect(text).toMatch(/^-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n$/);
    const trusting = connectTls({ host: '127.0.0.1', port: port(), ca: text });
    await once(trusting, 'secureConnect');
    expect([trusting.authorized, trusting.getProtocol()]).toEqual([true, 'TLSv1.3']);
    trusting.destroy();
  });

  it('keeps its certificate over a restart', async () => {
    const before = bench.fingerprint;
    await bench.stop();
    await bench.start();
    expect(bench.fingerprint).toBe(before);
    expect((await ask(`${bench.secureUrl}/healthz`)).certificate?.fingerprint256).toBe(before);
  });

  it('takes the PIN over TLS, and gives a cookie that a browser sends over TLS alone', async () => {
    const { status, headers } = await ask(`${bench.secureUrl}/api/session`, {
      method: 'POST',
      body: `{"pin":"${PIN}"}`,
    });
    const cookie = headers['set-cookie']?.[0] ?? '';
    expect([status, cookie]).toEqual([
      204,
      expect.stringMatching(
        /^__Host-turnstone_session=[^;]+; Path=\/; Max-Age=\d+; Secure; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    const session = { cookie: cookie.split(';')[0] ?? '' };
    expect((await ask(`${bench.secureUrl}/api/status`, { headers: session })).status).toBe(200);
    const ended = await ask(`${bench.secureUrl}/api/session`, { method: 'DELETE', headers: session });
    expect(ended.headers['set-cookie']).toEqual(['__Host-turnstone_session=; Path=/; Max-Age=0; Secure']);
    expect((await ask(`${bench.secureUrl}/api/status`, { headers: session })).status).toBe(401);
    expect((await ask(`${bench.secureUrl}/metrics`)).status).toBe(401);
    expect((await ask(`${bench.secureUrl}/metrics`, { headers: BEARER })).status).toBe(200);
  });

  it('answers in clear on loopback, under the same rules', async () => {
    expect((await ask(`${bench.url}/healthz`)).status).toBe(200);
    expect((await ask(`${bench.url}/metrics`)).status).toBe(401);
    expect((await ask(`${bench.url}/metrics`, { headers: BEARER })).status).toBe(200);
    const { headers } = await ask(`${bench.url}/api/session`, { method: 'POST', body: `{"pin":"${PIN}"}` });
    expect(headers['set-cookie']?.[0]).toMatch(
      /^turnstone_session=[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
    );
  });

  it('refuses what is older than TLS 1.2', async () => {
    const old = connectTls({
      host: '127.0.0.1',
      port: port(),
      rejectUnauthorized: false,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const [error] = (await once(old, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toMatch(/^ERR_SSL_|ECONNRESET/);
    expect((await ask(`${bench.secureUrl}/healthz`)).status).toBe(200);
  });

  describe.skipIf(LAN === undefined)('without TLS', () => {
    const clear = (path: string, asked?: Asked): Promise<Answer> => ask(`http://${LAN}:${port()}${path}`, asked);

    it('leads a browser on to TLS', async () => {
      for (const path of ['/', '/page', '/page/status/app.js']) {
        const { status, headers, text } = await clear(path, { headers: { host: 'gateway-7.local:8088' } });
        expect([status, headers.location]).toEqual([308, `https://gateway-7.local:8088${path}`]);
        expect(text).toBe(`this page is at https://gateway-7.local:8088${path}\n`);
      }
    });

    it('gives nothing else, and no address that is made of what somebody sent', async () => {
      for (const path of [
        '/api/status',
        '/api/events',
        '/metrics',
        '/healthz',
        '/readyz',
        '/nothing',
        '//evil.example/',
        '/page/%0d%0aa:b',
      ]) {
        const { status, headers, text } = await clear(path);
        expect([path, status, headers.upgrade, text]).toEqual([
          path,
          426,
          'TLS/1.2, HTTP/1.1',
          expect.stringContaining('over https:// alone'),
        ]);
      }
      for (const host of ['a@evil.example', 'a/b', 'a b', `${'a'.repeat(300)}`])
        expect((await clear('/', { headers: { host } })).headers.location).toBeUndefined();
    });

    it('does not look at a PIN: the right one opens nothing, and a wrong one counts for nothing', async () => {
      for (const pin of [PIN, ...Array.from({ length: 8 }, (_, guess) => `00000${guess}`)]) {
        const refused = await clear('/api/session', { method: 'POST', body: `{"pin":"${pin}"}` });
        expect([refused.status, refused.headers['set-cookie'], refused.text]).toEqual([
          403,
          undefined,
          expect.stringContaining('set another one'),
        ]);
      }
      expect((await clear('/metrics', { headers: BEARER })).status).toBe(403);
      const entered = await ask(`https://${LAN}:${port()}/api/session`, { method: 'POST', body: `{"pin":"${PIN}"}` });
      expect(entered.status).toBe(204);
    });
  });

  it.each(['nothing', 'half a handshake', 'a byte now and then'])('does not wait for who sends %s', async (what) => {
    const socket = connect(port(), '127.0.0.1');
    const closed = once(socket.on('error', () => {}).resume(), 'close');
    await once(socket, 'connect');
    if (what !== 'nothing') socket.write(Buffer.from('1603010100', 'hex'));
    // The server has it by the time that it has answered a later one.
    await ask(`${bench.secureUrl}/healthz`);
    for (let seconds = 0; seconds < 9; seconds += 1) {
      await clock.advance(1_000);
      if (what === 'a byte now and then') socket.write(Buffer.from([1]));
    }
    await ask(`${bench.secureUrl}/healthz`);
    expect(socket.closed).toBe(false);
    await clock.advance(1_000);
    await closed;
  });

  it('ends at once while somebody is in the middle of a handshake', async () => {
    const socket = connect(port(), '127.0.0.1').on('error', () => {});
    const closed = once(socket.resume(), 'close');
    socket.write(Buffer.from('1603010100', 'hex'));
    await ask(`${bench.secureUrl}/healthz`);
    await bench.stop();
    await closed;
  });

  it('does not wait long for a request over TLS that never ends', async () => {
    const socket = await secureSocket(port());
    socket.write('GET / HTTP/1.1\r\nHost: 127');
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /);
    socket.destroy();
  }, 15_000);

  it('takes 160 connections, whether they have shaken hands or not, and has room again when they go', async () => {
    let closed = 0;
    const count = <T extends Socket>(socket: T): T =>
      socket.on('error', () => {}).on('close', () => (closed += 1)) as T;
    const secure = await Promise.all(Array.from({ length: 80 }, () => secureSocket(port()).then(count)));
    const silent = Array.from({ length: 90 }, () => count(connect(port(), '127.0.0.1')));
    await expect.poll(() => closed).toBe(10);
    for (const socket of [...secure, ...silent]) socket.destroy();
    await expect
      .poll(() =>
        ask(`${bench.secureUrl}/healthz`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    // Each of these would have taken a place for good.
    for (let times = 0; times < 200; times += 1) (await secureSocket(port())).destroy();
    expect((await ask(`${bench.secureUrl}/healthz`)).status).toBe(200);
  });

  it('lives on after bytes that are no TLS', async () => {
    for (const bytes of [
      '16030100050100000100',
      '1603',
      '16',
      '160301ffff',
      '00',
      '80',
      '5052492a20485454502f322e300d0a0d0a',
    ]) {
      const socket = connect(port(), '127.0.0.1').on('error', () => {});
      socket.end(Buffer.from(bytes, 'hex'));
      await once(socket.resume(), 'close');
    }
    expect((await ask(`${bench.secureUrl}/healthz`)).status).toBe(200);
    expect(bench.told).toEqual([]);
  });

  it('streams over TLS, one request at a time on a connection', async () => {
    const socket = await secureSocket(port());
    let text = '';
    socket.on('error', () => {}).on('data', (piece) => (text += String(piece)));
    socket.write(`GET /api/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${PIN}\r\n\r\n`);
    await expect.poll(() => text).toContain('event: status');
    expect(bench.openPages).toBe(1);
    socket.destroy();
    await expect.poll(() => bench.openPages).toBe(0);
  });
});

it('this machine is loopback, and no address that looks like it', () => {
  const from = (remoteAddress: string | undefined): boolean =>
    isFromThisMachine({ socket: { remoteAddress } as Socket });
  expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].map(from)).toEqual([true, true, true, true]);
  expect(['192.168.1.127', '10.127.0.1', '::2', '1::1', 'fe80::1', '', undefined].map(from)).toEqual(
    Array(7).fill(false),
  );
});

it('on loopback alone there is no certificate, and no TLS', async () => {
  const bench = await StatusBench.open();
  expect((await ask(`${bench.url}/certificate.pem`)).status).toBe(404);
  expect([bench.fingerprint, bench.files.changes]).toEqual([undefined, []]);
  await expect(ask(`${bench.secureUrl}/healthz`)).rejects.toThrow();
  await bench.stop();
});

/** Takes any certificate, and tells which one it was; one connection for each. */
async function ask(address: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<Answer> {
  const isSecure = address.startsWith('https:');
  const options = { method, headers, agent: false, path: address.replace(/^\w+:\/\/[^/]+/, '') };
  const request = isSecure
    ? httpsRequest(address, { ...options, rejectUnauthorized: false })
    : httpRequest(address, options);
  request.end(body);
  const [response] = await once(request, 'response');
  const certificate = isSecure ? { certificate: (response.socket as TLSSocket).getPeerCertificate() } : {};
  let text = '';
  for await (const piece of response) text += String(piece);
  return { status: response.statusCode, headers: response.headers, text, ...certificate };
}

async function secureSocket(port: number): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}
