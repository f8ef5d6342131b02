import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlClient } from '../../../src/control-socket/control-client.ts';
import { MAX_ANSWER_LENGTH } from '../../../src/control-socket/control-protocol.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { type SocketCalls, socketOperations } from '../../support/socket-operations.ts';

const never = new AbortController().signal;
let folder: string;
const closing: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-control-'));
});

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
  await rm(folder, { recursive: true, force: true });
});

async function serve(calls: SocketCalls & { readonly folder?: string } = {}): Promise<ControlServer> {
  const { methods = { move: (params) => ({ moved: params }) }, readMethods = { look: () => 'seen' } } = calls;
  const server = await ControlServer.open(
    {
      ...socketOperations({ methods, readMethods, readStreams: calls.readStreams }),
      folder: calls.folder ?? folder,
      clock: systemClock,
      files: systemFiles,
      log: silentLog,
    },
    never,
  );
  closing.push(server);
  return server;
}

async function connect(access?: 'control' | 'read'): Promise<ControlClient> {
  const client = await ControlClient.connect(access === undefined ? { folder } : { folder, access });
  closing.push(client);
  return client;
}

/** A caller without any manners. */
async function callerOf(name: string, request: string): Promise<Socket> {
  const socket = createConnection(join(folder, name));
  socket.on('error', () => {});
  closing.push({ close: async () => void socket.destroy() });
  await new Promise((resolve) => socket.once('connect', resolve));
  if (request !== '') socket.write(request);
  return socket;
}

