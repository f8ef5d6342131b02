/** Modbus gateways that ask a mute unit several times before anybody else has a turn: what the fault of a unit beside it names. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openPeerBench, type PeerBench } from '../support/modbus-peer.ts';

const signal = AbortSignal.timeout(60_000);
let bench: PeerBench;
beforeEach(async () => {
  bench = await openPeerBench();
});
afterEach(() => bench.close());

it.each(['tcp', 'rtu-over-tcp'] as const)('is told, with the option that helps, over %s', async (transport) => {
  const port = await bench.tcp(() => {});
  const link = await bench.ports.modbus.open({ transport, host: '127.0.0.1', port, responseTimeoutMs: 50 }, signal);
  const helps = { code: 'hardware/deadline', message: expect.stringMatching(/responseTimeout .* above 50 ms$/) };
  await expect(link.readRegisters(2, { table: 'input', address: 0, count: 1 }, signal)).rejects.toMatchObject(helps);
  await expect(link.readBits(3, { table: 'coil', address: 0, count: 1 }, signal)).rejects.toMatchObject(helps);
});
