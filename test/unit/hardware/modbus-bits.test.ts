/** One bit of a register among fifteen others, written to a unit whose every answer stands here. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tcpFrame } from '../../../src/hardware/modbus-frames.ts';

import { openPeerBench, type PeerBench } from '../../support/modbus-peer.ts';

const signal = AbortSignal.timeout(60_000);
let bench: PeerBench;
beforeEach(async () => {
  bench = await openPeerBench();
});
afterEach(() => bench.close());

const bit = (on: boolean) => ({ address: 5, bit: 3, on });

it('is sent although the register does not show what was written before', async () => {
  const written: number[] = [];
  const port = await bench.tcp((asked, send) => {
    if (asked[7] === 6) written.push(asked.readUInt16BE(10));
    send(tcpFrame(asked.readUInt16BE(0), asked[6] ?? 0, asked[7] === 3 ? Uint8Array.of(3, 2, 0, 0) : asked.subarray(7, 12)));
  });
  const link = await bench.ports.modbus.open({ transport: 'tcp', host: '127.0.0.1', port, responseTimeoutMs: 1_000 }, signal);
  await link.ranked('movement').writeBit(1, bit(true), signal);
  await link.ranked('off').writeBit(1, bit(false), signal);
  expect(written).toEqual([8, 0]);
});
