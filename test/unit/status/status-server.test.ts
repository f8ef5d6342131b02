import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { MOST_STREAMS } from '../../../src/status/event-streams.ts';
import type { StatusServerSettings } from '../../../src/status/status-server.ts';
import { StatusBench } from '../../support/status-bench.ts';

let bench: StatusBench;

afterEach(() => bench.stop());

async function open(settings: Partial<StatusServerSettings> = {}): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  bench = await StatusBench.open(settings);
  return (path, init) => fetch(bench.url + path, init);
}

describe('StatusServer', () => {
  it('forbids with every answer whatever is not its own', async () => {
    const ask = await open();
    for (const path of ['/', '/page/status/app.js', '/api/status', '/nothing', '/metrics']) {
      const { headers } = await ask(path);
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/);
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

  it('changes nothing: every other method is unknown', async () => {
    const ask = await open();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) expect((await ask('/api/status', { method })).status).toBe(404);
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

  it.each(['', 'no JSON', '{}', '{"pin":5}', `{"pin":"${'9'.repeat(600)}"}`, '["471199"]'])(
    'refuses a PIN that is none: %s',
    async (body) => {
      const ask = await open({ page: 'lan', pin: '471199' });
      expect((await ask('/api/session', { method: 'POST', body })).status).toBe(400);
    },
  );

  it('with the page off gives health and metrics alone; without metrics not even those', async () => {
    const ask = await open({ page: 'off' });
    expect((await ask('/metrics')).status).toBe(200);
    for (const path of ['/', '/api/status', '/api/events', '/page/status/app.js']) expect((await ask(path)).status).toBe(404);
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
    for (const word of ['before', 'after']) for (const text of [read(), late()]) expect(text.match(new RegExp(word, 'g'))?.length).toBe(1);
  });

  it('takes as many streams as it can feed, and says so to the next', async () => {
    const ask = await open();
    const streams = await Promise.all(Array.from({ length: MOST_STREAMS }, () => ask('/api/events')));
    expect(streams.map(({ status }) => status)).toEqual(Array(MOST_STREAMS).fill(200));
    const refused = await ask('/api/events');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    await Promise.all(streams.map(({ body }) => body?.cancel()));
    await expect.poll(() => bench.openPages, { timeout: 5_000 }).toBe(0);
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

  it('opens later when the port is taken', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { FakeClock } = await import('../../support/fake-clock.ts');
    const clock = new FakeClock();
    bench = await StatusBench.open({ port }, clock);
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
