import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { openExternalFile } from '../../../src/platform/external-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const nowMs = Date.now();
const { cert, key } = makeCertificate({
  names: ['localhost', '127.0.0.1'],
  fromMs: nowMs - 86_400_000,
  untilMs: nowMs + 86_400_000,
});
const FAST = { interval: 1 };
const content = Buffer.alloc(300_000, 'x');
let server: Server;
let base: string;
/** An answer that the test goes on with. */
let rest: { status: number; headers: Record<string, string> };
let held: ServerResponse | undefined;
let seen: { url: string; headers: NodeJS.Dict<string | string[]> }[];

beforeEach(async () => {
  seen = [];
  held = undefined;
  server = createServer({ cert, key }, (request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers });
    const hop = /^\/hop\/(\d+)/.exec(request.url ?? '');
    if (hop !== null)
      response.writeHead(302, { location: hop[1] === '0' ? '/file' : `/hop/${Number(hop[1]) - 1}` }).end();
    else if (request.url === '/elsewhere') response.writeHead(302, { location: 'https://localhost:1/file' }).end();
    else if (request.url === '/plain') response.writeHead(302, { location: 'http://127.0.0.1/file' }).end();
    else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': 1_000_000 });
      response.write(content, () => request.socket.destroy());
    } else if (request.url === '/silent') held = response;
    else if (request.url === '/steps') {
      held = response;
      response.write('x');
    } else if (request.url === '/rest')
      response.writeHead(rest.status, rest.headers).end(content.subarray(rest.status === 206 ? 100_000 : 0));
    else if (request.url?.startsWith('/coded/') === true)
      response.writeHead(200, { 'content-encoding': request.url.slice(7) }).end(content);
    else if (request.url === '/file') response.writeHead(200, { 'content-length': content.length }).end(content);
    else response.writeHead(404).end('none');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('hosts that a file may come from', () => {
  it.each([
    ['/file', ['127.0.0.1'], undefined],
    ['/hop/1', ['files.example.com', '127.0.0.1'], undefined],
    ['/file', ['files.example.com'], /not among those in the source of its handler/],
    ['/elsewhere', ['127.0.0.1'], /not among those in the source of its handler/],
  ])('hold for %s, each redirect included', async (path, hosts, refused) => {
    const opening = openExternalFile(base + path, { clock: systemClock, ca: cert, hosts }, never);
    if (refused === undefined) {
      const pieces: Uint8Array[] = [];
      for await (const piece of (await opening).stream) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(content)).toBe(true);
    } else await expect(opening).rejects.toThrow(refused);
  });
});

