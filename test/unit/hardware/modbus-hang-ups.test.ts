/** Hosts that hang up after each answer, so that the next request crosses the end of the connection. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RTU, tcpFrame } from '../../../src/hardware/modbus-frames.ts';
import type { HostConnection } from '../../../src/hardware/modbus-port.ts';
import { openPeerBench, type PeerBench } from '../../support/modbus-peer.ts';

const signal = AbortSignal.timeout(60_000);
let bench: PeerBench;
let word: number;
beforeEach(async () => {
  bench = await openPeerBench();
  word = 8;
});
afterEach(() => bench.close());

function answerTo(pdu: Buffer): Uint8Array {
  if (pdu[0] === 6) word = pdu.readUInt16BE(3);
  return pdu[0] === 3 ? Uint8Array.of(3, 2, 0, pdu[2] === 5 ? word : (pdu[2] ?? 0)) : pdu;
}

/** Takes one request of each connection, answers, and hangs up as soon as another comes: that one is never taken. */
function onConnect(frameOf: (asked: Buffer) => Uint8Array): (socket: Socket) => void {
  return (socket) => {
    socket.once('data', (asked) => {
      socket.write(frameOf(asked));
      socket.once('data', () => socket.destroy());
    });
  };
}

async function open(transport: HostConnection['transport'], hangUp: (socket: Socket) => void) {
  const port = await bench.tcp(() => {}, { onConnect: hangUp });
  return await bench.ports.modbus.open({ transport, host: '127.0.0.1', port, responseTimeoutMs: 2_000 }, signal);
}

const overTcp = (asked: Buffer): Uint8Array =>
  tcpFrame(asked.readUInt16BE(0), asked[6] ?? 0, answerTo(asked.subarray(7)));
const overLine = (asked: Buffer): Uint8Array => RTU.frame(asked[0] ?? 0, answerTo(asked.subarray(1, -2)));

it.each([
  ['tcp', overTcp],
  ['rtu-over-tcp', overLine],
] as const)('get the request again on a new connection, over %s', async (transport, frameOf) => {
  const link = await open(transport, onConnect(frameOf));
  for (const address of [1, 2, 3, 4])
    expect(await link.readRegisters(1, { table: 'holding', address, count: 1 }, signal)).toEqual([address]);
  await link.ranked('off').writeBit(1, { address: 5, bit: 3, on: false }, signal);
  expect(word).toBe(0);
});

it('are not asked again when a new connection ends as well, or when nothing comes in time', async () => {
  let connections = 0;
  const closing = await open('tcp', (socket) => {
    connections += 1;
    socket.once('data', () => socket.destroy());
  });
  const read = { table: 'holding', address: 1, count: 1 } as const;
  await expect(closing.readRegisters(1, read, signal)).rejects.toMatchObject({ code: 'hardware/modbus-no-answer' });
  expect(connections).toBe(1);
  let asked = 0;
  const silent = await open('tcp', (socket) => {
    socket.on('data', (request) => {
      asked += 1;
      if (asked === 1) socket.write(overTcp(request));
    });
  });
  await silent.readRegisters(1, read, signal);
  await expect(silent.readRegisters(1, read, signal)).rejects.toMatchObject({ code: 'hardware/deadline' });
  expect(asked).toBe(2);
});

it.each(['tcp', 'rtu-over-tcp'] as const)(
  'leave the outcome of a write unknown over %s, not that of a read, nor of a write that was never sent',
  async (transport) => {
    const link = await open(transport, (socket) => void socket.once('data', () => socket.destroy()));
    const unknown = { code: 'hardware/outcome-unknown', recovery: 'retry' };
    await expect(link.writeRegisters(1, 5, [3], signal)).rejects.toMatchObject(unknown);
    await expect(link.writeCoil(1, 5, true, signal)).rejects.toMatchObject(unknown);
    const read = link.readRegisters(1, { table: 'holding', address: 5, count: 1 }, signal);
    await expect(read).rejects.toMatchObject({ code: 'hardware/modbus-no-answer' });
    const nobody = { transport, host: '127.0.0.1', port: 1, responseTimeoutMs: 2_000 } as const;
    const absent = await bench.ports.modbus.open(nobody, signal);
    await expect(absent.writeCoil(1, 5, true, signal)).rejects.toMatchObject({ code: 'hardware/modbus-no-answer' });
  },
);
