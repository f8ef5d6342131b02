/** Devices that answer over HTTP, on real sockets. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { configOf, SMALLEST } from '../../../test/support/config-file.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import { linuxPorts } from '../../hardware/linux-ports.ts';
import type { Ports } from '../../hardware/ports.ts';
import { systemClock } from '../../host/clock.ts';
import { systemFiles } from '../../host/files.ts';
import { silentLog } from '../../host/log.ts';
import { makeCertificate } from '../../host/self-signed-certificate.ts';
import type { Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { authorization, parseChallenge } from './digest-login.ts';
import { open } from './driver.ts';

const { signal } = new AbortController();
const clean: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of clean.splice(0)) await undo();
});

const depsOf = (ports: Ports): SensorDeps => ({
  ...OF_THIS_MACHINE,
  ports,
  clock: systemClock,
  files: systemFiles,
  log: silentLog,
  stateFolder: '/',
});

type Handler = (request: IncomingMessage, answer: ServerResponse) => void;

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  clean.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const device = (handler: Handler): Promise<number> => listen(createServer(handler));

async function sensor(url: string, more: Readonly<Record<string, unknown>> = {}): Promise<Sensor> {
  const ports = linuxPorts(systemClock, 'auto');
  clean.push(() => ports.close());
  return await open(sensorConfig({ name: 'meter', kind: 'http', url, ...more }), depsOf(ports), signal);
}

const STATUS = JSON.stringify({
  'em:0': { a_voltage: 230.1, total_act_power: -512.5 },
  'switch:0': { output: true, temperature: { tC: 41.2 } },
  emeters: [{ power: 1 }, { power: 2 }],
  energy: 18446744073709551615n.toString(),
  none: null,
}).replace('"18446744073709551615"', '18446744073709551615');

describe('an HTTP device', () => {
  it.each([
    ['NaN', { paths: { a: 'a', b: 'b' } }],
    ['NaN', {}],
    ['-Infinity', { paths: { a: 'a', b: 'b' } }],
    ['-Infinity', {}],
  ])('that says %s for one value gives the others, with %j', async (none, words) => {
    const port = await device((_request, answer) => answer.end(`{"a": ${none}, "b": 2, "c": "NaN"}`));
    const readings = await (await sensor(`http://127.0.0.1:${port}/`, words)).read(signal);
    const numbers = readings.filter(({ key }) => key !== 'c');
    expect(numbers.map(({ key, value }) => [key, value])).toEqual([['b', 2]]);
  });

  it('gives many keys of one answer, by paths', async () => {
    const asked: string[] = [];
    const port = await device((request, answer) => {
      asked.push(`${request.method} ${request.url} ${request.headers['x-key']}`);
      answer.end(STATUS);
    });
    const meter = await sensor(`http://127.0.0.1:${port}/rpc/Status?id=0`, {
      headers: { 'X-Key': 'k1' },
      paths: {
        power: '$.em:0.total_act_power',
        on: '["switch:0"].output',
        second: 'emeters[1].power',
        energy: 'energy',
        none: 'none',
        gone: 'a.b',
      },
    });
    expect(await meter.read(signal)).toEqual([
      { key: 'power', value: -512.5 },
      { key: 'on', value: true },
      { key: 'second', value: 2 },
      { key: 'energy', value: 18446744073709551615n },
    ]);
    expect(meter.refused?.().map(({ key, fault }) => [key, fault.message])).toEqual([
      ['none', 'the answer has nothing at none'],
      ['gone', 'the answer has nothing at a.b'],
    ]);
    expect(asked).toEqual(['GET /rpc/Status?id=0 k1']);
  });

  it('gives each member of a flat answer, and reads text by a pattern', async () => {
    const port = await device((request, answer) =>
      answer.end(request.url === '/t' ? 'heading\ntempf=71.6&humidity=40\n' : '{"a":1,"b":"x"}'),
    );
    expect(await (await sensor(`http://127.0.0.1:${port}/`)).read(signal)).toEqual([
      { key: 'a', value: 1 },
      { key: 'b', value: 'x' },
    ]);
    const text = await sensor(`http://127.0.0.1:${port}/t`, {
      format: 'regex',
      pattern: 'tempf=(?<t>[0-9.]+)&humidity=(?<h>\\d+)',
    });
    expect(await text.read(signal)).toEqual([
      { key: 't', value: 71.6, text: '71.6' },
      { key: 'h', value: 40, text: '40' },
    ]);
  });

  it.each([
    ['{"a":1e999,"b":2}', {}],
    ['{"a":-1e999,"b":2}', { paths: { a: 'a', b: 'b' } }],
  ])('refuses a number that is larger than can be held: %s', async (body, more) => {
    const port = await device((_request, answer) => void answer.end(body));
    const meter = await sensor(`http://127.0.0.1:${port}/`, more);
    expect(await meter.read(signal)).toEqual([{ key: 'b', value: 2 }]);
    expect(meter.refused?.()).toMatchObject([{ key: 'a', fault: { message: 'a number larger than can be held' } }]);
  });

  it('posts a body', async () => {
    const port = await device(async (request, answer) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      answer.end(JSON.stringify({ method: request.method, got: Buffer.concat(pieces).toString() }));
    });
    const meter = await sensor(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{"q":"ü"}' });
    expect(await meter.read(signal)).toEqual([
      { key: 'method', value: 'POST' },
      { key: 'got', value: '{"q":"ü"}' },
    ]);
  });

  it.each([
    'Digest realm="shelly", qop="auth", nonce="60dc2c69", algorithm=SHA-256',
    'Digest realm="x", nonce="1"',
    'Basic realm="x"',
  ])('gives its password when it is asked for it, and then with each request: %s', async (challenge) => {
    const login = { user: 'admin', password: 'secret "1"' };
    let asked = 0;
    const counts: string[] = [];
    const port = await device((request, answer) => {
      const given = request.headers.authorization ?? '';
      const [, count = '00000001'] = /nc=([0-9a-f]{8})/.exec(given) ?? [];
      const [, clientNonce = ''] = /cnonce="([^"]+)"/.exec(given) ?? [];
      const known = parseChallenge(challenge);
      const right =
        known &&
        authorization(known, login, {
          method: 'GET',
          target: '/x?y=1',
          count: Number.parseInt(count, 16),
          clientNonce,
        });
      if (given !== right) {
        asked += 1;
        answer.writeHead(401, { 'www-authenticate': challenge }).end();
        return;
      }
      counts.push(count);
      answer.end('{"ok":true}');
    });
    const meter = await sensor(`http://127.0.0.1:${port}/x?y=1`, login);
    for (let n = 0; n < 3; n += 1) expect(await meter.read(signal)).toEqual([{ key: 'ok', value: true }]);
    expect(asked).toBe(1);
    expect(new Set(counts).size).toBe(challenge.includes('qop') ? 3 : 1);
    const wrong = await sensor(`http://127.0.0.1:${port}/x?y=1`, { user: 'admin', password: 'no' });
    await expect(wrong.read(signal)).rejects.toThrow(`127.0.0.1:${port} answers 401: user or password is wrong`);
  });

  it('says in words what is wrong, without the address that may hold a key', async () => {
    const port = await device((request, answer) => {
      if (request.url === '/moved') answer.writeHead(302, { location: 'http://127.0.0.2/' }).end();
      else if (request.url === '/gone?apikey=k') answer.writeHead(404).end();
      else if (request.url === '/long') answer.end('x'.repeat(500));
      else if (request.url === '/cut')
        answer.writeHead(200, { 'content-length': '100' }).write('{"a"', () => request.socket.destroy());
      else if (request.url === '/silent') return;
      else answer.end('<html>');
    });
    const failing = async (path: string, more: Readonly<Record<string, unknown>> = {}): Promise<Error> => {
      const meter = await sensor(`http://127.0.0.1:${port}${path}`, more);
      return await meter.read(AbortSignal.timeout(300)).then(
        () => new Error('no fault'),
        (error: Error) => error,
      );
    };
    const host = `127.0.0.1:${port}`;
    expect((await failing('/moved')).message).toBe(
      `${host} answers 302: it leads to another address, which is to be given instead`,
    );
    expect((await failing('/gone?apikey=k')).message).toBe(`${host} answers 404: it has no such address`);
    expect((await failing('/long', { maxBody: '100B' })).message).toBe(`${host} answers with more than 100 bytes`);
    expect((await failing('/cut')).message).toMatch(/^127\.0\.0\.1:\d+ hung up$/);
    expect((await failing('/silent')).message).toMatch(/waiting for 127\.0\.0\.1/);
    expect((await failing('/html', { paths: { a: 'a' } })).message).toBe('an answer that is no JSON: "<html>"');
    const closed = await sensor('http://127.0.0.1:1/');
    await expect(closed.read(signal)).rejects.toMatchObject({
      code: 'hardware/http-no-answer',
      message: '127.0.0.1:1 refuses the connection',
    });
  });

  it('believes a device’s own certificate when it is given, and no other', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-http-'));
    clean.push(() => rm(folder, { recursive: true }));
    const nowMs = systemClock.wallMs();
    const { key, cert } = makeCertificate({
      names: ['meter.local'],
      fromMs: nowMs - 60_000,
      untilMs: nowMs + 3_600_000,
    });
    const caFile = join(folder, 'meter.pem');
    await writeFile(caFile, cert);
    const port = await listen(
      createTlsServer({ key, cert }, (_request, answer) => void answer.end('{"a":1}')) as unknown as Server,
    );
    const url = `https://127.0.0.1:${port}/`;
    await expect((await sensor(url)).read(signal)).rejects.toThrow(/has a certificate of its own: give it as caFile/);
    await expect((await sensor(url, { caFile })).read(signal)).rejects.toThrow(
      /certificate for another name: give that as serverName/,
    );
    expect(await (await sensor(url, { caFile, serverName: 'meter.local' })).read(signal)).toEqual([
      { key: 'a', value: 1 },
    ]);
    expect(await (await sensor(url, { insecure: true })).read(signal)).toEqual([{ key: 'a', value: 1 }]);
    const plain = await device((_request, answer) => answer.end());
    await expect((await sensor(`https://127.0.0.1:${plain}/`)).read(signal)).rejects.toThrow(/does not speak TLS/);
  });

  it('is refused by check-config where its options say nothing', async () => {
    const of = (more: string): Promise<unknown> => configOf(`${SMALLEST}sensors: [{ name: m, kind: http, ${more} }]`);
    await expect(of('url: "http://a/x?y=1", paths: { p: "a[0].b" }')).resolves.toBeDefined();
    await expect(of('url: "http://u:p@a/"')).rejects.toThrow(/user: and password: are options/);
    await expect(of('url: "http://a/", paths: { p: "a[" }')).rejects.toThrow(/no path/);
    await expect(of('url: "http://a/", user: u')).rejects.toThrow(/one without the other/);
    await expect(of('url: "http://a/", serverName: b')).rejects.toThrow(/serverName has no effect/);
    await expect(of('url: "http://a/", body: b')).rejects.toThrow(/body has no effect/);
  });
});

it.each([
  ['Digest realm="Digest of the Basic meter", nonce="n1", qop="auth"', 'Digest of the Basic meter', 'n1'],
  ['Basic realm="Basic, or Digest nonce=\\"x\\"", Digest realm="a, Basic b", nonce="n2"', 'a, Basic b', 'n2'],
  ['Digest nonce = n3 , realm="NTLM Negotiate",algorithm=MD5, Basic realm="x"', 'NTLM Negotiate', 'n3'],
  ['Negotiate, NTLM dG9rZW4==, digest realm="last" , nonce="n4"', 'last', 'n4'],
])('reads the challenge of a device whose realm holds the word of a scheme: %s', (header, realm, nonce) => {
  expect(parseChallenge(header)).toMatchObject({ scheme: 'digest', realm, nonce, algorithm: 'MD5' });
});

it.each([
  ['Basic realm="Digest nonce=\\"x\\""', { scheme: 'basic' }],
  ['Bearer realm="Basic"', undefined],
  ['Bearer realm="Digest meter", scope="Basic"', undefined],
])('takes no scheme from inside of a quoted text: %s', (header, challenge) => {
  expect(parseChallenge(header)).toEqual(challenge);
});

describe('content codings', () => {
  const text = '{"power":-412.5}';
  const served = async (coding: string, body: Buffer): Promise<Sensor> => {
    const port = await listen(
      createServer((_request, answer) => answer.writeHead(200, { 'content-encoding': coding }).end(body)),
    );
    return sensor(`http://127.0.0.1:${port}/`);
  };

  it.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['GZIP, identity', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['identity', Buffer.from(text)],
  ])('are undone, also when nobody asked for them: %s', async (coding, body) => {
    expect(await (await served(coding, body)).read(signal)).toEqual([{ key: 'power', value: -412.5 }]);
  });

  it.each([
    ['br', Buffer.from(text), 'sends its answer as br, which is not read here'],
    ['gzip', Buffer.from(text), 'sends an answer that is not gzip as it says'],
    ['gzip', gzipSync(`{"power":1${' '.repeat(4_000_000)}}`), 'answers with more than'],
  ])('are named when they cannot be undone: %s', async (coding, body, words) => {
    await expect((await served(coding, body)).read(signal)).rejects.toThrow(words);
  });
});
