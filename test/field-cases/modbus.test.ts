/** Modbus units as people have them, by the rows of the field cases: each over a real pty or socket, with the bytes of the row. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ASCII, RTU, tcpFrame } from '../../src/hardware/modbus-frames.ts';
import { open } from '../../src/sensors/modbus/driver.ts';
import { openBoardBench } from '../support/board-bench.ts';
import { bytes, openPeerBench, type PeerBench } from '../support/modbus-peer.ts';
import { sensorConfig, sensorDeps } from '../support/sensor-bench.ts';

const { signal } = new AbortController();
const REQUEST = bytes('01 04 00 00 00 01 31 CA');
const ANSWER = bytes('01 04 02 08 FD 7F 71');
const VOLTAGE = [{ key: 'voltage', value: 230.1 }];
const voltage = { table: 'input', address: 0, scale: 0.1 };

let bench: PeerBench;
beforeEach(async () => {
  bench = await openPeerBench();
});
afterEach(() => bench.close());

async function sensorAt(connection: object, registers: object = { voltage }, more: object = {}) {
  const config = sensorConfig({
    name: 'meter',
    kind: 'modbus',
    connection: { responseTimeout: '500ms', ...connection },
    registers,
    ...more,
  });
  return await open(config, sensorDeps(bench), signal);
}

describe('row 7: stray bytes', () => {
  it.each([
    ['before', '00 01 04 02 08 FD 7F 71'],
    ['that look like the unit before', '01 04 01 04 02 08 FD 7F 71'],
    ['after', '01 04 02 08 FD 7F 71 00'],
    ['of a damaged answer before', '01 04 02 08 FC 7F 71 01 04 02 08 FD 7F 71'],
  ])('an answer with some %s is taken', async (_what, answer) => {
    const port = await bench.pty((_asked, send) => send(bytes(answer)));
    const sensor = await sensorAt({ transport: 'rtu', port });
    expect(await sensor.read(signal)).toEqual(VOLTAGE);
    expect(await sensor.read(signal)).toEqual(VOLTAGE);
    expect(bench.asked).toEqual([REQUEST, REQUEST]);
  });

  it('are no answer by themselves', async () => {
    const port = await bench.pty((_asked, send) => send(bytes('00 01 04 02 08 FD 7F 72')));
    const sensor = await sensorAt({ transport: 'rtu', port });
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/modbus-bad-answer' });
  });
});

describe('row 8: an adapter that echoes', () => {
  it.each([false, true])('is found out from a read, the answer in two pieces: %s', async (inTwo) => {
    const port = await bench.pty((asked, send) => {
      if (!inTwo) return send(Buffer.concat([asked, ANSWER]));
      send(asked);
      setTimeout(() => send(ANSWER), 30);
    });
    const sensor = await sensorAt({ transport: 'rtu', port });
    expect(await sensor.read(signal)).toEqual(VOLTAGE);
    expect(await sensor.read(signal)).toEqual(VOLTAGE);
  });

  it('does not stand for the unit when it is written to, once it is known', async () => {
    const port = await bench.pty((asked, send) => send(asked[1] === 4 ? Buffer.concat([asked, ANSWER]) : asked));
    const link = await bench.ports.modbus.open({ transport: 'rtu', port, baudRate: 9_600, responseTimeoutMs: 150 }, signal);
    await link.readRegisters(1, { table: 'input', address: 0, count: 1 }, signal);
    await expect(link.writeCoil(1, 3, true, signal)).rejects.toMatchObject({ code: 'hardware/deadline' });
    const other = await bench.pty((asked, send) => send(asked));
    const told = { transport: 'rtu', port: other, baudRate: 9_600, responseTimeoutMs: 150, echo: true } as const;
    const known = await bench.ports.modbus.open(told, signal);
    await expect(known.writeCoil(1, 3, true, signal)).rejects.toMatchObject({ code: 'hardware/deadline' });
  });
});

describe('row 15: units that need time', () => {
  it('are asked after connectDelay, which the response time-out does not count', async () => {
    let connectedAt = 0;
    let askedAfterMs = 0;
    const answer = (asked: Buffer, send: (answer: Uint8Array) => void): void => {
      askedAfterMs = performance.now() - connectedAt;
      if (askedAfterMs > 250) send(tcpFrame(asked.readUInt16BE(0), 1, Uint8Array.of(4, 2, 0x08, 0xfd)));
    };
    const onConnect = (): void => {
      connectedAt = performance.now();
    };
    const port = await bench.tcp(answer, { onConnect });
    const timed = { transport: 'tcp', host: '127.0.0.1', port, responseTimeout: '200ms' };
    await expect((await sensorAt(timed)).read(signal)).rejects.toMatchObject({ code: 'hardware/deadline' });
    await bench.ports.modbus.close();
    expect(await (await sensorAt({ ...timed, connectDelay: '300ms' })).read(signal)).toEqual(VOLTAGE);
  });

  it('have their silence between two requests', async () => {
    const atMs: number[] = [];
    const port = await bench.pty((_asked, send) => {
      atMs.push(performance.now());
      send(ANSWER);
    });
    const sensor = await sensorAt({ transport: 'rtu', port, betweenRequests: '120ms' });
    for (let at = 0; at < 3; at += 1) expect(await sensor.read(signal)).toEqual(VOLTAGE);
    const [first = 0, second = 0, third = 0] = atMs;
    expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(119);
  });
});

describe('rows 16 and 21: other framings', () => {
  const pdu = Uint8Array.of(4, 2, 0x08, 0xfd);
  it('reads RTU over TCP, in pieces and on a new connection after the host hung up', async () => {
    let connections = 0;
    const onConnect = (): void => {
      connections += 1;
    };
    const answer = (asked: Buffer, send: (answer: Uint8Array) => void): void => {
      if (asked[1] !== 4) {
        send(asked);
        return;
      }
      send(ANSWER.subarray(0, 3));
      void sleep(20).then(() => send(ANSWER.subarray(3)));
    };
    let hangUp = (): void => {};
    const port = await bench.tcp(answer, {
      onConnect: (socket) => {
        onConnect();
        hangUp = () => socket.destroy();
      },
    });
    const sensor = await sensorAt({ transport: 'rtu-over-tcp', host: '127.0.0.1', port });
    expect(await sensor.read(signal)).toEqual(VOLTAGE);
    hangUp();
    await expect.poll(() => sensor.read(signal).catch(() => undefined)).toEqual(VOLTAGE);
    expect(connections).toBe(2);
  });

  it('reads Modbus ASCII over a serial line and over TCP', async () => {
    const answer = (asked: Buffer, send: (answer: Uint8Array) => void): void => {
      expect(asked.toString('latin1')).toBe(':010400000001FA\r\n');
      send(Buffer.concat([Buffer.from([0]), ASCII.frame(1, pdu)]));
    };
    const port = await bench.pty(answer);
    expect(await (await sensorAt({ transport: 'ascii', port })).read(signal)).toEqual(VOLTAGE);
    const tcp = await bench.tcp(answer);
    expect(await (await sensorAt({ transport: 'ascii-over-tcp', host: '127.0.0.1', port: tcp })).read(signal)).toEqual(VOLTAGE);
  });

  it('are spoken by the simulated board too', async () => {
    const units = { '1': { input: { '0': { kind: 'constant' as const, value: 2301 } } } };
    const board = await openBoardBench(() => ({
      serial: [{ port: '/dev/ttyS1', pty: false, talk: { kind: 'modbus', framing: 'ascii', units } }],
      modbusTcp: [
        { host: 'rtu.local', port: 502, framing: 'rtu', units },
        { host: 'ascii.local', port: 502, framing: 'ascii', units },
      ],
    }));
    for (const connection of [
      { transport: 'ascii', port: '/dev/ttyS1' },
      { transport: 'rtu-over-tcp', host: 'rtu.local' },
      { transport: 'ascii-over-tcp', host: 'ascii.local' },
    ]) {
      const sensor = await open(
        sensorConfig({ name: 'meter', kind: 'modbus', connection, registers: { voltage } }),
        sensorDeps(board),
        signal,
      );
      expect(await sensor.read(signal)).toEqual(VOLTAGE);
      await sensor.close();
    }
    await board.close();
  });
});

describe('row 35: answers with other numbers', () => {
  const pdu = Uint8Array.of(4, 2, 0x08, 0xfd);
  it.each([
    ['transaction number', 'tcp', (asked: Buffer) => tcpFrame(asked.readUInt16BE(0) ^ 0xff, 1, pdu)],
    ['unit number \\(9\\) than 1', 'tcp', (asked: Buffer) => tcpFrame(asked.readUInt16BE(0), 9, pdu)],
    ['unit number \\(9\\) than 1', 'rtu-over-tcp', () => RTU.frame(9, pdu)],
  ])('are told as another %s over %s, and taken by lenient', async (what, transport, answer) => {
    const port = await bench.tcp((asked, send) => send(answer(asked)));
    const at = { transport, host: '127.0.0.1', port };
    await expect((await sensorAt(at)).read(signal)).rejects.toThrow(new RegExp(`another ${what}; with lenient: true it is taken`));
    await bench.ports.modbus.close();
    expect(await (await sensorAt({ ...at, lenient: true })).read(signal)).toEqual(VOLTAGE);
  });
});

it('row 38: a host is reached by its IPv6 address, in brackets or not', async () => {
  const pdu = Uint8Array.of(4, 2, 0x08, 0xfd);
  const port = await bench.tcp((asked, send) => send(tcpFrame(asked.readUInt16BE(0), 1, pdu)), { host: '::1' });
  for (const host of ['[::1]', '::1']) expect(await (await sensorAt({ transport: 'tcp', host, port })).read(signal)).toEqual(VOLTAGE);
});
