/** Our Modbus client against a unit that others wrote: the TCP server of modbus-serial. */
import { type AddressInfo, createServer } from 'node:net';
import { ServerTCP } from 'modbus-serial';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LinuxSerial } from '../../../src/hardware/linux-serial.ts';
import { Modbus } from '../../../src/hardware/modbus.ts';
import type { ModbusConnection, ModbusLink } from '../../../src/hardware/modbus-port.ts';
import { systemClock } from '../../../src/host/clock.ts';

const { signal } = new AbortController();
const UNIT = 11;
const holding = new Map<number, number>();
const coils = new Map<number, boolean>();

let server: ServerTCP;
let modbus: Modbus;
let link: ModbusLink;
let connection: ModbusConnection;

beforeAll(async () => {
  const port = await freePort();
  const vector = {
    getHoldingRegister: (address: number) => holding.get(address) ?? address,
    getInputRegister: (address: number) => address + 1_000,
    getCoil: (address: number) => coils.get(address) ?? address % 3 === 0,
    getDiscreteInput: (address: number) => address % 2 === 1,
    setRegister: (address: number, value: number) => void holding.set(address, value),
    setCoil: (address: number, value: boolean) => void coils.set(address, value),
  };
  server = new ServerTCP(vector, { host: '127.0.0.1', port, unitID: UNIT });
  modbus = new Modbus({ clock: systemClock, serial: new LinuxSerial({ clock: systemClock }) });
  connection = { transport: 'tcp', host: '127.0.0.1', port, responseTimeoutMs: 1_000 };
  link = await modbus.open(connection, signal);
});

