/** Devices on serial lines as people have them: bytes instead of text, several lines to one request, damaged lines, frames. */

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { opener } from '../../src/actuators/serial-write/driver.ts';
import { sensorSchema } from '../../src/config/schema/sensors.ts';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { createSensor } from '../../src/sensors/create-sensor.ts';
import type { Sensor } from '../../src/sensors/kind/sensor.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';
import { COMMON, opensWith } from '../support/actuator-driver.ts';
import { until } from '../support/board-bench.ts';
import { configOf, SMALLEST } from '../support/config-file.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../support/sensor-bench.ts';

const { signal } = new AbortController();
const ports = linuxPorts(systemClock, 'sysfs');
let folder: string;
let wire: PtyWire;
let sensor: Sensor | undefined;
let heard: Buffer;
/** Pieces in which the device answers what it hears. */
let answer: readonly (string | Uint8Array)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-serial-'));
  [heard, answer, sensor] = [Buffer.alloc(0), [], undefined];
  wire = new PtyWire(join(folder, 'port'), (bytes) => {
    heard = Buffer.concat([heard, bytes]);
    for (const piece of answer) wire.send(Buffer.from(piece as string));
  });
});
afterEach(async () => {
  await sensor?.close();
  wire.close();
  await rm(folder, { recursive: true });
});

async function openWith(options: Readonly<Record<string, unknown>>): Promise<Sensor> {
  const config = sensorConfig({ name: 'meter', kind: 'serial-line', port: join(folder, 'port'), ...options });
  const deps = {
    ...OF_THIS_MACHINE,
    ports,
    clock: systemClock,
    files: systemFiles,
    log: silentLog,
    stateFolder: folder,
  };
  sensor = await createSensor(config, deps, signal);
  return sensor;
}

const pairsOf = (readings: readonly { readonly key: string; readonly value: unknown }[]) =>
  Object.fromEntries(readings.map(({ key, value }) => [key, value]));

it.each([{ request: '\xff\x01\x86\0\0\0\0\0\x79' }, { requestHex: 'FF 01 86 00 00 00 00 00 79' }])(
  'row 5: a request is the bytes as they are written: %o',
  async (request) => {
    answer = ['7\n'];
    const asked = await openWith({ ...request, format: 'number' });
    expect(pairsOf(await asked.read(AbortSignal.timeout(5_000)))).toEqual({ value: 7 });
    expect(heard.toString('hex')).toBe('ff0186000000000079');
  },
);

it('row 5: a request of characters that are no bytes is refused, and requestHex named', () => {
  const parsed = sensorSchema.safeParse({ name: 'meter', kind: 'serial-line', port: '/dev/ttyS0', request: 'Ω' });
  expect(parsed.error?.issues.map(({ message }) => message)).toEqual([expect.stringContaining('requestHex')]);
});

it('row 5: the template of an output is bytes, too', async () => {
  const config = {
    ...COMMON,
    kind: 'serial-write' as const,
    port: join(folder, 'port'),
    baudRate: 9600,
    dataBits: 8 as const,
    parity: 'none' as const,
    stopBits: 1 as const,
    valueType: 'number' as const,
    template: '\xff\x01{value}\xa5',
    replyTimeoutMs: 50,
  };
  const driver = await opensWith(opener)(config, { serialBuses: ports.serialBuses });
  await driver.write(5, signal);
  await until('the bytes', () => heard.length >= 4);
  await driver.close();
  expect(heard.toString('hex')).toBe('ff0135a5');
});

const THREE = '^(?:T1=(?<t1>[-0-9.]+)|T2=(?<t2>[-0-9.]+)|T3=(?<t3>[-0-9.]+))$';

it.each([{ answers: { count: 4, idle: '5s' } }, { answers: { idle: '100ms' } }])(
  'row 11: all lines that answer one request are one reading: %o',
  async (answers) => {
    answer = ['OK\r\nT1=21', '.5\r\nT2=22.5\r\nT3=', '-5.0\r\n'];
    const asked = await openWith({ request: 'READ\r\n', ...answers, format: 'regex', pattern: THREE });
    expect(pairsOf(await asked.read(AbortSignal.timeout(5_000)))).toEqual({ t1: 21.5, t2: 22.5, t3: -5 });
    expect(asked.refused?.()).toEqual([]);
  },
);

it('row 11: what is missing among the lines is told by its key', async () => {
  answer = ['OK\r\nT1=21.5\r\nT3=-5.0\r\n'];
  const asked = await openWith({
    request: 'READ\r\n',
    answers: { count: 4, idle: '100ms' },
    format: 'regex',
    pattern: THREE,
  });
  expect(pairsOf(await asked.read(AbortSignal.timeout(5_000)))).toEqual({ t1: 21.5, t3: -5 });
  expect(asked.refused?.().map(({ key, fault }) => [key, fault.message])).toEqual([
    ['t2', expect.stringContaining('3 of 4 answer lines came, and none has t2')],
  ]);
});

