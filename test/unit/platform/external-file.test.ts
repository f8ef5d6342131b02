import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../../../src/local-platform/self-signed-certificate.ts';
import { openExternalFile } from '../../../src/platform/external-file.ts';

const never = new AbortController().signal;
const nowMs = Date.now();
const { cert, key } = makeCertificate({ names: ['localhost', '127.0.0.1'], fromMs: nowMs - 86_400_000, untilMs: nowMs + 86_400_000 });
const content = Buffer.alloc(300_000, 'x');
let server: Server;
let base: string;
let seen: { url: string; headers: NodeJS.Dict<string | string[]> }[];

beforeEach(async () => {
  seen = [];
  server = createServer({ cert, key }, (request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers });
    const hop = /^\/hop\/(\d+)/.exec(request.url ?? '');
    if (hop !== null) response.writeHead(302, { location: hop[1] === '0' ? '/file' : `/hop/${Number(hop[1]) - 1}` }).end();
    else if (request.url === '/plain') response.writeHead(302, { location: 'http://127.0.0.1/file' }).end();
    else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': 1_000_000 });
      response.write(content, () => request.socket.destroy());
    } else if (request.url === '/file') response.writeHead(200, { 'content-length': content.length }).end(content);
    else response.writeHead(404).end('none');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function fetchAll(path: string): Promise<Buffer> {
  const { stream } = await openExternalFile(base + path, { ca: cert }, never);
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a file that lies elsewhere', () => {
  it('is fetched over https, through redirects, with nothing in the request that is the platform’s', async () => {
    expect((await fetchAll('/hop/3')).equals(content)).toBe(true);
    expect(seen.map(({ url }) => url)).toEqual(['/hop/3', '/hop/2', '/hop/1', '/hop/0', '/file']);
    for (const { headers } of seen) expect(Object.keys(headers).sort()).toEqual(['accept', 'connection', 'host']);
  });

  it('is not followed to an address without https, nor for ever', async () => {
    await expect(openExternalFile(base.replace('https', 'http'), {}, never)).rejects.toMatchObject({ code: 'platform/settings' });
    await expect(fetchAll('/plain')).rejects.toMatchObject({ code: 'platform/settings', message: expect.stringContaining('not https') });
    await expect(fetchAll('/hop/9')).rejects.toMatchObject({ code: 'platform/settings' });
  });

  it('is tried again later when it is not there, or was cut', async () => {
    await expect(fetchAll('/nothing')).rejects.toMatchObject({ code: 'platform/busy', status: 404 });
    await expect(fetchAll('/cut')).rejects.toMatchObject({ code: 'platform/busy' });
  });

  it('is not fetched from a server whose certificate is not trusted, and its address is in no message', async () => {
    const error = await openExternalFile(`${base}/file?secret=1`, {}, never).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'platform/busy' });
    expect(String(error)).not.toContain('secret');
  });

  it('ends its connection when the caller ends early', async () => {
    const { stream } = await openExternalFile(`${base}/file`, { ca: cert }, never);
    for await (const _ of stream) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
    const open = await new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    expect(open).toBe(0);
  });
});
