/** One HTTP/2 connection to a platform that holds polls, goes away, refuses, changes its mind, falls silent, or allows little. */
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../src/host/clock.ts';
import { systemClock } from '../../src/host/clock.ts';
import { connectOverNetwork } from '../../src/platform/connections.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import type { HttpDeviceApiSettings } from '../../src/platform/platform-calls.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { answerPosts, type Http2Asked, http2Peer, PEER_CERTIFICATE } from '../support/http2-peer.ts';
import { rowsOf } from '../support/telemetry-rows.ts';

const RECORDS = rowsOf({ ts: 1, values: { a: 1 } });
const ACCEPTED = { kind: 'accepted' };
const open: { close(): unknown }[] = [];
let stop = new AbortController();

afterEach(async () => {
  stop.abort();
  stop = new AbortController();
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function peer(...options: Parameters<typeof http2Peer>) {
  const made = await http2Peer(...options);
  open.push(made);
  return made;
}

function client(
  url: string,
  settings: Partial<HttpDeviceApiSettings> = {},
  clock: Pick<Clock, 'monotonicMs' | 'after'> = systemClock,
) {
  const api = new HttpDeviceApi({
    settings: { url, ca: PEER_CERTIFICATE.cert, ...settings },
    token: () => 'token',
    clock: systemClock,
    connect: connectOverNetwork(clock),
  });
  open.push(api);
  return api;
}

/** Begins so many polls, and resolves when all of them stand at the server. */
async function standing(
  api: HttpDeviceApi,
  server: { polls(): Http2Asked[] },
  number: number,
): Promise<Promise<unknown>[]> {
  const before = server.polls().length;
  const polls = Array.from({ length: number }, () => api.pollRpc(60_000, stop.signal).catch((error: unknown) => error));
  await vi.waitFor(() => expect(server.polls().length - before).toBe(number), { timeout: 5_000 });
  return polls;
}

function upload(api: HttpDeviceApi) {
  return api.postTelemetry(RECORDS, stop.signal);
}

describe('one connection', () => {
  it('carries uploads, calls, polls and downloads', async () => {
    const server = await peer({}, (asked) => {
      if (asked.path.includes('firmware')) asked.stream.respond({ ':status': 200 });
      if (asked.path.includes('firmware')) asked.stream.end('image');
      else answerPosts(asked);
    });
    const api = client(server.url);
    await standing(api, server, 2);
    expect(await upload(api)).toEqual(ACCEPTED);
    const { stream } = await api.getFirmware({ title: 't', version: '1' }, stop.signal);
    const pieces: Uint8Array[] = [];
    for await (const piece of stream) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe('image');
    expect(server.sessions.length).toBe(1);
  });

  it('counts the bytes of its one socket', async () => {
    const server = await peer();
    const api = client(server.url);
    for (let times = 0; times < 3; times += 1) expect(await upload(api)).toEqual(ACCEPTED);
    const before = api.traffic;
    expect(before.sentBytes).toBe(server.sockets[0]?.bytesRead);
    await api.close();
    await vi.waitFor(() => expect(server.sockets[0]?.destroyed).toBe(true));
    expect(api.traffic.sentBytes).toBeGreaterThanOrEqual(before.sentBytes);
  });

  it('answers a POST beside 90 standing polls, and takes a second connection for more polls than leave eight streams free', async () => {
    const server = await peer({ settings: { maxConcurrentStreams: 100 } });
    const api = client(server.url);
    await standing(api, server, 90);
    expect(await upload(api)).toEqual(ACCEPTED);
    expect(server.sessions.length).toBe(1);
    await standing(api, server, 3);
    expect(server.sessions.length).toBe(2);
    expect(server.polls().filter(({ session }) => session === server.sessions[0]).length).toBe(92);
    expect(await Promise.all(Array.from({ length: 20 }, () => upload(api)))).toEqual(
      Array.from({ length: 20 }, () => ACCEPTED),
    );
    expect(
      server.asked.filter(({ session, path }) => session === server.sessions[0] && path.endsWith('telemetry')).length,
    ).toBeGreaterThan(8);
  });

  it.each([1, 3, 9])('leaves uploads a way where a connection may have %d streams', async (maxConcurrentStreams) => {
    const server = await peer({ settings: { maxConcurrentStreams } });
    const api = client(server.url);
    await standing(api, server, 2);
    for (let times = 0; times < 3; times += 1) expect(await upload(api)).toEqual(ACCEPTED);
    expect(server.sessions.length).toBeLessThanOrEqual(3);
  });

  it('takes changed settings as they come', async () => {
    const server = await peer({ settings: { maxConcurrentStreams: 100 } });
    const api = client(server.url);
    await standing(api, server, 2);
    await new Promise<void>((resolve) => server.sessions[0]?.settings({ maxConcurrentStreams: 10 }, () => resolve()));
    await standing(api, server, 1);
    expect(server.sessions.length).toBe(2);
    expect(await upload(api)).toEqual(ACCEPTED);
  });

  it('is not starved by a download that nobody reads', async () => {
    const server = await peer({}, (asked) => {
      if (!asked.path.includes('firmware')) return answerPosts(asked);
      asked.stream.respond({ ':status': 200 });
      const pump = (): void => {
        while (!asked.stream.destroyed && asked.stream.write(Buffer.alloc(65_536)));
      };
      asked.stream.on('drain', pump);
      pump();
    });
    const api = client(server.url);
    for (let downloads = 0; downloads < 3; downloads += 1) {
      const { stream } = await api.getFirmware({ title: 't', version: '1' }, stop.signal);
      await stream[Symbol.asyncIterator]().next();
    }
    for (let times = 0; times < 10; times += 1) expect(await upload(api)).toEqual(ACCEPTED);
    expect(server.sessions.length).toBe(1);
  });
});

describe('a server that goes away', () => {
  it('ends its connection after what stands (GOAWAY): the next request has another', async () => {
    const server = await peer();
    const api = client(server.url);
    const [poll] = await standing(api, server, 1);
    server.sessions[0]?.goaway(0);
    await new Promise<void>((resolve) => server.sessions[0]?.ping(() => resolve()));
    expect(await upload(api)).toEqual(ACCEPTED);
    expect(server.sessions.length).toBe(2);
    server.polls()[0]?.stream.respond({ ':status': 408 }, { endStream: true });
    expect(await poll).toBeUndefined();
  });

  it('is sent again what it has not looked at, and nothing else', async () => {
    const server = await peer({}, (asked) => {
      // It has looked at the stream before this one.
      if (asked.stream.id === 3) asked.session.goaway(0, 1);
      else answerPosts(asked);
    });
    const api = client(server.url);
    expect(await upload(api)).toEqual(ACCEPTED);
    expect(await upload(api)).toEqual(ACCEPTED);
    expect(server.asked.map(({ session }) => server.sessions.indexOf(session))).toEqual([0, 0, 1]);
  });

  it('is sent again at once what it refuses (REFUSED_STREAM), some times', async () => {
    let left = 2;
    const server = await peer({}, (asked) => {
      if (left-- > 0) asked.stream.close(7);
      else answerPosts(asked);
    });
    const api = client(server.url);
    expect(await upload(api)).toEqual(ACCEPTED);
    expect([server.asked.length, server.sessions.length]).toEqual([3, 1]);
    left = 100;
    expect(await upload(api)).toMatchObject({ kind: 'busy' });
    expect(server.asked.length).toBe(6);
  });

  it.each([2, 8])('makes it busy, once, when it ends the stream with code %d', async (code) => {
    const server = await peer({}, ({ stream }) => stream.close(code));
    const answer = await upload(client(server.url));
    expect(answer).toMatchObject({ kind: 'busy', cut: true });
    expect(JSON.stringify(answer)).not.toContain('token');
    expect(server.asked.length).toBe(1);
  });

  it.each<[string, (asked: Http2Asked) => void]>([
    ['its stream', ({ stream }) => stream.destroy(new Error('no more'))],
    ['its connection', ({ session }) => session.destroy()],
    ['fewer bytes than it has named', ({ stream }) => stream.end()],
  ])('with an answer that is cut is not taken for one that is whole: %s', async (_what, cut) => {
    const server = await peer({}, (asked) => {
      asked.stream.respond({ ':status': 200, 'content-type': 'application/json', 'content-length': '100' });
      asked.stream.write('{"shared":{"a":1}}', () => setImmediate(cut, asked));
    });
    await expect(client(server.url).getAttributes({}, stop.signal)).rejects.toMatchObject({ code: 'platform/busy' });
  });

  it('and comes back is found again', async () => {
    const first = await peer();
    const api = client(first.url);
    const [poll] = await standing(api, first, 1);
    first.close();
    expect(await poll).toMatchObject({ code: 'platform/busy' });
    const second = await peer({ port: first.port });
    expect(await upload(api)).toEqual(ACCEPTED);
    expect(second.sessions.length).toBe(1);
  });

  it('from each new connection is not asked without end', async () => {
    const server = await peer();
    server.server.on('session', (session) => session.goaway(0, 0));
    expect(await upload(client(server.url))).toMatchObject({ kind: 'busy' });
    expect(server.sessions.length).toBeLessThanOrEqual(4);
  });

  it('closing an idle connection costs nothing', async () => {
    const server = await peer();
    const api = client(server.url);
    expect(await upload(api)).toEqual(ACCEPTED);
    server.sessions[0]?.close();
    await vi.waitFor(() => expect(server.sockets[0]?.destroyed).toBe(true));
    expect(await upload(api)).toEqual(ACCEPTED);
    expect(server.sessions.length).toBe(2);
  });
});

describe('a connection with nobody at its other end', () => {
  /** A wire that can be cut without anybody being told. */
  async function wire(toPort: number) {
    const ends: Socket[] = [];
    const server = createTcpServer((near) => {
      const far = connectTcp(toPort, '127.0.0.1');
      for (const end of [near, far]) ends.push(end.on('error', () => {}));
      near.pipe(far);
      far.pipe(near);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const cut = (): void => {
      for (const end of ends.splice(0)) end.unpipe().pause();
    };
    open.push({ close: () => server.close() });
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
  }

  it('is ended when a PING is not answered, and its polls go on by another', async () => {
    const server = await peer();
    const { url, cut } = await wire(server.port);
    const clock = new FakeClock();
    const api = client(url, {}, clock);
    const [poll] = await standing(api, server, 1);
    await clock.advance(5_000);
    cut();
    await clock.advance(120_000);
    const second = await standing(api, server, 1);
    expect(server.sessions.length).toBe(2);
    await clock.advance(15_000);
    expect(await poll).toMatchObject({ code: 'platform/busy' });
    expect(second.length).toBe(1);
  });

  it('is doubted as soon as an upload has no answer for ten seconds', async () => {
    const server = await peer();
    const { url, cut } = await wire(server.port);
    const clock = new FakeClock();
    const api = client(url, {}, clock);
    expect(await upload(api)).toEqual(ACCEPTED);
    cut();
    const lost = upload(api);
    await clock.advance(15_000);
    expect(await upload(api)).toEqual(ACCEPTED);
    await clock.advance(15_000);
    expect(await lost).toMatchObject({ kind: 'busy' });
  });

  it('that answers its PING is used again', async () => {
    const server = await peer();
    const clock = new FakeClock();
    const api = client(server.url, {}, clock);
    await standing(api, server, 1);
    const pinged = new Promise((resolve) => server.sessions[0]?.once('ping', resolve));
    await clock.advance(130_000);
    await pinged;
    await vi.waitFor(async () => {
      expect(await upload(api)).toEqual(ACCEPTED);
      expect(server.asked.at(-1)?.session).toBe(server.sessions[0]);
    });
    await clock.advance(15_000);
    expect(server.sessions[0]?.destroyed).toBe(false);
  });
});

describe('bounds', () => {
  it('refuses endless headers', async () => {
    const server = await peer({}, ({ stream }) =>
      stream.respond({ ':status': 200, 'x-big': 'x'.repeat(30_000) }, { endStream: true }),
    );
    expect(await upload(client(server.url))).toMatchObject({ kind: 'busy' });
  });

  it('ends a stream of hints without end', async () => {
    let hints = 0;
    const server = await peer({}, ({ stream }) => {
      const more = (): void => {
        if (stream.destroyed || hints > 5_000) return;
        hints += 1;
        stream.additionalHeaders({ ':status': 103 });
        setImmediate(more);
      };
      more();
    });
    expect(await upload(client(server.url))).toMatchObject({ kind: 'busy' });
    expect(hints).toBeLessThan(5_000);
  });

  it('ends a connection that sends PING after PING', async () => {
    const server = await peer({}, ({ session }) => {
      for (let pings = 0; pings < 200; pings += 1) session.ping(() => {});
    });
    expect(await upload(client(server.url))).toMatchObject({ kind: 'busy' });
  });
});

describe('the session of TLS', () => {
  it.each(['TLSv1.2', 'TLSv1.3'] as const)('is resumed by the next connection (%s)', async (version) => {
    const server = await peer({ minVersion: version, maxVersion: version });
    const api = client(server.url);
    for (let connections = 1; connections <= 3; connections += 1) {
      expect(await upload(api)).toEqual(ACCEPTED);
      server.sessions.at(-1)?.close();
      await vi.waitFor(() => expect(server.sockets[connections - 1]?.destroyed).toBe(true));
    }
    expect(server.resumed).toEqual([false, true, true]);
  });
});
