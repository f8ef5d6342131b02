/** Modbus units as people have them, by the rows of the field cases: each over a real pty or socket, with the bytes of the row. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDriver } from '../../src/actuators/open-driver.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { actuatorSchema } from '../../src/config/schema/actuators.ts';
import { ASCII, RTU, tcpFrame } from '../../src/hardware/modbus-frames.ts';
import { systemClock } from '../../src/host/clock.ts';
import { open } from '../../src/sensors/modbus/driver.ts';
import { openBoardBench } from '../support/board-bench.ts';
import { SMALLEST } from '../support/config-file.ts';
import { bytes, openPeerBench, type PeerBench } from '../support/modbus-peer.ts';
import { OF_THIS_MACHINE, sensorConfig, sensorDeps } from '../support/sensor-bench.ts';

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

  it('does not stand for the unit when it is written to, once it is known, also after the line was opened again', async () => {
    const port = await bench.pty((asked, send) => send(asked[1] === 4 ? Buffer.concat([asked, ANSWER]) : asked));
    const link = await bench.ports.modbus.open(
      { transport: 'rtu', port, baudRate: 9_600, responseTimeoutMs: 150 },
      signal,
    );
    await link.readRegisters(1, { table: 'input', address: 0, count: 1 }, signal);
    await expect(link.writeCoil(1, 3, true, signal)).rejects.toMatchObject({ code: 'hardware/deadline' });
    await link.close();
    const again = await bench.ports.modbus.open(
      { transport: 'rtu', port, baudRate: 9_600, responseTimeoutMs: 150 },
      signal,
    );
    await expect(again.ranked('off').writeCoil(1, 3, true, signal)).rejects.toMatchObject({
      code: 'hardware/deadline',
    });
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
    expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(115);
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
    expect(await (await sensorAt({ transport: 'ascii-over-tcp', host: '127.0.0.1', port: tcp })).read(signal)).toEqual(
      VOLTAGE,
    );
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
    await expect((await sensorAt(at)).read(signal)).rejects.toThrow(
      new RegExp(`another ${what}; with lenient: true it is taken`),
    );
    await bench.ports.modbus.close();
    expect(await (await sensorAt({ ...at, lenient: true })).read(signal)).toEqual(VOLTAGE);
  });
});

it('row 38: a host is reached by its IPv6 address, in brackets or not', async () => {
  const pdu = Uint8Array.of(4, 2, 0x08, 0xfd);
  const port = await bench.tcp((asked, send) => send(tcpFrame(asked.readUInt16BE(0), 1, pdu)), { host: '::1' });
  for (const host of ['[::1]', '::1'])
    expect(await (await sensorAt({ transport: 'tcp', host, port })).read(signal)).toEqual(VOLTAGE);
});

describe('row 13: a busy unit', () => {
  it('is asked again within the deadline, and gives its value', async () => {
    let asked = 0;
    const port = await bench.pty((_asked, send) => {
      asked += 1;
      send(asked % 2 === 1 ? RTU.frame(1, bytes('84 06')) : ANSWER);
    });
    const sensor = await sensorAt({ transport: 'rtu', port });
    for (let n = 0; n < 3; n += 1) expect(await sensor.read(signal)).toEqual(VOLTAGE);
    expect(sensor.refused?.()).toEqual([]);
    expect(asked).toBe(6);
  });

  it('is told as busy when it stays so', async () => {
    const port = await bench.pty((_asked, send) => send(RTU.frame(1, bytes('84 06'))));
    const sensor = await sensorAt({ transport: 'rtu', port });
    await expect(sensor.read(AbortSignal.timeout(2_000))).rejects.toThrow('device busy');
    expect(bench.asked.length).toBeGreaterThan(2);
  });

  it('that has taken a write and works on it is read back', async () => {
    const port = await bench.tcp((asked, send) => send(tcpFrame(asked.readUInt16BE(0), 1, bytes('86 05'))));
    const link = await bench.ports.modbus.open(
      { transport: 'tcp', host: '127.0.0.1', port, responseTimeoutMs: 500 },
      signal,
    );
    await link.writeRegisters(1, 5, [7], signal);
    expect(bench.asked).toHaveLength(1);
    await link.close();
  });
});

describe('rows 6 and 20: what is written', () => {
  /** A unit with one register, and the functions that it was asked. */
  async function unit(first: number, refuses: readonly number[] = []) {
    const state = { word: first, functions: [] as number[] };
    const port = await bench.tcp((asked, send) => {
      const pdu = asked.subarray(7);
      const [code = 0] = pdu;
      state.functions.push(code);
      const answer = (given: Uint8Array): void => send(tcpFrame(asked.readUInt16BE(0), asked[6] ?? 0, given));
      if (refuses.includes(code)) return answer(Uint8Array.of(code | 0x80, 1));
      if (code === 3) return answer(Uint8Array.of(3, 2, state.word >> 8, state.word & 0xff));
      if (code === 6) state.word = pdu.readUInt16BE(3);
      if (code === 16) state.word = pdu.readUInt16BE(6);
      if (code === 22) state.word = (state.word & pdu.readUInt16BE(3)) | (pdu.readUInt16BE(5) & ~pdu.readUInt16BE(3));
      answer(code === 16 ? pdu.subarray(0, 5) : pdu);
    });
    return { state, connection: { transport: 'tcp', host: '127.0.0.1', port } };
  }
  async function driver(connection: object, more: object) {
    const config = actuatorSchema.parse({ name: 'out', kind: 'modbus-write', connection, address: 5, ...more });
    return await openDriver(config, { ...OF_THIS_MACHINE, ports: bench.ports, clock: systemClock }, signal);
  }

  it.each([undefined, 16, 22])('row 6: one bit of a register, with function %s', async (writeFunction) => {
    const { state, connection } = await unit(0x00f0);
    const out = await driver(connection, {
      type: 'bool',
      bit: 0,
      ...(writeFunction !== undefined && { writeFunction }),
    });
    await out.write(true, signal);
    expect([state.word, await out.read?.(signal)]).toEqual([0x00f1, true]);
    await out.write(false, signal);
    expect([state.word, await out.read?.(signal)]).toEqual([0x00f0, false]);
    expect(state.functions.includes(writeFunction ?? 6)).toBe(true);
    if (writeFunction === 22) expect(state.functions.filter((code) => code === 3)).toHaveLength(2);
    await out.close();
  });

  it('row 6: two bits of one register are two outputs, written at once', async () => {
    const { state, connection } = await unit(0x8000);
    const outs = await Promise.all([1, 2, 3, 4].map((bit) => driver(connection, { type: 'bool', bit })));
    await Promise.all(outs.map((out) => out.write(true, signal)));
    expect(state.word).toBe(0x801e);
    await Promise.all(outs.map((out) => out.write(false, signal)));
    expect(state.word).toBe(0x8000);
    for (const out of outs) await out.close();
  });

  it('row 6: check-config warns of a whole register for one bit, and knows bits apart', async () => {
    const check = async (...outs: readonly string[]) => {
      const folder = await mkdtemp(join(tmpdir(), 'turnstone-bits-'));
      const file = join(folder, 'turnstone.yaml');
      const list = outs.map(
        (out, n) => `{ name: o${n}, kind: modbus-write, connection: { transport: tcp, host: a }, address: 5, ${out} }`,
      );
      await writeFile(file, `${SMALLEST}actuators: [${list.join(', ')}]`, { mode: 0o600 });
      const { faults, warnings } = await readConfig(file, { environment: {} });
      await rm(folder, { recursive: true });
      return { faults: faults.map(({ problem }) => problem), warnings: warnings.map(({ problem }) => problem) };
    };
    expect((await check('type: bool')).warnings.join()).toContain('its other fifteen bits are cleared');
    expect(await check('type: bool, bit: 0', 'type: bool, bit: 1')).toEqual({ faults: [], warnings: [] });
    expect((await check('type: bool, bit: 0', 'type: bool, bit: 0')).faults.join()).toContain(
      'two actuators on one register',
    );
    expect((await check('type: bool, bit: 0', 'type: uint16')).faults.join()).toContain(
      'two actuators on one register',
    );
    expect((await check('type: uint32, writeFunction: 6')).faults.join()).toContain(
      'a function that does not write this',
    );
    expect((await check('type: uint16, bit: 3')).faults.join()).toContain('bit has no effect');
  });

  it('row 20: one register by function 16, where the unit refuses 6', async () => {
    const { state, connection } = await unit(0, [6]);
    const plain = await driver(connection, {});
    await expect(plain.write(7, signal)).rejects.toMatchObject({ code: 'hardware/modbus-exception' });
    const other = await driver(connection, { writeFunction: 16 });
    await other.write(7, signal);
    expect(state).toEqual({ word: 7, functions: [6, 16] });
    await plain.close();
    await other.close();
  });
});

