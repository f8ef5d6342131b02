/** The client against servers that mean it no good: bounded in time and memory, and the token goes nowhere. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import type { HttpDeviceApiSettings } from '../../../src/platform/platform-calls.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';

const TOKEN = 'SecretTokenOfThisDevice';
const never = new AbortController().signal;
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return server;
}

function client(
  server: Pick<Server, 'address'>,
  settings: Partial<HttpDeviceApiSettings> = {},
  token = (): string => TOKEN,
): HttpDeviceApi {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api = new HttpDeviceApi({ settings: { url, ...settings }, token, clock: systemClock });
  open.push(api);
  return api;
}

const RECORDS = rowsOf({ ts: 1, values: { a: 1 } });

describe('time', () => {
  it('ends a call at its deadline when nothing comes', async () => {
    const server = await serve(() => {});
    const answer = await client(server, { requestTimeoutMs: 200 }).postTelemetry(RECORDS, never);
    expect(answer).toEqual({ kind: 'busy', text: 'no answer from the platform within 200 ms', cut: true });
  });

  it('ends a call at its deadline when the answer drips', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    });
    await expect(client(server, { requestTimeoutMs: 300 }).getAttributes({}, never)).rejects.toMatchObject({
      code: 'platform/busy',
    });
  });

  it('ends a call when its signal aborts', async () => {
    const server = await serve(() => {});
    const stop = new AbortController();
    const call = client(server).getAttributes({}, stop.signal);
    setTimeout(() => stop.abort(), 50);
    await expect(call).rejects.toMatchObject({ code: 'platform/aborted', recovery: 'retry' });
  });

  it('leaves no listener on a signal that lives longer than the call', async () => {
    const server = await serve((_request, response) => response.end());
    const api = client(server);
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    for (let call = 0; call < 5; call += 1) await api.postTelemetry(RECORDS, signal);
    expect(listeners).toBe(0);
  });
});

describe('size', () => {
  it('cuts an endless answer and ends its connection', async () => {
    let sent = 0;
    const closed: Promise<void>[] = [];
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      closed.push(new Promise((resolve) => response.on('close', resolve)));
      const pump = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536;
      };
      response.on('drain', pump);
      pump();
    });
    await expect(client(server).getAttributes({}, never)).rejects.toMatchObject({ code: 'platform/bad-answer' });
    await Promise.all(closed);
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  it.each([
    [
      'an endless extension of a chunk',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;x=',
      'x'.repeat(65_536),
    ],
    ['early hints without end', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2_000)],
  ])('ends %s long before its deadline', async (_what, head, more) => {
    let sent = 0;
    const server = createTcpServer((socket) => {
      open.push({ close: () => socket.destroy() });
      const pump = (): void => {
        while (!socket.destroyed && socket.write(more)) sent += more.length;
      };
      socket.on('error', () => {}).on('drain', pump);
      socket.once('data', () => {
        socket.write(head);
        pump();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(server);
    const verdict = await client(server, { requestTimeoutMs: 60_000 }).postTelemetry(RECORDS, never);
    expect(verdict).toMatchObject({ kind: 'busy' });
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it('refuses endless headers', async () => {
    const server = await serve((_request, response) => {
      response.setHeader('x-big', 'x'.repeat(30_000));
      response.end();
    });
    expect(await client(server).postTelemetry(RECORDS, never)).toMatchObject({ kind: 'busy' });
  });

  it('survives bytes that are no HTTP at all', async () => {
    const server = createTcpServer((socket) => {
      open.push({ close: () => socket.destroy() });
      socket.on('error', () => {});
      socket.end('SSH-2.0-OpenSSH_9.2\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(server);
    expect(await client(server).postTelemetry(RECORDS, never)).toMatchObject({ kind: 'busy' });
  });
});

describe('the token', () => {
  it('goes to no other host when the server redirects there', async () => {
    const seen: string[] = [];
    const other = await serve((request, response) => {
      seen.push(request.url ?? '');
      response.end();
    });
    const port = (other.address() as AddressInfo).port;
    const server = await serve((request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${port}${request.url}` }).end();
    });
    const api = client(server);
    expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'portal', status: 307 });
    await expect(api.getAttributes({}, never)).rejects.toMatchObject({ code: 'platform/portal', recovery: 'hold' });
    await expect(api.pollRpc(1000, never)).rejects.toMatchObject({ code: 'platform/portal' });
    await expect(api.getFirmware({ title: 'a', version: '1' }, never)).rejects.toMatchObject({
      code: 'platform/portal',
    });
    expect(seen).toEqual([]);
  });

  it('is in no error, nor its cause, nor its stack: connection refused', async () => {
    const server = await serve(() => {});
    const api = client(server);
    await new Promise((resolve) => server.close(resolve));
    const error = await api.getAttributes({}, never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'platform/busy' });
    expect(String((error as Error).message)).toContain('ECONNREFUSED');
    expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/SecretToken|http:\/\//);
  });

  it('is in no error when the server cuts the connection or echoes the path', async () => {
    const server = await serve((request, response) => {
      if (request.method === 'POST') response.destroy();
      else response.writeHead(400).end(`no handler for http://127.0.0.1${request.url}`);
    });
    const api = client(server);
    const upload = await api.postTelemetry(RECORDS, never);
    const error = await api.getAttributes({}, never).catch((thrown: unknown) => thrown);
    expect(upload).toMatchObject({ kind: 'busy' });
    expect(error).toMatchObject({ code: 'platform/refused' });
    expect(inspect([upload, error], { depth: 10, showHidden: true })).not.toMatch(/SecretToken|http:\/\//);
  });

  it('counts from the next call on when it is rotated', async () => {
    const seen: string[] = [];
    const server = await serve((request, response) => {
      seen.push(request.url ?? '');
      response.end();
    });
    let token = 'first';
    const api = client(server, {}, () => token);
    await api.postTelemetry(RECORDS, never);
    token = 'second/with space';
    await api.postTelemetry(RECORDS, never);
    expect(seen).toEqual(['/api/v1/first/telemetry', '/api/v1/second%2Fwith%20space/telemetry']);
  });
});

describe('answers of the wrong shape', () => {
  const answering = async (body: string): Promise<HttpDeviceApi> =>
    client(await serve((_request, response) => response.setHeader('content-type', 'application/json').end(body)));

  it.each([
    '{"id":"7","method":"x","params":{}}',
    '{"id":-1,"method":"x"}',
    '{"id":1.5,"method":"x"}',
    '{"id":9007199254740993,"method":"x"}',
    '{"id":7}',
    '{"id":7,"method":5}',
    '{"id":null,"method":"x"}',
    '[1]',
    '"x"',
    '7',
    'null',
    '{"id":1,"method":"x","params":',
  ])('an RPC of %j is a bad answer', async (body) => {
    await expect((await answering(body)).pollRpc(1000, never)).rejects.toMatchObject({
      code: 'platform/bad-answer',
      recovery: 'retry',
    });
  });

  it.each(['[]', '"x"', '{"client":5}', '{"shared":[]}'])('attributes of %j are a bad answer', async (body) => {
    await expect((await answering(body)).getAttributes({}, never)).rejects.toMatchObject({
      code: 'platform/bad-answer',
    });
  });

  it('an RPC without params has null, and id 0 is a real id', async () => {
    expect(await (await answering('{"id":0,"method":"x"}')).pollRpc(1000, never)).toEqual({
      id: 0,
      method: 'x',
      params: null,
    });
  });

  it('a timeout message of any shape is nothing', async () => {
    for (const body of ['{"error":"timeout"}', '{}', ''])
      expect(await (await answering(body)).pollRpc(1000, never)).toBeUndefined();
  });

  it.each([408, 503, 504])('a poll that ends with %s brings nothing', async (status) => {
    const api = client(await serve((_request, response) => response.writeHead(status).end()));
    expect(await api.pollRpc(1000, never)).toBeUndefined();
    expect(await api.pollAttributes(1000, never)).toBeUndefined();
  });

  it.each([500, 502, 429])('a poll that ends with %s is an error', async (status) => {
    const api = client(await serve((_request, response) => response.writeHead(status).end()));
    await expect(api.pollRpc(1000, never)).rejects.toMatchObject({ code: 'platform/busy', status });
  });

  it.each<[string, unknown]>([
    ['{"a":1}', { changed: { a: 1 }, deleted: [] }],
    ['{"client":{"a":1}}', { changed: { a: 1 }, deleted: [] }],
    ['{"shared":{"a":1}}', { changed: { a: 1 }, deleted: [] }],
    ['{"deleted":["a",5,"b"]}', { changed: {}, deleted: ['a', 'b'] }],
    ['{"shared":5}', { changed: { shared: 5 }, deleted: [] }],
    ['{"__proto__":{"x":1}}', { changed: {}, deleted: [] }],
  ])('an update of %j is understood', async (body, update) => {
    expect(await (await answering(body)).pollAttributes(1000, never)).toEqual(update);
  });
});

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _chunk of stream);
}

describe('a firmware download', () => {
  it('ends as one that is silent when nobody reads it', async () => {
    let ended = 0;
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.on('close', () => {
        ended += 1;
      });
      const pump = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', pump);
      pump();
    });
    await client(server, { downloadSilenceMs: 200 }).getFirmware({ title: 'a', version: '1' }, never);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(ended).toBe(1);
  });

  it('fails when the connection is cut half way', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': '1000' });
      response.write('x'.repeat(100), () => response.destroy());
    });
    const { stream, lengthBytes } = await client(server).getFirmware({ title: 'a', version: '1' }, never);
    expect(lengthBytes).toBe(1000);
    await expect(readAll(stream)).rejects.toMatchObject({ code: 'platform/busy' });
  });

  it('is a portal when a page comes instead', async () => {
    const server = await serve((_request, response) =>
      response.setHeader('content-type', 'text/html; charset=utf-8').end('<html>'),
    );
    await expect(client(server).getFirmware({ title: 'a', version: '1' }, never)).rejects.toMatchObject({
      code: 'platform/portal',
    });
  });
});