describe('the control socket', () => {
  it('answers those who may change things, and lets others only look', async () => {
    await serve();
    const control = await connect();
    expect(control.access).toBe('control');
    expect(await control.request('move', { to: 1 })).toEqual({ moved: { to: 1 } });
    expect(await control.request('look')).toBe('seen');
    const read = await connect('read');
    expect(await read.request('look')).toBe('seen');
    await expect(read.request('move')).rejects.toMatchObject({
      code: 'control-socket/no-permission',
      message: expect.stringContaining('usermod -aG turnstone'),
    });
    await expect(read.request('fly')).rejects.toMatchObject({
      code: 'control-socket/unknown-method',
      message: expect.stringContaining('look'),
    });
  });

  it('is open to its group for control and to everyone for reading', async () => {
    await serve();
    expect((await stat(join(folder, 'control.sock'))).mode & 0o777).toBe(0o660);
    expect((await stat(join(folder, 'read.sock'))).mode & 0o777).toBe(0o666);
  });

  it('carries 64-bit integers unharmed', async () => {
    await serve({ methods: { echo: (params) => params.value ?? null } });
    const client = await connect();
    expect(await client.request('echo', { value: 9_007_199_254_740_993n })).toBe(9_007_199_254_740_993n);
  });

  it('hands over the code and the message of an error', async () => {
    const fault = new AgentError('actuators/locked-out', 'someone works on the machine', { recovery: 'drop' });
    await serve({ methods: { move: () => Promise.reject(fault) } });
    await expect((await connect()).request('move')).rejects.toMatchObject({
      code: 'actuators/locked-out',
      message: 'someone works on the machine',
    });
  });

  it('answers requests in the order in which they end', async () => {
    const slow = Promise.withResolvers<JsonValue>();
    await serve({ methods: { slow: () => slow.promise, fast: () => 'fast' } });
    const client = await connect();
    const first = client.request('slow');
    expect(await client.request('fast')).toBe('fast');
    slow.resolve('slow');
    expect(await first).toBe('slow');
  });

  it('ends a request at its deadline and tells the method', async () => {
    let told: AbortSignal | undefined;
    const hangAndTell = (signal: AbortSignal): Promise<never> => {
      told = signal;
      return new Promise(() => {});
    };
    await serve({ methods: { hang: (_params, signal) => hangAndTell(signal) } });
    const client = await connect();
    await expect(client.request('hang', {}, { deadlineMs: 50 })).rejects.toMatchObject({
      code: 'control-socket/deadline',
    });
    expect(told?.aborted).toBe(true);
  });

  it('waits for no answer once the person has seen enough', async () => {
    await serve({ readMethods: { slow: () => new Promise(() => {}) } });
    const stop = new AbortController();
    const client = await ControlClient.connect({ folder, interrupted: stop.signal });
    closing.push(client);
    const asked = client.request('slow');
    stop.abort();
    await expect(asked).rejects.toMatchObject({ code: 'control-socket/interrupted' });
  });

  it('streams events until the caller has seen enough', async () => {
    let ended = false;
    await serve({
      readStreams: {
        watch: async (_params, emit, signal) => {
          for (let count = 1; !signal.aborted; count += 1) {
            emit(count);
            await delay(2);
          }
          ended = true;
        },
      },
    });
    const client = await connect('read');
    const enough = new AbortController();
    const seen: JsonValue[] = [];
    await client.subscribe('watch', {}, (event) => seen.push(event) === 3 && enough.abort(), enough.signal);
    expect(seen.slice(0, 3)).toEqual([1, 2, 3]);
    await expect.poll(() => ended).toBe(true);
  });

  it('ends what a caller started when the caller goes away', async () => {
    let told: AbortSignal | undefined;
    const hangAndTell = (signal: AbortSignal): Promise<never> => {
      told = signal;
      return new Promise(() => {});
    };
    await serve({ methods: { hang: (_params, signal) => hangAndTell(signal) } });
    const client = await connect();
    const request = client.request('hang').catch((error: unknown) => error);
    await expect.poll(() => told).toBeDefined();
    await client.close();
    await expect.poll(() => told?.aborted).toBe(true);
    expect(await request).toMatchObject({ code: 'control-socket/lost' });
  });

  it('cuts off a caller whose line does not end', async () => {
    await serve();
    const socket = createConnection(join(folder, 'control.sock'));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.write('x'.repeat(300 * 1024));
    await closed;
    expect(await (await connect()).request('look')).toBe('seen');
  });

  it.each([
    'no json\n',
    '[1]\n',
    '{"method":"look"}\n',
    `${'['.repeat(5000)}\n`,
    '{"__proto__":{"id":1},"method":"look"}\n',
  ])('cuts off a caller that sends %j', async (line) => {
    await serve();
    const socket = createConnection(join(folder, 'read.sock'));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.resume();
    socket.write(line);
    await closed;
  });

  it('refuses a request whose id is under way, and takes the id again once it is not', async () => {
    const ends: PromiseWithResolvers<string>[] = [];
    const begin = (): Promise<string> => {
      ends.push(Promise.withResolvers<string>());
      return (ends.at(-1) as PromiseWithResolvers<string>).promise;
    };
    await serve({ methods: { slow: begin } });
    const ask = '{"id":1,"method":"slow"}\n';
    const caller = await callerOf('control.sock', ask);
    let heard = '';
    caller.on('data', (bytes: Buffer) => {
      heard += bytes;
    });
    const answers = (): unknown[] =>
      heard
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line));
    await expect.poll(() => ends.length).toBe(1);
    caller.write(ask);
    await expect
      .poll(answers)
      .toEqual([{ id: 1, error: { code: 'control-socket/refused', message: expect.stringContaining('this id') } }]);
    ends[0]?.resolve('first');
    await expect.poll(answers).toHaveLength(2);
    caller.write(ask);
    await expect.poll(() => ends.length).toBe(2);
    ends[1]?.resolve('second');
    await expect
      .poll(() => answers().slice(1))
      .toEqual([
        { id: 1, result: 'first' },
        { id: 1, result: 'second' },
      ]);
  });

  it('refuses more requests at once than anyone needs', async () => {
    await serve({ methods: { hang: () => new Promise(() => {}) } });
    const client = await connect();
    const answers = Array.from({ length: 17 }, () => client.request('hang').catch((error: unknown) => error));
    expect(await answers[16]).toMatchObject({ code: 'control-socket/refused' });
  });

  it('replaces the sockets that a crash left behind', async () => {
    await writeFile(join(folder, 'control.sock'), '');
    await serve();
    expect(await (await connect()).request('look')).toBe('seen');
  });

  it('does not take the sockets of an agent that runs', async () => {
    await serve();
    await expect(serve()).rejects.toMatchObject({ code: 'control-socket/in-use' });
    expect(await (await connect()).request('look')).toBe('seen');
  });

  it('says that no agent runs', async () => {
    await expect(connect()).rejects.toMatchObject({ code: 'control-socket/not-running', recovery: 'retry' });
  });

  it('says that command and agent are of different releases', async () => {
    const stranger = createServer((socket) => socket.write('{"turnstone":99}\n'));
    await new Promise<void>((resolve) => stranger.listen(join(folder, 'control.sock'), resolve));
    await expect(connect()).rejects.toMatchObject({ code: 'control-socket/version' });
    await new Promise((resolve) => stranger.close(resolve));
  });

  it('names a run folder whose path is too long for a socket', async () => {
    await expect(serve({ folder: join(folder, 'x'.repeat(120)) })).rejects.toMatchObject({
      code: 'control-socket/cannot-listen',
    });
  });
});

