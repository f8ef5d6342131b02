/** Our Modbus client against requests and answers that pymodbus wrote, in each framing over TCP: `test/fixtures/sensors/modbus/write-exchanges.py`. */
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ModbusType, registersOf } from '../../../src/config/fields/modbus-types.ts';
import { LinuxSerial } from '../../../src/hardware/linux-serial.ts';
import { Modbus } from '../../../src/hardware/modbus.ts';
import type { HostConnection, ModbusLink, ModbusTable } from '../../../src/hardware/modbus-port.ts';
import { decodeModbus } from '../../../src/hardware/modbus-values.ts';
import { systemClock } from '../../../src/host/clock.ts';

interface Exchange {
  readonly transport: HostConnection['transport'];
  readonly unit: number;
  readonly does: 'read' | 'words' | 'bits' | 'write' | 'coil' | 'bit' | 'refused';
  readonly table: ModbusTable;
  readonly address: number;
  readonly type: ModbusType;
  readonly wordOrder: 'big' | 'little';
  readonly bit: number;
  readonly value: unknown;
  readonly request: string;
  readonly response: string;
}

const { signal } = new AbortController();
const lines = await readFile(
  join(import.meta.dirname, '../../fixtures/sensors/modbus/exchanges-pymodbus.jsonl'),
  'utf8',
);
const exchanges = lines
  .trim()
  .split('\n')
  .map((line): Exchange => JSON.parse(line));
const sockets = new Set<Socket>();
let server: Server;
let modbus: Modbus;
let current: Exchange;
let asked: string[];

beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.on('data', (bytes) => {
      // A transaction has a number of its own over TCP.
      const number = current.transport === 'tcp' ? bytes.subarray(0, 2) : Buffer.alloc(0);
      asked.push(Buffer.concat([Buffer.alloc(number.length), bytes.subarray(number.length)]).toString('hex'));
      socket.write(Buffer.concat([number, Buffer.from(current.response, 'hex').subarray(number.length)]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  modbus = new Modbus({ clock: systemClock, serial: new LinuxSerial({ clock: systemClock }) });
});

afterAll(async () => {
  await modbus.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

/** By the code of an exception (V1.1b3, section 7). */
const REFUSALS: Readonly<Record<number, RegExp>> = {
  1: /unit refused: .*function/,
  2: /unit refused: .*address/,
  3: /unit refused: .*value/,
  4: /unit refused: .*fail/,
  10: /gateway has no answer/,
  11: /gateway has no answer/,
};

const ACTS: Readonly<Record<Exchange['does'], (link: ModbusLink, exchange: Exchange) => Promise<unknown>>> = {
  read: async (link, { unit, table, address, type, wordOrder }) => {
    const range = { table, address, count: registersOf({ type }) } as Parameters<ModbusLink['readRegisters']>[1];
    return decodeModbus(await link.readRegisters(unit, range, signal), { type, wordOrder, byteOrder: 'big' });
  },
  words: (link, { unit, address }) => link.readRegisters(unit, { table: 'holding', address, count: 125 }, signal),
  bits: (link, { unit, table, address }) =>
    link.readBits(unit, { table, address, count: 19 } as Parameters<ModbusLink['readBits']>[1], signal),
  write: (link, { unit, address, value }) =>
    link.writeRegisters(unit, address, value as number[], signal).then(() => value),
  coil: (link, { unit, address, value }) => link.writeCoil(unit, address, value === true, signal).then(() => value),
  bit: (link, { unit, address, bit, value }) =>
    link
      .ranked('movement', 22)
      .writeBit(unit, { address, bit, on: value === true }, signal)
      .then(() => value),
  refused: async (link, { unit, address, value }) => {
    const refused = link.readRegisters(unit, { table: 'holding', address, count: 1 }, signal);
    await expect(refused).rejects.toThrow(REFUSALS[Number(value)]);
    return value;
  },
};

it.each(
  exchanges.map(
    (exchange) =>
      [
        `${exchange.transport}: ${exchange.does} ${exchange.type ?? ''} ${exchange.value}`.slice(0, 60),
        exchange,
      ] as const,
  ),
)('asks and understands as pymodbus does, %s', async (_name, exchange) => {
  current = exchange;
  asked = [];
  const { port } = server.address() as AddressInfo;
  const link = await modbus.open(
    { transport: exchange.transport, host: '127.0.0.1', port, responseTimeoutMs: 1_000 },
    signal,
  );
  try {
    expect(await ACTS[exchange.does](link, exchange)).toEqual(exchange.value);
    expect(asked[0]).toBe(exchange.request);
  } finally {
    await link.close();
  }
});
