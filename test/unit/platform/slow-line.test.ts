/** Slow lines: a transfer that moves is not cut; one that hangs or trickles ends. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UploadAnswer } from '../../../src/platform/device-api.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { LineSpeed } from '../../../src/platform/line-speed.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';

const FAST = { interval: 1 };
const never = new AbortController().signal;
const SMALL = rowsOf({ ts: 1, values: { a: 1 } });
const LARGE = rowsOf({ ts: 1, values: { a: 'x'.repeat(60_000) } });

let waiting: ServerResponse[];
let server: Server;
let clock: FakeClock;
let api: HttpDeviceApi;

beforeEach(async () => {
  waiting = [];
  server = createServer((request, response) => {
    request.resume();
    request.on('end', () => waiting.push(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  clock = new FakeClock();
  api = new HttpDeviceApi({
    settings: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    token: () => 'tok',
    clock,
  });
});
afterEach(async () => {
  await api.close();
  server.closeAllConnections();
  server.close();
});

/** Begins an upload that takes so long, and is then answered unless it was cut before. */
async function upload(rows: typeof SMALL, tookMs: number): Promise<UploadAnswer> {
  const answer = api.postTelemetry(rows, never);
  let ended = false;
  void answer.then(() => {
    ended = true;
  });
  await expect.poll(() => waiting.length).toBe(1);
  await clock.advance(tookMs);
  const [response] = waiting.splice(0);
  if (!ended) response?.end();
  return answer;
}

describe('an upload', () => {
  it('of 60 kB has the two minutes that a line of 500 B/s needs, beside the time for an answer', async () => {
    expect(await upload(LARGE, 130_000)).toEqual({ kind: 'accepted' });
  });

  it('of a few bytes has the time for an answer only, and says that it was cut', async () => {
    expect(await upload(SMALL, 15_000)).toEqual({
      kind: 'busy',
      text: 'no answer from the platform within 15000 ms',
      cut: true,
    });
  });

  it('on a line that was quick is not given minutes, and is again once it got stuck there', async () => {
    expect(await upload(LARGE, 100)).toEqual({ kind: 'accepted' });
    expect(await upload(LARGE, 17_000)).toMatchObject({ kind: 'busy', cut: true });
    expect(await upload(LARGE, 130_000)).toEqual({ kind: 'accepted' });
  });

  it('that meets nobody was not cut', async () => {
    await new Promise((resolve) => server.close(resolve));
    const answer = await api.postTelemetry(SMALL, never);
    expect(answer).toMatchObject({ kind: 'busy', text: expect.stringContaining('ECONNREFUSED') });
    expect(answer).not.toHaveProperty('cut');
  });
});

describe('a long answer', () => {
  /** The answer comes piece by piece, each so many ms after the last. */
  async function read(pieces: readonly string[], everyMs: number): Promise<unknown> {
    const answer = api.getAttributes({}, never).catch((error: unknown) => error);
    await expect.poll(() => waiting.length).toBe(1);
    const [response] = waiting;
    response?.setHeader('content-type', 'application/json');
    for (const piece of pieces) {
      response?.write(piece);
      await clock.advance(0);
      // The bytes have to pass a real socket before time goes on.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await clock.advance(everyMs);
    }
    response?.end();
    return answer;
  }

  it('that keeps coming is waited for past the time for an answer', async () => {
    const piece = `"${'x'.repeat(10_000)}"`;
    expect(await read(['{"client":{"a":[', piece, `,${piece}`, `,${piece}`, ']}}'], 12_000)).toMatchObject({
      empty: false,
    });
  });

  it('that trickles is not', async () => {
    expect(await read(['{"client":{', ...Array<string>(40).fill(' ')], 1_000)).toMatchObject({ code: 'platform/busy' });
  });

  it('that keeps coming is not waited for longer than five minutes', async () => {
    const piece = `"${'x'.repeat(60_000)}",`;
    const pieces = [`{"client":{"a":[${piece}`, ...Array<string>(7).fill(piece), '1]}}'];
    expect(await read(pieces, 30_000)).toMatchObject({ empty: false });
    waiting.length = 0;
    expect(await read(pieces, 40_000)).toMatchObject({ code: 'platform/busy' });
  });
});

describe('a part of a firmware file', () => {
  it('has all the time it needs while it comes, and is asked for again when nothing came for a minute', async () => {
    const opening = api.getFirmware({ title: 'a', version: '1', sizeBytes: 1_000, chunk: 0 }, never);
    await expect.poll(() => waiting.length, FAST).toBe(1);
    const [response] = waiting;
    response?.writeHead(200, { 'content-type': 'application/octet-stream' }).write('x');
    const { stream } = await opening;
    let pieces = 0;
    const read = (async () => {
      for await (const _ of stream) pieces += 1;
    })();
    for (let minute = 1; minute <= 60; minute += 1) {
      // The wait for the next piece, and the next look at the connection's bytes.
      await expect.poll(() => [pieces, clock.pending], FAST).toEqual([minute, 2]);
      await clock.advance(59_999);
      if (minute < 60) response?.write('x');
    }
    const ended = expect(read).rejects.toMatchObject({
      code: 'platform/busy',
      cut: true,
      message: expect.stringContaining('for 60 s'),
    });
    await clock.advance(1);
    await ended;
    await expect.poll(() => clock.pending, FAST).toBe(0);
  });

  it('that does not begin is given a minute', async () => {
    const opening = api.getFirmware({ title: 'a', version: '1', sizeBytes: 1_000, chunk: 0 }, never);
    const ended = expect(opening).rejects.toMatchObject({ code: 'platform/busy', cut: true });
    await expect.poll(() => waiting.length, FAST).toBe(1);
    await clock.advance(60_000);
    await ended;
  });
});

describe('a body', () => {
  it('is given half an hour at most, however large it is', () => {
    const line = new LineSpeed();
    expect(line.extraMs(800_000)).toBeLessThan(30 * 60_000);
    for (const bytes of [1e6, 1e9]) expect(line.extraMs(bytes)).toBe(30 * 60_000);
  });
});
