/** One HTTP/2 connection on a line that is slow, that falls silent in the middle of an answer, or that is left. */
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/host/clock.ts';
import { connectOverNetwork } from '../../src/platform/connections.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { answerPosts, http2Peer, PEER_CERTIFICATE } from '../support/http2-peer.ts';

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

function client(url: string, clock: Pick<Clock, 'monotonicMs' | 'after'> = systemClock) {
  const api = new HttpDeviceApi({
    settings: { url, ca: PEER_CERTIFICATE.cert },
    token: () => 'token',
    clock: systemClock,
    connect: connectOverNetwork(clock),
  });
  open.push(api);
  return api;
}

/** A line that holds what the client sends until it is let through, as the buffer of a modem does; `cut` loses everything from then on. */
async function line(toPort: number) {
  const held: Buffer[] = [];
  const ends: Socket[] = [];
  let isSlow = false;
  let far: Socket | undefined;
  const server = createTcpServer((near) => {
    const up = connectTcp(toPort, '127.0.0.1');
    far = up;
    for (const end of [near, up]) ends.push(end.on('error', () => {}));
    near.on('data', (data: Buffer) => (isSlow ? held.push(data) : up.write(data)));
    up.pipe(near);
    near.on('close', () => up.destroy());
    up.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({ close: () => server.close() });
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    slow: () => {
      isSlow = true;
    },
    /** Lets through so many bytes. */
    pass: (bytes: number): void => {
      let left = bytes;
      for (let next = held.shift(); next !== undefined && left > 0; next = held.shift()) {
        far?.write(next.subarray(0, left));
        if (next.length > left) held.unshift(next.subarray(left));
        left -= next.length;
        if (left <= 0) break;
      }
    },
    cut: (): void => {
      for (const end of ends.splice(0)) end.unpipe().pause();
    },
  };
}

describe('a slow line', () => {
  it('has time for a batch of 240 kB at 6 kB/s, whose server says nothing before the end', async () => {
    // As nginx does: the whole body may come at once, and nothing is said until it is there.
    const server = await peer({ settings: { initialWindowSize: 2 ** 31 - 1 } }, ({ stream }) => {
      stream.resume().on('end', () => stream.destroyed || stream.respond({ ':status': 200 }, { endStream: true }));
    });
    server.server.on('session', (session) => session.setLocalWindowSize(2 ** 31 - 1));
    const { url, slow, pass } = await line(server.port);
    const clock = new FakeClock();
    const api = client(url, clock);
    expect(await api.postTelemetry({ keys: ['a'], values: [1], ts: [1] }, stop.signal)).toEqual(ACCEPTED);
    slow();
    const keys = Array.from({ length: 6_000 }, (_, at) => `key-${at}`);
    const upload = api.postTelemetry(
      { keys, values: keys.map((key) => `${key} with a value`), ts: keys.map((_, at) => 1_780_000_000_000 + at) },
      stop.signal,
    );
    await sleep(100);
    for (let seconds = 0; seconds < 90; seconds += 1) {
      pass(6_000);
      await clock.advance(1_000);
      await sleep(5);
    }
    expect(await Promise.race([upload, sleep(2_000, 'nothing')])).toEqual(ACCEPTED);
    expect(server.sessions.length).toBe(1);
  });
});

describe('an answer without a length', () => {
  it.each([
    ['PING is not answered', 'cut'],
    ['the server ends the connection', 'destroy'],
  ] as const)('is not taken for whole when %s in its middle', async (_what, how) => {
    const server = await peer({}, (asked) => {
      if (!asked.path.includes('attributes')) return answerPosts(asked);
      asked.stream.respond({ ':status': 200, 'content-type': 'application/json' });
      asked.stream.write('{"shared":{"a":1}}');
    });
    const { url, cut } = await line(server.port);
    const clock = new FakeClock();
    const api = client(url, clock);
    const asked = api.getAttributes({}, stop.signal).catch((error: unknown) => error);
    await vi.waitFor(() => expect(server.asked.length).toBe(1));
    await sleep(200);
    if (how === 'cut') cut();
    else server.sockets[0]?.destroy();
    for (let seconds = 0; seconds < 40; seconds += 1) await clock.advance(1_000);
    expect(await Promise.race([asked, sleep(20_000, 'nothing')])).toMatchObject({ code: 'platform/busy' });
  });
});

describe('a connection that the server goes away from', () => {
  it('is ended with the others when all are closed', async () => {
    const server = await peer();
    const api = client(server.url);
    void api.pollRpc(60_000, stop.signal).catch(() => {});
    await vi.waitFor(() => expect(server.polls().length).toBe(1));
    server.sessions[0]?.goaway(0);
    await new Promise<void>((resolve) => server.sessions[0]?.ping(() => resolve()));
    expect(await api.postTelemetry({ keys: ['a'], values: [1], ts: [1] }, stop.signal)).toEqual(ACCEPTED);
    await api.close();
    await vi.waitFor(() => expect(server.sockets.map(({ destroyed }) => destroyed)).toEqual([true, true]), {
      timeout: 3_000,
    });
  });
});

describe('a connection that nothing is asked on', () => {
  it('between wakes is closed, or TCP’s questions on it are counted', async () => {
    const server = await peer();
    const clock = new FakeClock();
    const api = client(server.url, clock);
    expect(await api.postTelemetry({ keys: ['a'], values: [1], ts: [1] }, stop.signal)).toEqual(ACCEPTED);
    const carried = (): number => Object.values(api.traffic.lanes ?? {}).reduce((sum, one) => sum + one, 0);
    const before = carried();
    for (let hours = 0; hours < 24; hours += 1) await clock.advance(3_600_000);
    await sleep(300);
    // 104 B each 25 s: 359 kB a day.
    if (server.sockets[0]?.destroyed !== true) expect(carried() - before).toBeGreaterThan(300_000);
  });
});

describe('a session of TLS that a server does not want any more', () => {
  it('is forgotten after a handshake that failed', async () => {
    const server = await peer({ maxVersion: 'TLSv1.2' });
    let hellos: number[] = [];
    // The ticket makes the first message longer by its length: such ones are cut off.
    let isStrict = false;
    const front = createTcpServer((near) => {
      near.on('error', () => {});
      near.once('data', (hello: Buffer) => {
        hellos.push(hello.length);
        if (isStrict && hello.length > (hellos[0] ?? 0) + 32) return void near.destroy();
        const up = connectTcp(server.port, '127.0.0.1').on('error', () => {});
        up.write(hello);
        near.pipe(up);
        up.pipe(near);
        near.on('close', () => up.destroy());
        up.on('close', () => near.destroy());
      });
    });
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
    open.push({ close: () => front.close() });
    const api = client(`https://127.0.0.1:${(front.address() as AddressInfo).port}`);
    const post = () => api.postTelemetry({ keys: ['a'], values: [1], ts: [1] }, stop.signal);
    expect(await post()).toEqual(ACCEPTED);
    isStrict = true;
    hellos = hellos.slice(0, 1);
    server.sockets[0]?.destroy();
    await sleep(100);
    await post();
    await sleep(5_000);
    const last = await post();
    expect(last).toEqual(ACCEPTED);
  });
});
