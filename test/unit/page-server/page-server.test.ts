import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { MAX_STREAMS } from '../../../src/page-server/event-streams.ts';
import type { StatusServerSettings } from '../../../src/page-server/page-server.ts';
import { SESSION_LIFE_MS } from '../../../src/page-server/pin-access.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { StatusBench } from '../../support/status-bench.ts';

let bench: StatusBench;

afterEach(() => bench.stop());

async function open(
  settings: Partial<StatusServerSettings> = {},
): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  bench = await StatusBench.open(settings);
  return (path, init) => fetch(bench.url + path, init);
}

describe('StatusServer', () => {
  it('forbids with every answer whatever is not its own', async () => {
    const ask = await open();
    for (const path of ['/', '/page/status/app.js', '/api/status', '/nothing', '/metrics']) {
      const { headers } = await ask(path);
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/,
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('serves the files of its page, small and once, and no other file', async () => {
    const ask = await open();
    const page = await ask('/');
    expect(page.headers.get('content-encoding')).toBe('gzip');
    expect(await page.text()).toContain('<title>Turnstone</title>');
    expect((await ask('/', { headers: { 'if-none-match': page.headers.get('etag') ?? '' } })).status).toBe(304);
    const paths = [
      '/page/status/..%2f..%2fmain.ts',
      '/page/platform/app.js',
      '/page/status/.env',
      '/page/shared/',
      '/package.json',
      '/page/status/app.js/x',
    ];
    for (const path of paths) expect((await ask(path)).status).toBe(404);
  });

  it('can be installed: its manifest names an icon that is there, and its worker may keep the whole page', async () => {
    const ask = await open();
    const manifest = await ask('/page/status/manifest.webmanifest');
    expect(manifest.headers.get('content-type')).toBe('application/manifest+json');
    const { icons, scope } = (await manifest.json()) as {
      readonly icons: readonly { readonly src: string }[];
      readonly scope: string;
    };
    expect((await ask(icons[0]?.src ?? '')).headers.get('content-type')).toBe('image/svg+xml');
    expect((await ask('/page/status/offline.js')).headers.get('service-worker-allowed')).toBe(scope);
  });

  it('changes nothing: every other method is unknown', async () => {
    const ask = await open();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await ask('/api/status', { method })).status).toBe(404);
  });

  it('answers on loopback only to names of loopback, so that no web page reaches it under a name of its own', async () => {
    await open();
    const answer = request(`${bench.url}/api/status`, { headers: { host: 'rebound.example:80' } });
    answer.end();
    const [response] = await once(answer, 'response');
    response.resume();
    expect(response.statusCode).toBe(421);
  });

  it('keeps everything but health behind the PIN, and takes it as a bearer token from programs', async () => {
    const ask = await open({ page: 'lan', pin: '471199' });
    for (const path of ['/api/status', '/api/events', '/api/series?key=a', '/api/doctor', '/api/claim', '/metrics'])
      expect((await ask(path)).status).toBe(401);
    expect((await ask('/healthz')).status).toBe(200);
    expect((await ask('/readyz')).status).toBe(503);
    expect((await ask('/metrics', { headers: { authorization: 'Bearer 471199' } })).status).toBe(200);
    const entered = await ask('/api/session', { method: 'POST', body: '{"pin":"471199"}' });
    const cookie = entered.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict$/);
    const session = { cookie: cookie.split(';')[0] ?? '' };
    expect((await ask('/api/status', { headers: session })).status).toBe(200);
    await ask('/api/session', { method: 'DELETE', headers: session });
    expect((await ask('/api/status', { headers: session })).status).toBe(401);
  });

  it('shows the secret of an open claim to who entered the PIN, and to nobody where there is none', async () => {
    const claim = { secretKey: 'ABCDE-FGHJK', untilMs: 5, deviceName: 'gateway', code: ['101', '010', '101'] };
    const headers = { authorization: 'Bearer 471199' };
    for (const [pin, shown] of [
      [{ pin: '471199' }, claim],
      [{}, { untilMs: 5 }],
    ] as const) {
      const ask = await open(pin);
      bench.claim = async () => undefined;
      expect(await (await ask('/api/claim', { headers })).json()).toEqual({});
      bench.claim = async () => claim;
      expect(await (await ask('/api/claim', { headers })).json()).toEqual(shown);
      await bench.stop();
    }
  });

  it.each(['', 'no JSON', '{}', '{"pin":5}', `{"pin":"${'9'.repeat(600)}"}`, '["471199"]'])(
    'refuses a PIN that is none: %s',
    async (body) => {
      const ask = await open({ page: 'lan', pin: '471199' });
      expect((await ask('/api/session', { method: 'POST', body })).status).toBe(400);
    },
  );

  it('answers an address that is none, and a peer that leaves in the middle of a PIN, without a word in the log', async () => {
    await open({ page: 'lan', pin: '471199' });
    for (const path of ['//[', 'http://[', '//a:b:c/']) {
      const asked = request(bench.url, { path });
      asked.end();
      const [response] = await once(asked, 'response');
      response.resume();
      expect(response.statusCode, path).toBe(400);
    }
    const { port } = new URL(bench.url);
    const left = connect(Number(port), '127.0.0.1');
    left.write('POST /api/session HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{"pin"', () => left.destroy());
    await once(left, 'close');
    // Whatever the server makes of that, it has made by the time another request is answered.
    await (await fetch(`${bench.url}/healthz`)).text();
    await (await fetch(`${bench.url}/healthz`)).text();
    expect(bench.told).toEqual([]);
  });

  it('takes no more than a PIN takes, however long a body goes on', async () => {
    const ask = await open({ page: 'lan', pin: '471199' });
    expect((await ask('/api/session', { method: 'POST', body: `{"pin":"471199"}${' '.repeat(600)}` })).status).toBe(
      400,
    );
    const endless = connect(Number(new URL(bench.url).port), '127.0.0.1');
    endless.on('error', () => {});
    endless.write(`POST /api/session HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n${' '.repeat(600)}`);
    const [answer] = await once(endless, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
    endless.destroy();
  });

  it('tells a fault of its own in one message, which the log sums up when somebody asks often', async () => {
    const ask = await open();
    bench.view = () => {
      throw new Error('a fault of its own');
    };
    for (let times = 0; times < 25; times += 1) expect((await ask('/api/status')).status).toBe(500);
    expect(bench.told).toEqual(Array(25).fill('the status page could not answer'));
  });

  it('reads few series at a time, and asks others to come back', async () => {
    const ask = await open();
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    let begun = 0;
    bench.series = async () => {
      begun += 1;
      await finished;
      return {};
    };
    const under = Array.from({ length: 4 }, () => ask('/api/series?key=a'));
    await expect.poll(() => begun).toBe(4);
    const refused = await ask('/api/series?key=a');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    finish();
    expect((await Promise.all(under)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await ask('/api/series?key=a')).status).toBe(200);
  });

  it('ends the reading of a series whose reader has left', async () => {
    await open();
    const left = new AbortController();
    let seen: AbortSignal | undefined;
    bench.series = (_query, signal) => {
      seen = signal;
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
    };
    const asked = fetch(`${bench.url}/api/series?key=a`, { signal: left.signal }).catch(() => undefined);
    await expect.poll(() => seen).toBeDefined();
    expect(seen?.aborted).toBe(false);
    left.abort();
    await asked;
    await expect.poll(() => seen?.aborted).toBe(true);
    expect(bench.told).toEqual([]);
  });

  it('with the page off gives health and metrics alone; without metrics not even those', async () => {
    const ask = await open({ page: 'off' });
    expect((await ask('/metrics')).status).toBe(200);
    for (const path of ['/', '/api/status', '/api/events', '/page/status/app.js'])
      expect((await ask(path)).status).toBe(404);
    await bench.stop();
    const without = await open({ metrics: false });
    expect((await without('/metrics')).status).toBe(404);
  });

  it('streams the status each second, and every log line once', async () => {
    await open();
    bench.log({ msg: 'before' });
    const read = await stream();
    bench.log({ msg: 'after' });
    await expect.poll(() => read().match(/^event: status$/gm)?.length ?? 0, { timeout: 5_000 }).toBeGreaterThan(1);
    const late = await stream();
    await expect.poll(() => late().match(/after/g)?.length, { timeout: 5_000 }).toBe(1);
    await expect.poll(() => late().match(/^event: status$/gm)?.length ?? 0, { timeout: 5_000 }).toBeGreaterThan(1);
    for (const word of ['before', 'after'])
      for (const text of [read(), late()]) expect(text.match(new RegExp(word, 'g'))?.length).toBe(1);
  });

  it('takes as many streams as it can feed, and says so to the next', async () => {
    const ask = await open();
    const streams = await Promise.all(Array.from({ length: MAX_STREAMS }, () => ask('/api/events')));
    expect(streams.map(({ status }) => status)).toEqual(Array(MAX_STREAMS).fill(200));
    const refused = await ask('/api/events');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    await Promise.all(streams.map(({ body }) => body?.cancel()));
    await expect.poll(() => bench.openPages, { timeout: 5_000 }).toBe(0);
  });

  it('gives no place among the streams to who asks for the headers alone', async () => {
    const ask = await open();
    const { status, headers } = await ask('/api/events', { method: 'HEAD' });
    expect([status, headers.get('content-type'), bench.openPages]).toEqual([200, 'text/event-stream', 0]);
  });

  it.each(['logout', 'the end of the session'])('ends a stream with its session: %s', async (how) => {
    const clock = new FakeClock();
    bench = await StatusBench.open({ page: 'lan', pin: '471199' }, clock);
    const entered = await fetch(`${bench.url}/api/session`, { method: 'POST', body: '{"pin":"471199"}' });
    const headers = { cookie: (entered.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
    await clock.advance(SESSION_LIFE_MS - (how === 'logout' ? 5_000 : 1_000));
    const { body } = await fetch(`${bench.url}/api/events`, { headers });
    const read = new Response(body).text();
    expect(bench.openPages).toBe(1);
    if (how === 'logout') await fetch(`${bench.url}/api/session`, { method: 'DELETE', headers });
    await clock.advance(1_000);
    expect(bench.openPages).toBe(0);
    expect(await read).toContain('event: status');
  });

  it('does not wait long for a request that never ends', async () => {
    await open();
    const { port } = new URL(bench.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: 127');
    const startedMs = Date.now();
    await once(socket.resume(), 'close');
    expect(Date.now() - startedMs).toBeLessThan(12_000);
  }, 15_000);

  it.each(['', 'Expect: what-nobody-knows\r\n'])(
    'cuts off who sends requests faster than it takes their answers: %j',
    async (expectation) => {
      await open();
      let asked = 0;
      const view = bench.view;
      bench.view = (...times) => {
        asked += 1;
        return view(...times);
      };
      const socket = connect(Number(new URL(bench.url).port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`GET /api/status HTTP/1.1\r\nHost: localhost\r\n${expectation}\r\n`.repeat(1_000));
      await new Promise((resolve) => socket.resume().on('close', resolve));
      expect(asked).toBe(1);
      expect((await fetch(`${bench.url}/api/status`)).status).toBe(200);
    },
  );

  it('takes 160 connections, and no more', async () => {
    await open();
    const port = Number(new URL(bench.url).port);
    let closed = 0;
    const sockets = Array.from({ length: 170 }, () =>
      connect(port, '127.0.0.1')
        .on('error', () => {})
        .on('close', () => (closed += 1)),
    );
    await expect.poll(() => closed).toBe(10);
    sockets[0]?.destroy();
    await expect
      .poll(() =>
        fetch(`${bench.url}/healthz`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('takes the next request of who has an answer whole before the server knows', async () => {
    await open();
    const socket = connect(Number(new URL(bench.url).port), '127.0.0.1');
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2));
    let answers = '';
    for await (const piece of socket) {
      answers += String(piece);
      if (answers.split('HTTP/1.1 200 ').length === 3) break;
    }
    expect(answers.split('HTTP/1.1 200 ').length).toBe(3);
  });

  it('keeps the connection of who asks again when it has its answer', async () => {
    await open();
    const socket = connect(Number(new URL(bench.url).port), '127.0.0.1');
    for (let times = 0; times < 20; times += 1) {
      socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
      const [answer] = await once(socket, 'data');
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
    }
    socket.destroy();
  });

  it('opens later when the port is taken, and keeps nothing of its tries', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const clock = new FakeClock();
    const warned: string[] = [];
    const hear = ({ name }: Error): number => warned.push(name);
    process.on('warning', hear);
    bench = await StatusBench.open({ port }, clock);
    for (let tries = 1; tries < 12; tries += 1) {
      await clock.advance(15_000);
      await expect.poll(() => bench.told.length).toBe(tries + 1);
    }
    process.off('warning', hear);
    expect(warned).toEqual([]);
    await new Promise((resolve) => holder.close(resolve));
    await clock.advance(15_000);
    await expect
      .poll(() =>
        fetch(`http://127.0.0.1:${port}/healthz`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });
});

/** Reads a stream as it comes. */
async function stream(): Promise<() => string> {
  const { body } = await fetch(`${bench.url}/api/events`);
  let text = '';
  void (async () => {
    for await (const piece of body ?? []) text += Buffer.from(piece).toString();
  })().catch(() => {});
  return () => text;
}