describe('row 36: scattered registers of a slow unit', () => {
  const registers = Object.fromEntries(Array.from({ length: 14 }, (_, at) => [`r${at}`, { address: 100 * at }]));

  it('are all given in each period, by a deadline that follows from their number', async () => {
    const port = await bench.tcp((asked, send) => {
      const answer = tcpFrame(asked.readUInt16BE(0), 1, Uint8Array.of(3, 2, 0, 7));
      setTimeout(() => send(answer), 50); // a fifth of the row's time, as are deadline and period
    });
    const config = sensorConfig({
      name: 'meter',
      kind: 'modbus',
      period: '2s',
      registers,
      connection: { transport: 'tcp', host: '127.0.0.1', port, responseTimeout: '200ms' },
    });
    expect(config.deadlineMs).toBe(2_000);
    const sensor = await open(config, sensorDeps(bench), signal);
    for (let n = 0; n < 2; n += 1) expect(await sensor.read(AbortSignal.timeout(config.deadlineMs))).toHaveLength(14);
    expect(sensor.refused?.()).toEqual([]);
    await sensor.close();
  });

  it('that no period can hold are told by check-config, with the words that help', async () => {
    const check = async (period: string, baudRate: number): Promise<string> => {
      const folder = await mkdtemp(join(tmpdir(), 'turnstone-period-'));
      const file = join(folder, 'turnstone.yaml');
      const connection = `{ transport: rtu, port: /dev/ttyUSB0, baudRate: ${baudRate} }`;
      const sensor = `{ name: m, kind: modbus, period: ${period}, connection: ${connection}, registers: ${JSON.stringify(registers)} }`;
      await writeFile(file, `${SMALLEST}sensors: [${sensor}]`, { mode: 0o600 });
      const { warnings } = await readConfig(file, { environment: {} });
      await rm(folder, { recursive: true });
      return warnings.map(({ problem, expected }) => `${problem} ${expected}`).join();
    };
    expect(await check('500ms', 9_600)).toMatch(
      /^too short for the 14 requests of its line, which take 1\.\d times as long: .*maxGap/,
    );
    expect(await check('5s', 9_600)).toBe('');
    expect(await check('500ms', 115_200)).toBe('');
  });
});
