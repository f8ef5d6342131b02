/** One bit of a register among fifteen others, written to a unit whose every answer stands here. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RTU, tcpFrame } from '../../../src/hardware/modbus-frames.ts';

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
    send(
      tcpFrame(
        asked.readUInt16BE(0),
        asked[6] ?? 0,
        asked[7] === 3 ? Uint8Array.of(3, 2, 0, 0) : asked.subarray(7, 12),
      ),
    );
  });
  const link = await bench.ports.modbus.open(
    { transport: 'tcp', host: '127.0.0.1', port, responseTimeoutMs: 1_000 },
    signal,
  );
  await link.ranked('movement').writeBit(1, bit(true), signal);
  await link.ranked('off').writeBit(1, bit(false), signal);
  expect(written).toEqual([8, 0]);
});

/** Answers of function 3 with these words, by request; writes are sent back, or never answered. Gives the functions that were asked, and the words written. */
async function serialUnit(answersTo: readonly (readonly number[])[], { confirms }: { readonly confirms: boolean }) {
  const functions: number[] = [];
  const written: number[] = [];
  let reads = 0;
  const port = await bench.pty((asked, send) => {
    functions.push(asked[1] ?? 0);
    if (asked[1] === 6) written.push(asked.readUInt16BE(4));
    if (asked[1] === 6 && confirms) send(asked);
    if (asked[1] === 3) for (const word of answersTo[reads++] ?? []) send(RTU.frame(1, Uint8Array.of(3, 2, 0, word)));
  });
  const link = await bench.ports.modbus.open(
    { transport: 'rtu', port, baudRate: 9_600, responseTimeoutMs: 300 },
    signal,
  );
  return { link, functions, written };
}

it('is switched off at once although the unit owes the answer to another reading and knows no loop-back', async () => {
  const { link, functions, written } = await serialUnit([[], [8], [8]], { confirms: true });
  await expect(link.readRegisters(1, { table: 'holding', address: 7, count: 1 }, signal)).rejects.toThrow();
  await link.ranked('off').writeBit(1, bit(false), signal);
  expect({ functions, written }).toEqual({ functions: [3, 3, 3, 6], written: [0] });
});

it('leaves the others as they are now, not as a late answer has them', async () => {
  const { link, written } = await serialUnit([[], [0x18], [0x18, 0x08]], { confirms: false });
  const word = { table: 'holding', address: 5, count: 1 } as const;
  await expect(link.readRegisters(1, word, signal)).rejects.toThrow();
  await expect(link.ranked('off').writeBit(1, { address: 5, bit: 4, on: false }, signal)).rejects.toThrow();
  await expect(link.ranked('off').writeBit(1, bit(false), signal)).rejects.toThrow();
  expect(written).toEqual([0x08, 0]);
});

it('is written in turns with another of its register, also where the host is named in other letters', async () => {
  let word = 0;
  const port = await bench.tcp((asked, send) => {
    const pdu = asked[7] === 3 ? Uint8Array.of(3, 2, 0, word) : asked.subarray(7, 12);
    if (asked[7] === 6) word = asked.readUInt16BE(10);
    setTimeout(() => send(tcpFrame(asked.readUInt16BE(0), 1, pdu)), 20);
  });
  const writing = ['localhost', 'LOCALHOST'].map(async (host, at) => {
    const link = await bench.ports.modbus.open({ transport: 'tcp', host, port, responseTimeoutMs: 1_000 }, signal);
    await link.ranked('movement').writeBit(1, { address: 5, bit: 3 + at, on: true }, signal);
  });
  await Promise.all(writing);
  expect(word).toBe(0x18);
});
