/** Count of the network's bytes where connections are silent, are shared, or never come to stand. */

import { EventEmitter } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { LANES, WireCount } from '../../../src/platform/wire-count.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';

const DAY_MS = 86_400_000;
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

function totalOf(lanes: Partial<Record<string, number>> = {}): number {
  return LANES.reduce((sum, lane) => sum + (lanes[lane] ?? 0), 0);
}

function socket() {
  return Object.assign(new EventEmitter(), { bytesRead: 0, bytesWritten: 0 });
}

const POLLS = ['rpc-poll', 'attribute-poll'] as const;

describe('questions of TCP', () => {
  it('are not counted on a connection that uploads keep from silence', async () => {
    const clock = new FakeClock();
    const wire = new WireCount(clock);
    const shared = socket();
    wire.watch(shared);
    const before = totalOf(wire.lanes());
    for (let uploads = 0; uploads < 360; uploads += 1) {
      shared.bytesWritten += 1;
      await clock.advance(10_000);
    }
    expect(totalOf(wire.lanes()) - before).toBe(360);
  });

  it('are counted once for a silent connection, however many polls stand on it', async () => {
    const clock = new FakeClock();
    const wire = new WireCount(clock);
    const withoutConnection = new WireCount(clock);
    wire.watch(socket());
    const before = totalOf(wire.lanes());
    for (let polls = 0; polls < 12; polls += 1) {
      for (const one of [wire, withoutConnection]) for (const lane of POLLS) one.began(lane);
      await clock.advance(300_000);
      for (const one of [wire, withoutConnection]) for (const lane of POLLS) one.note(lane, { bytes: 271 });
    }
    expect(totalOf(wire.lanes()) - before - totalOf(withoutConnection.lanes())).toBe(Math.floor(3_600 / 31) * 104);
  });

  it('are asked on a connection that all share only while something is under way', async () => {
    const clock = new FakeClock();
    const wire = new WireCount(clock);
    wire.watch(socket());
    wire.share();
    const before = totalOf(wire.lanes());
    await clock.advance(3_600_000);
    expect(totalOf(wire.lanes())).toBe(before);
  });

  it('begin anew after each word', async () => {
    const clock = new FakeClock();
    const wire = new WireCount(clock);
    const one = socket();
    wire.watch(one);
    const before = totalOf(wire.lanes());
    for (let uploads = 0; uploads < 60; uploads += 1) {
      await clock.advance(3_000);
      one.bytesWritten += 1;
      await clock.advance(57_000);
    }
    expect(totalOf(wire.lanes()) - before).toBe(60 + 60 * 104);
    one.emit('close');
    await clock.advance(DAY_MS);
    expect(totalOf(wire.lanes()) - before).toBe(60 + 60 * 104);
  });
});

describe('a try to connect that meets nobody', () => {
  it.each([
    ['is refused at once', 20, 60],
    ['is given up after ten seconds', 10_000, 7 * 60],
  ])('%s: it costs what was sent', (_what, ms, bytes) => {
    const wire = new WireCount(new FakeClock());
    wire.failed(ms);
    expect(totalOf(wire.lanes())).toBe(bytes);
  });
});

describe('a connection that never comes to stand', () => {
  async function listen(server: Server): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(server);
    return (server.address() as AddressInfo).port;
  }

  it('is counted: a handshake that ends at an expired certificate costs as much as any', async () => {
    const expired = makeCertificate({
      names: ['127.0.0.1'],
      fromMs: Date.now() - 20 * DAY_MS,
      untilMs: Date.now() - DAY_MS,
    });
    const counted = { bytes: 0 };
    const port = await listen(createTlsServer(expired) as unknown as Server);
    const proxy = createServer((near) => {
      const far = connect(port, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on('error', () => {});
        from.on('data', (data: Buffer) => {
          counted.bytes += data.length;
          to.write(data);
        });
        from.on('close', () => to.destroy());
      }
    });
    const url = `https://127.0.0.1:${await listen(proxy)}`;
    const api = new HttpDeviceApi({ settings: { url, ca: expired.cert }, token: () => 'token', clock: systemClock });
    open.push(api);
    const signal = new AbortController().signal;
    for (let times = 0; times < 3; times += 1)
      expect(await api.postTelemetry(rowsOf({ ts: 1, values: { a: 1 } }), signal)).toMatchObject({ kind: 'busy' });
    expect(counted.bytes).toBeGreaterThan(2_000);
    expect(totalOf(api.traffic.lanes) / counted.bytes).toBeGreaterThan(0.9);
  });
});