describe('a stream that has much to tell', () => {
  it('goes at the pace of its reader, and holds no more than the socket takes', async () => {
    let told = 0;
    await serve({
      readStreams: {
        much: async (_params, emit, signal) => {
          for (; told < 20_000 && !signal.aborted; told += 1) await emit('x'.repeat(1_000));
        },
      },
    });
    const socket = createConnection(join(folder, 'read.sock'));
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.pause();
    socket.write('{"id":1,"method":"much"}\n');
    await expect.poll(() => told).toBeGreaterThan(10);
    await delay(100);
    expect(told).toBeLessThan(5_000);
    socket.resume();
    await expect.poll(() => told, { timeout: 10_000 }).toBe(20_000);
    socket.destroy();
  });

  it('hands over an answer as long as is promised, and says of a longer one that it is too long', async () => {
    await serve({ readMethods: { big: ({ bytes }) => 'x'.repeat(Number(bytes)), look: () => 'seen' } });
    const client = await connect('read');
    expect(await client.request('big', { bytes: MAX_ANSWER_LENGTH - 1_000 })).toHaveLength(MAX_ANSWER_LENGTH - 1_000);
    await expect(client.request('big', { bytes: MAX_ANSWER_LENGTH })).rejects.toMatchObject({
      code: 'control-socket/too-long',
    });
    expect(await client.request('look')).toBe('seen');
  });

  it('keeps nothing of long answers that were taken, and takes as much at once as it promises', async () => {
    const warned: string[] = [];
    const hear = ({ message }: Error): number => warned.push(message);
    process.on('warning', hear);
    await serve({ readMethods: { big: () => 'x'.repeat(300_000) } });
    const client = await connect('read');
    for (let round = 0; round < 4; round += 1)
      await Promise.all(Array.from({ length: 16 }, () => client.request('big')));
    await client.request('big');
    process.off('warning', hear);
    expect(warned).toEqual([]);
  });

  it('does not hear who asks faster than it takes answers, and answers all of it once they are taken', async () => {
    await serve();
    const asks = 100_000;
    const deaf = await callerOf('read.sock', '');
    let answers = 0;
    let isCut = false;
    deaf.on('close', () => (isCut = true));
    deaf.pause();
    // The answers are more than may wait for all callers together.
    for (let n = 0; n < asks; n += 1) deaf.write('{"id":1,"method":"fly"}\n');
    await delay(300);
    deaf.on('data', (bytes: Buffer) => {
      for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) answers += 1;
    });
    deaf.resume();
    // And the greeting.
    await expect.poll(() => answers).toBe(asks + 1);
    expect(isCut).toBe(false);
  });

  it('cuts off who takes nothing of what it asks for', async () => {
    await serve({ readMethods: { big: () => 'x'.repeat(12 * 1024 * 1024), look: () => 'seen' } });
    const deaf = await callerOf('read.sock', [1, 2, 3].map((id) => `{"id":${id},"method":"big"}\n`).join(''));
    deaf.pause();
    const closed = new Promise((resolve) => deaf.once('close', resolve));
    await delay(300);
    deaf.resume();
    await closed;
    expect(await (await connect('read')).request('look')).toBe('seen');
  });

  it('counts what is at work, answered or not', async () => {
    let atWork = 0;
    const { promise, resolve } = Promise.withResolvers<null>();
    await serve({
      readMethods: {
        scan: () => {
          atWork += 1;
          return promise;
        },
      },
    });
    const client = await connect('read');
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        Array.from({ length: 16 }, () => client.request('scan', {}, { deadlineMs: 1 }).catch(() => null)),
      );
    expect(atWork).toBe(16);
    resolve(null);
  });

  it('makes room for who comes by ending who does nothing', async () => {
    await serve({ readMethods: { look: () => 'seen' } });
    const silent = await Promise.all(Array.from({ length: 70 }, () => callerOf('read.sock', '')));
    expect(silent).toHaveLength(70);
    expect(await (await connect('read')).request('look')).toBe('seen');
  });
});