it('row 12: text in Latin-1 keeps its letters', async () => {
  answer = [Buffer.from('T;R\xfccklauf\n', 'latin1')];
  const asked = await openWith({
    request: '?\n',
    encoding: 'latin1',
    format: 'csv',
    separator: ';',
    columns: ['', 'place'],
  });
  expect(pairsOf(await asked.read(AbortSignal.timeout(5_000)))).toEqual({ place: 'R\xfccklauf' });
});

it('row 23: a line whose check sum is wrong gives nothing', async () => {
  answer = ['$IIMWV,030,R,90.5,N,A*14\r\n', '$IIMWV,030,R,10.5,N,A*14\r\n'];
  const asked = await openWith({ request: '?\n', check: 'nmea', format: 'csv', columns: ['', '', '', 'speed'] });
  const { speed } = pairsOf(await asked.read(AbortSignal.timeout(5_000)));
  expect(speed).toBe(10.5);
});

const CO2 = {
  requestHex: 'FF 01 86 00 00 00 00 00 79',
  frame: { start: 'FF 86', length: 9 },
  fields: { co2: { at: 2, type: 'uint16' }, temperature: { at: 4, type: 'uint8', offset: -40 } },
  check: { kind: 'sum8-negative', from: 1 },
};

it('row 5: a binary answer is a frame with numbers at their places, and a damaged one gives nothing', async () => {
  const good = Buffer.from('ff86026047000000d1', 'hex');
  answer = [Buffer.from('00ff86ff86036047000000d1', 'hex'), good.subarray(0, 4), good.subarray(4)];
  const asked = await openWith(CO2);
  expect(pairsOf(await asked.read(AbortSignal.timeout(5_000)))).toEqual({ co2: 608, temperature: 31 });
});

it('takes the length of a frame from the frame, and its text up to its end', async () => {
  answer = [Buffer.from('0000424d000401f4', 'hex'), Buffer.from('0188', 'hex')];
  const pm = await openWith({
    request: '?',
    frame: { start: '42 4D', length: { at: 2, type: 'uint16', add: 4 } },
    fields: { pm: { at: 4 } },
    check: 'sum16',
  });
  expect(pairsOf(await pm.read(AbortSignal.timeout(5_000)))).toEqual({ pm: 500 });
  await pm.close();
  answer = ['/METER\r\n\r\n1-0:1.8.0(00012.5*kWh)\r\n', '1-0:1.7.0(0.25*kW)\r\n!\r\n'];
  const telegram = await openWith({
    request: '?',
    frame: { start: '2F', end: '21' },
    format: 'regex',
    pattern: '1-0:1\\.8\\.0\\((?<energy>[0-9.]+)|1-0:1\\.7\\.0\\((?<power>[0-9.]+)',
  });
  expect(pairsOf(await telegram.read(AbortSignal.timeout(5_000)))).toEqual({ energy: 12.5, power: 0.25 });
});

it('takes a frame that only silence ends', async () => {
  answer = [Buffer.from('01', 'hex'), Buffer.from('f40207fe', 'hex')];
  const scale = await openWith({
    request: '?',
    frame: { gap: '20ms' },
    fields: { weight: { at: 0 }, state: { at: 2 } },
    check: 'sum8',
  });
  expect(pairsOf(await scale.read(AbortSignal.timeout(5_000)))).toEqual({ weight: 500, state: 519 });
});

it.each([
  [{ start: '02' }, 'length:, end: or gap:'],
  [{ start: '02', length: 9, gap: '20ms' }, 'length:, end: or gap:'],
  [{ length: 9 }, 'start:'],
])('refuses a frame without one beginning and one end: %o', async (frame, told) => {
  const yaml = `${SMALLEST}sensors: [{ name: meter, kind: serial-line, port: /dev/ttyS0, frame: ${JSON.stringify(frame)} }]\n`;
  await expect(configOf(yaml)).rejects.toThrow(told);
});

it('reads a port behind a device server, and goes on when the connection is back', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const port = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const meter = await openWith({ port, request: '?\n', format: 'number', period: '10s' });
    const answers = (value: number): void => {
      sockets.at(-1)?.on('data', () => sockets.at(-1)?.write(`${value}\n`));
    };
    await until('the connection', () => sockets.length === 1);
    answers(7);
    expect(pairsOf(await meter.read(AbortSignal.timeout(5_000)))).toEqual({ value: 7 });
    sockets[0]?.destroy();
    await until('the connection again', () => sockets.length === 2);
    answers(8);
    await until('a value again', async () => {
      const readings = await meter.read(AbortSignal.timeout(1_000)).catch(() => []);
      return pairsOf(readings).value === 8;
    });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

it.each(['tcp://host', 'tcp://host:0', 'http://host:4001', 'ttyUSB0'])('refuses %s as a port', (port) => {
  const parsed = sensorSchema.safeParse({ name: 'meter', kind: 'serial-line', port });
  expect(parsed.error?.issues.map(({ message }) => message)).toEqual([expect.stringContaining('tcp://host:port')]);
});