async function fetchAll(path: string, onCarried?: (bytes: number) => void): Promise<Buffer> {
  const { stream } = await openExternalFile(base + path, { clock: systemClock, ca: cert, onCarried }, never);
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a file that lies elsewhere', () => {
  it.each(['gzip', 'br', 'zstd'])('refuses a file that a server compresses unasked: %s', async (coding) => {
    await expect(fetchAll(`/coded/${coding}`)).rejects.toThrow(
      `the file's own address sends it compressed (${coding})`,
    );
  });

  it('takes a file whose coding is none', async () => {
    expect((await fetchAll('/coded/identity')).equals(content)).toBe(true);
    expect(seen[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('tells what the link carries for it: each host on the way, and the file with what is around it', async () => {
    let bytes = 0;
    await fetchAll('/hop/1', (more) => {
      bytes += more;
    });
    expect(bytes / (3 * 6_000 + 1.055 * content.length)).toBeCloseTo(1, 3);
  });

  it('is fetched over https, through redirects, with nothing in the request that is the platform’s', async () => {
    expect((await fetchAll('/hop/3')).equals(content)).toBe(true);
    expect(seen.map(({ url }) => url)).toEqual(['/hop/3', '/hop/2', '/hop/1', '/hop/0', '/file']);
    for (const { headers } of seen)
      expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host']);
  });

  it('is not followed to an address without https, nor for ever', async () => {
    await expect(openExternalFile(base.replace('https', 'http'), { clock: systemClock }, never)).rejects.toMatchObject({
      code: 'platform/settings',
    });
    await expect(fetchAll('/plain')).rejects.toMatchObject({
      code: 'platform/settings',
      message: expect.stringContaining('not https'),
    });
    await expect(fetchAll('/hop/9')).rejects.toMatchObject({ code: 'platform/settings' });
  });

  it('is refused when it is not there, and tried again later when it was cut', async () => {
    await expect(fetchAll('/nothing')).rejects.toMatchObject({ code: 'platform/refused', status: 404 });
    await expect(fetchAll('/cut')).rejects.toMatchObject({ code: 'platform/busy' });
  });

  it('is not fetched from a server whose certificate is not trusted, and its address is in no message', async () => {
    const error = await openExternalFile(`${base}/file?secret=1`, { clock: systemClock }, never).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'platform/busy' });
    expect(String(error)).not.toContain('secret');
  });

  it.each([
    ...[204, 300, 304, 400, 401, 403, 404, 405, 410, 416, 451].map((status) => [status, 'platform/refused'] as const),
    ...[408, 425, 429, 500, 502, 503, 504, 507].map((status) => [status, 'platform/busy'] as const),
  ])('a host that answers %d: %s', async (status, code) => {
    rest = { status, headers: {} };
    await expect(fetchAll('/rest')).rejects.toMatchObject({ code, status });
  });

  it.each(['text/html', 'text/html; charset=utf-8', 'TEXT/HTML'])('is no web page: %s', async (type) => {
    rest = { status: 200, headers: { 'content-type': type } };
    await expect(fetchAll('/rest')).rejects.toMatchObject({
      code: 'platform/refused',
      message: expect.stringContaining('web page'),
    });
  });

  it.each(['application/octet-stream', 'text/plain', 'text/x-hex'])('is a file of any other type: %s', async (type) => {
    rest = { status: 200, headers: { 'content-type': type } };
    expect((await fetchAll('/rest')).equals(content)).toBe(true);
  });

  const whole = { status: 200, headers: { etag: '"two"' } };
  const good = { status: 206, headers: { etag: '"one"', 'content-range': 'bytes 100000-299999/300000' } };
  const beginning = { bytes: 100_000, validator: '"one"' };

  it('is asked for its rest, and goes on where that comes', async () => {
    rest = good;
    const body = await openExternalFile(`${base}/rest`, { clock: systemClock, ca: cert, beginning }, never);
    expect(body).toMatchObject({ startsAt: 100_000, validator: '"one"' });
    let bytes = 0;
    for await (const piece of body.stream) bytes += piece.length;
    expect(bytes).toBe(200_000);
    expect(seen.map(({ headers }) => [headers.range, headers['if-range']])).toEqual([['bytes=100000-', '"one"']]);
  });

  it('comes from its beginning where it is another by now, or the host gives no rests', async () => {
    rest = whole;
    const body = await openExternalFile(`${base}/rest`, { clock: systemClock, ca: cert, beginning }, never);
    expect(body).toMatchObject({ startsAt: 0, validator: '"two"' });
    for await (const _ of body.stream);
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['there is no rest', { status: 416, headers: { etag: '"one"' } }],
    ['the rest is of another file', { ...good, headers: { ...good.headers, etag: '"two"' } }],
    [
      'the rest is not said to be of this file',
      { ...good, headers: { 'content-range': 'bytes 100000-299999/300000' } },
    ],
    [
      'the rest begins elsewhere',
      { ...good, headers: { ...good.headers, 'content-range': 'bytes 10000-299999/300000' } },
    ],
    ['the rest does not say where it begins', { ...good, headers: { etag: '"one"' } }],
  ])('is asked for as a whole where %s', async (_case, answer) => {
    rest = answer;
    const error = await openExternalFile(`${base}/rest`, { clock: systemClock, ca: cert, beginning }, never).catch(
      (caught: unknown) => caught,
    );
    // This host gives the same answer to everything.
    expect(error).toMatchObject({ code: 'platform/refused', status: answer.status });
    expect(seen.map(({ headers }) => headers.range)).toEqual(['bytes=100000-', undefined]);
  });

  it.each(['W/"one"', 'one', '"o"ne"', '""'])('has no rest by %s: other files may bear it too', async (etag) => {
    rest = { status: 200, headers: { etag } };
    const body = await openExternalFile(`${base}/rest`, { clock: systemClock, ca: cert }, never);
    expect(body).not.toMatchObject({ validator: expect.anything() });
    for await (const _ of body.stream);
  });

  it('ends its connection when the caller ends early', async () => {
    const { stream } = await openExternalFile(`${base}/file`, { clock: systemClock, ca: cert }, never);
    for await (const _ of stream) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
    const open = await new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    expect(open).toBe(0);
  });

  it('has all the time it needs while it comes, and is let go of when nothing came for a minute', async () => {
    const clock = new FakeClock();
    const { stream } = await openExternalFile(`${base}/steps`, { clock, ca: cert }, never);
    let pieces = 0;
    const read = (async () => {
      for await (const _ of stream) pieces += 1;
    })();
    for (let minute = 1; minute <= 60; minute += 1) {
      await expect.poll(() => [pieces, clock.pending], FAST).toEqual([minute, 1]);
      await clock.advance(59_999);
      if (minute < 60) held?.write('x');
    }
    expect(clock.pending).toBe(1);
    const ended = expect(read).rejects.toMatchObject({
      code: 'platform/busy',
      message: expect.stringContaining('nothing came for 60 s'),
    });
    await clock.advance(1);
    await ended;
    expect(clock.pending).toBe(0);
  });

  it('does not count the time that its reader takes', async () => {
    const clock = new FakeClock();
    const { stream } = await openExternalFile(`${base}/file`, { clock, ca: cert }, never);
    let bytes = 0;
    for await (const piece of stream) {
      bytes += piece.length;
      await clock.advance(3_600_000);
    }
    expect(bytes).toBe(content.length);
  });

  it.each(['/silent', '/steps'])(
    'is let go of when it does not begin, or nobody reads it, for a minute: %s',
    async (path) => {
      const clock = new FakeClock();
      const opening = openExternalFile(base + path, { clock, ca: cert }, never).catch((error: unknown) => error);
      await expect.poll(() => held, FAST).toBeDefined();
      if (path === '/steps') await opening;
      const gone = new Promise((resolve) => held?.on('close', resolve));
      await clock.advance(60_000);
      await gone;
      if (path === '/silent')
        expect(await opening).toMatchObject({
          code: 'platform/busy',
          message: expect.stringContaining('no answer from the host'),
        });
    },
  );

  it('that cannot be fetched is no fault of the platform', async () => {
    const { port } = server.address() as AddressInfo;
    await expect(openExternalFile(`https://127.0.0.1:${port}/file`, { clock: systemClock }, never)).rejects.toThrow(
      /cannot reach the host/,
    );
    await expect(fetchAll('/cut')).rejects.toThrow(/cannot reach the host/);
  });
});
