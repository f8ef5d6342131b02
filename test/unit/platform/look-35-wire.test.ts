/** Count of the network's bytes where connections are silent, are shared, or never come to stand. */

import { EventEmitter } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { LANES, WireCount } from '../../../src/platform/wire-count.ts';
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
  return Object.assign(new EventEmitter(), { bytesRead: 0, bytesWritten: 0 }) as unknown as Socket & {
    bytesRead: number;
    bytesWritten: number;
  };
}

describe('questions of TCP', () => {
  it('are not counted for a poll that stands beside uploads on the same connection', () => {
    const wire = new WireCount();
    const shared = socket();
    wire.watch(shared);
    // A day with an upload each ten seconds: the connection is never silent.
    for (let at = 0; at < 8_640; at += 1) wire.note('upload', { bytes: 330, ms: 50 });
    const before = totalOf(wire.lanes());
    for (let at = 0; at < 288; at += 1) {
      wire.note('rpc-poll', { bytes: 271, ms: 300_000 });
      wire.note('attribute-poll', { bytes: 271, ms: 300_000 });
    }
    // The bytes of the socket itself are left out here: 208 B of headers for each exchange.
    expect(totalOf(wire.lanes()) - before).toBeLessThan(2 * 288 * 208 * 1.05);
  });

  it('are counted once for two polls that stand on one silent connection', () => {
    const wire = new WireCount();
    wire.watch(socket());
    const before = totalOf(wire.lanes());
    for (let at = 0; at < 288; at += 1) {
      wire.note('rpc-poll', { bytes: 271, ms: 300_000 });
      wire.note('attribute-poll', { bytes: 271, ms: 300_000 });
    }
    const asked = (DAY_MS / 25_000) * 104;
    expect((totalOf(wire.lanes()) - before - 2 * 288 * 208) / asked).toBeLessThan(1.05);
  });
});

describe('a connection that never comes to stand', () => {
  async function listen(server: Server): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(server);
    return (server.address() as AddressInfo).port;
  }

  it('is counted: a handshake that ends at an expired certificate costs as much as any', async () => {
    const expired = makeCertificate({ names: ['127.0.0.1'], fromMs: Date.now() - 20 * DAY_MS, untilMs: Date.now() - DAY_MS });
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
