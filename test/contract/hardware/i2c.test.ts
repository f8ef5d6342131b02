/**
 * One suite over every way to an I2C bus: the simulated board, with and without plain transfers, and i2c-bus itself on TEST_I2C_BUS. There a
 * chip at TEST_I2C_ADDRESS (default 0x76) must have ordinary registers that keep what is written to 0xf5: a BME280, or i2c-stub.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { I2cPort } from '../../../src/hardware/i2c-port.ts';
import { LinuxI2c } from '../../../src/hardware/linux-i2c.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';

interface I2cBench {
  readonly port: I2cPort;
  readonly bus: number;
  readonly address: number;
  readonly board?: BoardBench;
  close(): Promise<void>;
}

const { signal } = new AbortController();
const realBus = process.env.TEST_I2C_BUS;
const CONFIG_REGISTER = 0xf5;

const adapters: readonly (readonly [string, () => Promise<I2cBench>])[] = [
  ['the simulated board', () => simulatedBench(false)],
  ['a simulated SMBus adapter', () => simulatedBench(true)],
  ...(realBus === undefined ? [] : [['TEST_I2C_BUS', () => realBench(Number(realBus))] as const]),
];

describe.each(adapters)('I2C over %s', (_name, openBench) => {
  let bench: I2cBench;
  beforeEach(async () => {
    bench = await openBench();
  });
  afterEach(() => bench.close());

  it('writes registers, and reads them back one by one and in a block', async () => {
    const bus = await bench.port.openBus(bench.bus, signal);
    await bus.writeRegisters(bench.address, CONFIG_REGISTER, Uint8Array.of(0x14), signal);
    expect([...(await bus.readRegisters(bench.address, CONFIG_REGISTER, 1, signal))]).toEqual([0x14]);
    const block = await bus.readRegisters(bench.address, CONFIG_REGISTER - 5, 11, signal);
    expect(block).toHaveLength(11);
    expect(block[5]).toBe(0x14);
  });

  it('finds a chip, and none where there is none', async () => {
    const bus = await bench.port.openBus(bench.bus, signal);
    expect(await bus.probe(bench.address, signal)).toBe(true);
    expect(await bus.probe(0x5a, signal)).toBe(false);
  });

  it('says which address did not answer', async () => {
    const bus = await bench.port.openBus(bench.bus, signal);
    await expect(bus.readRegisters(0x5a, 0, 1, signal)).rejects.toMatchObject({
      code: 'hardware/i2c-no-answer',
      recovery: 'retry',
    });
    await expect(bus.readRegisters(0x5a, 0, 1, signal)).rejects.toThrow(/0x5a/);
  });

  it('says that a bus does not exist', async () => {
    await expect(bench.port.openBus(251, signal)).rejects.toMatchObject({
      code: 'hardware/i2c-no-bus',
      recovery: 'retry',
    });
  });

  it('is shared by several users, and lives until the last has closed', async () => {
    const first = await bench.port.openBus(bench.bus, signal);
    const second = await bench.port.openBus(bench.bus, signal);
    await first.close();
    await first.close();
    expect(await second.probe(bench.address, signal)).toBe(true);
    await second.close();
    const third = await bench.port.openBus(bench.bus, signal);
    expect(await third.probe(bench.address, signal)).toBe(true);
  });

  it('lets a caller go at its deadline when the bus hangs, the one behind it too, and works when it is mended', async () => {
    const { board } = bench;
    if (board === undefined) return;
    const bus = await bench.port.openBus(bench.bus, signal);
    await board.ports.link.request('bench.fault', { target: 'i2c-1', fault: 'hang' }, signal);
    const deadline = AbortSignal.timeout(60);
    const both = await Promise.allSettled([
      bus.readRegisters(bench.address, 0, 1, deadline),
      bus.readRegisters(bench.address, 0, 1, deadline),
    ]);
    for (const one of both)
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'hardware/deadline', recovery: 'retry' } });
    await board.ports.link.request('bench.fault', { target: 'i2c-1', fault: null }, signal);
    expect(await bus.probe(bench.address, signal)).toBe(true);
  });
});

async function simulatedBench(smbusOnly: boolean): Promise<I2cBench> {
  const board = await openBoardBench(() => ({
    i2c: [{ bus: 1, smbusOnly, chips: [{ kind: 'bme280', address: 0x76 }] }],
  }));
  return { port: board.ports.i2c, bus: 1, address: 0x76, board, close: () => board.close() };
}

async function realBench(bus: number): Promise<I2cBench> {
  const port = new LinuxI2c();
  return { port, bus, address: Number(process.env.TEST_I2C_ADDRESS ?? 0x76), close: () => port.close() };
}