afterAll(async () => {
  await modbus.close();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

describe('Modbus/TCP against modbus-serial', () => {
  it('reads registers, as many as a request can carry', async () => {
    expect(await link.readRegisters(UNIT, { table: 'holding', address: 5, count: 3 }, signal)).toEqual([5, 6, 7]);
    expect(await link.readRegisters(UNIT, { table: 'input', address: 0, count: 125 }, signal)).toEqual(
      Array.from({ length: 125 }, (_, at) => 1_000 + at),
    );
  });

  it('reads bits across bytes', async () => {
    expect(await link.readBits(UNIT, { table: 'coil', address: 0, count: 19 }, signal)).toEqual(
      Array.from({ length: 19 }, (_, at) => at % 3 === 0),
    );
    expect(await link.readBits(UNIT, { table: 'discrete', address: 1, count: 2 }, signal)).toEqual([true, false]);
  });

  it('writes one register, several, and a coil', async () => {
    await link.writeRegisters(UNIT, 40, [0xabcd], signal);
    await link.writeRegisters(UNIT, 41, [1, 2, 0xffff], signal);
    await link.writeCoil(UNIT, 7, true, signal);
    expect([40, 41, 42, 43].map((address) => holding.get(address))).toEqual([0xabcd, 1, 2, 0xffff]);
    expect(coils.get(7)).toBe(true);
    expect(await link.readRegisters(UNIT, { table: 'holding', address: 40, count: 4 }, signal)).toEqual([
      0xabcd, 1, 2, 0xffff,
    ]);
  });

  it('keeps many questions at once apart', async () => {
    const asked = Array.from({ length: 60 }, (_, at) => at * 3);
    const answers = await Promise.all(
      asked.map((address) => link.readRegisters(UNIT, { table: 'input', address, count: 1 }, signal)),
    );
    expect(answers.map(([value]) => value)).toEqual(asked.map((address) => address + 1_000));
  });

  it('shares one connection, and says so when another is asked for on the same line', async () => {
    const second = await modbus.open(connection, signal);
    await second.close();
    expect(await link.readRegisters(UNIT, { table: 'holding', address: 1, count: 1 }, signal)).toEqual([1]);
  });

  it('says that nobody is there', async () => {
    const nobody = await modbus.open(
      { transport: 'tcp', host: '127.0.0.1', port: await freePort(), responseTimeoutMs: 500 },
      signal,
    );
    await expect(nobody.readRegisters(1, { table: 'holding', address: 0, count: 1 }, signal)).rejects.toMatchObject({
      code: 'hardware/modbus-no-answer',
      recovery: 'retry',
    });
  });

  it('makes no connection that nobody waits for any more', async () => {
    let connections = 0;
    const echo = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {});
      socket.on('data', (bytes) => socket.write(Buffer.concat([bytes.subarray(0, 4), Buffer.of(0, 5, 1, 3, 2, 0, 7)])));
    });
    const port = await new Promise<number>((resolve) =>
      echo.listen(0, '127.0.0.1', () => resolve((echo.address() as AddressInfo).port)),
    );
    const places: ((place: { host: string; port: number }) => void)[] = [];
    const placeOf = () => new Promise<{ host: string; port: number }>((resolve) => places.push(resolve));
    const slow = new Modbus({ clock: systemClock, serial: new LinuxSerial({ clock: systemClock }), placeOf });
    const unit = await slow.open({ transport: 'tcp', host: 'meter', port, responseTimeoutMs: 100 }, signal);
    const here = { host: '127.0.0.1', port };
    await expect(unit.readRegisters(1, { table: 'holding', address: 0, count: 1 }, signal)).rejects.toMatchObject({
      code: 'hardware/deadline',
    });
    places.shift()?.(here); // the name was found too late
    for (let at = 0; at < 3; at += 1) {
      const value = unit.readRegisters(1, { table: 'holding', address: 0, count: 1 }, signal);
      await new Promise((resolve) => setImmediate(resolve));
      places.shift()?.(here);
      expect(await value).toEqual([7]);
    }
    expect(connections).toBe(1);
    await slow.close();
    await new Promise((resolve) => echo.close(resolve));
  });

  it.each([
    ['another transaction number', (asked: Buffer) => Buffer.of(0xff, 0xff, 0, 0, 0, 5, asked[6] ?? 0, 3, 2, 0, 7)],
    [
      'another unit number (9) than 1',
      (asked: Buffer) => Buffer.concat([asked.subarray(0, 4), Buffer.of(0, 5, 9, 3, 2, 0, 7)]),
    ],
  ])('says that an answer came with %s', async (what, answer) => {
    const other = createServer((socket) =>
      socket.on('data', (asked) => socket.write(answer(asked))).on('error', () => {}),
    );
    const port = await new Promise<number>((resolve) =>
      other.listen(0, '127.0.0.1', () => resolve((other.address() as AddressInfo).port)),
    );
    const unit = await modbus.open({ transport: 'tcp', host: '127.0.0.1', port, responseTimeoutMs: 200 }, signal);
    await expect(unit.readRegisters(1, { table: 'holding', address: 0, count: 1 }, signal)).rejects.toMatchObject({
      code: 'hardware/modbus-bad-answer',
      message: `on the Modbus came an answer with ${what}; with lenient: true it is taken`,
    });
    await unit.close();
    other.close();
  });

  it('takes no nonsense for an answer, and comes back after it', async () => {
    const liar = createServer((socket) =>
      socket.on('data', () => socket.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))).on('error', () => {}),
    );
    const port = await new Promise<number>((resolve) =>
      liar.listen(0, '127.0.0.1', () => resolve((liar.address() as { port: number }).port)),
    );
    const fooled = await modbus.open({ transport: 'tcp', host: '127.0.0.1', port, responseTimeoutMs: 500 }, signal);
    for (let at = 0; at < 2; at += 1)
      await expect(fooled.readRegisters(1, { table: 'holding', address: 0, count: 1 }, signal)).rejects.toMatchObject({
        code: 'hardware/modbus-bad-answer',
      });
    await fooled.close();
    liar.close();
  });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve) =>
    probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port)),
  );
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
