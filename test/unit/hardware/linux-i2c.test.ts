/** The adapter's own rules, over a twin of i2c-bus whose abilities and faults the test decides; test/contract runs it on real buses. */
import type { I2CFuncs, PromisifiedBus } from 'i2c-bus';
import { describe, expect, it } from 'vitest';
import { LinuxI2c } from '../../../src/hardware/linux-i2c.ts';

const { signal } = new AbortController();
const PLAIN: Partial<I2CFuncs> = { i2c: true, smbusReceiveByte: true, smbusReadI2cBlock: true, smbusReadWord: true };
const SMBUS: Partial<I2CFuncs> = { i2c: false, smbusReceiveByte: true, smbusReadI2cBlock: true, smbusReadWord: true };

interface Twin {
  readonly port: LinuxI2c;
  readonly calls: string[];
  closed: number;
}

/** @param answer may throw, or never answer. */
function twin(funcs: Partial<I2CFuncs>, answer: (call: string) => Promise<void> = async () => {}): Twin {
  const calls: string[] = [];
  const state: Twin = {
    port: new LinuxI2c({ openNumber: async () => bus as unknown as PromisifiedBus }),
    calls,
    closed: 0,
  };
  const note = async <T>(call: string, result: T): Promise<T> => {
    calls.push(call);
    await answer(call);
    return result;
  };
  const fill = (buffer: Buffer): { bytesRead: number; buffer: Buffer } => ({
    bytesRead: buffer.fill(0xab).length,
    buffer,
  });
  const bus = {
    i2cFuncs: async () => funcs,
    i2cWrite: (address: number, length: number, bytes: Buffer) =>
      note(`write ${address} ${bytes.toString('hex')}`, { bytesWritten: length, buffer: bytes }),
    i2cRead: (address: number, length: number, bytes: Buffer) => note(`read ${address} ${length}`, fill(bytes)),
    readI2cBlock: (address: number, register: number, length: number, bytes: Buffer) =>
      note(`block ${address} ${register} ${length}`, fill(bytes)),
    readByte: (address: number, register: number) => note(`byte ${address} ${register}`, 0xab),
    readWord: (address: number, register: number) => note(`word ${address} ${register}`, 0x3412),
    writeWord: (address: number, register: number, word: number) =>
      note(`setWord ${address} ${register} ${word.toString(16)}`, undefined),
    writeByte: (address: number, register: number, byte: number) =>
      note(`setByte ${address} ${register} ${byte}`, undefined),
    sendByte: (address: number, byte: number) => note(`send ${address} ${byte}`, undefined),
    receiveByte: (address: number) => note(`receive ${address}`, 0),
    close: async () => {
      state.closed += 1;
    },
  };
  return state;
}

describe('LinuxI2c', () => {
  it('reads registers in blocks of at most 32 bytes', async () => {
    const { port, calls } = twin(PLAIN);
    const bus = await port.openBus(1, signal);
    expect(await bus.readRegisters(0x76, 0x88, 40, signal)).toHaveLength(40);
    expect(calls).toEqual(['block 118 136 32', 'block 118 168 8']);
  });

  it('turns the bytes of a word round, because SMBus sends the low one first', async () => {
    const { port, calls } = twin(SMBUS);
    const bus = await port.openBus(1, signal);
    expect(await bus.readWord(0x48, 0, signal)).toBe(0x1234);
    await bus.writeWord(0x48, 1, 0x8583, signal);
    expect(calls).toEqual(['word 72 0', 'setWord 72 1 8385']);
  });

  it('uses plain transfers where there are some, and says what SMBus has no form for', async () => {
    const plain = twin(PLAIN);
    const bus = await plain.port.openBus(1, signal);
    await bus.write(0x44, Uint8Array.of(0x24, 0x00), signal);
    await bus.read(0x44, 6, signal);
    await bus.writeWord(0x48, 1, 0x8583, signal);
    expect(plain.calls).toEqual(['write 68 2400', 'read 68 6', 'write 72 018583']);
    const smbus = twin(SMBUS);
    const narrow = await smbus.port.openBus(1, signal);
    await narrow.write(0x44, Uint8Array.of(0x24, 0x00), signal);
    expect(smbus.calls).toEqual(['setByte 68 36 0']);
    await expect(narrow.read(0x44, 6, signal)).rejects.toMatchObject({
      code: 'hardware/unsupported',
      recovery: 'hold',
    });
  });

  it('does one transfer at a time, and waits for a hung one even after its caller was let go', async () => {
    const release: (() => void)[] = [];
    const { port, calls } = twin(PLAIN, () => new Promise((resolve) => release.push(resolve)));
    const bus = await port.openBus(1, signal);
    await expect(bus.read(0x44, 1, AbortSignal.timeout(20))).rejects.toMatchObject({ code: 'hardware/deadline' });
    await expect(bus.read(0x45, 1, AbortSignal.timeout(20))).rejects.toMatchObject({ code: 'hardware/deadline' });
    const third = bus.read(0x46, 1, signal);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls).toEqual(['read 68 1']);
    release.shift()?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls).toEqual(['read 68 1', 'read 70 1']); // the second had given up before its turn
    release.shift()?.();
    await third;
  });

  it('opens a bus that hangs anew only when what hangs has ended, so that it holds one thread of the pool', async () => {
    const release: (() => void)[] = [];
    const state = twin(PLAIN, () => new Promise((resolve) => release.push(resolve)));
    for (let attempt = 0; attempt < 4; attempt += 1) {
      const read = async (): Promise<unknown> => {
        const bus = await state.port.openBus(1, AbortSignal.timeout(20));
        void bus.read(0x44, 1, signal).catch(() => {});
        void bus.close();
        return bus;
      };
      if (attempt === 0) await read();
      else await expect(read()).rejects.toMatchObject({ code: 'hardware/deadline' });
    }
    expect([state.calls, state.closed]).toEqual([['read 68 1'], 0]);
    release.shift()?.();
    const bus = await state.port.openBus(1, signal);
    expect(state.closed).toBe(1);
    void bus.read(0x45, 1, signal);
    expect(state.calls).toEqual(['read 68 1', 'read 69 1']);
  });

  it('tells a missing chip from a kernel driver and from a broken bus', async () => {
    const failing = (code: string) => twin(PLAIN, () => Promise.reject(Object.assign(new Error(code), { code })));
    for (const [code, expected] of [
      ['ENXIO', /0x44 on i2c-1: no chip acknowledges/],
      ['EREMOTEIO', /no chip acknowledges/],
      ['EBUSY', /a kernel driver holds that address/],
      ['ETIMEDOUT', /\(ETIMEDOUT\)/],
      ['EACCES', /group i2c/],
    ] as const) {
      const bus = await failing(code).port.openBus(1, signal);
      await expect(bus.read(0x44, 1, signal)).rejects.toThrow(expected);
    }
    const bus = await failing('ENXIO').port.openBus(1, signal);
    expect(await bus.probe(0x44, signal)).toBe(false);
  });

  it('says how to get a bus that is not there', async () => {
    await expect(new LinuxI2c().openBus(251, signal)).rejects.toThrow(/there is no i2c-251: is the bus enabled/);
  });

  it('leaves a bus that is slow to open to the next caller, and tries again when it failed', async () => {
    let attempts = 0;
    const bus = { i2cFuncs: async () => PLAIN, receiveByte: async () => 0, close: async () => {} };
    const slow = new LinuxI2c({
      openNumber: async () => {
        attempts += 1;
        if (attempts === 1) throw Object.assign(new Error('busy'), { code: 'EBUSY' });
        await new Promise((resolve) => setTimeout(resolve, 60));
        return bus as unknown as PromisifiedBus;
      },
    });
    await expect(slow.openBus(1, signal)).rejects.toMatchObject({ code: 'hardware/i2c-failed' });
    await expect(slow.openBus(1, AbortSignal.timeout(10))).rejects.toMatchObject({ code: 'hardware/deadline' });
    const opened = await slow.openBus(1, signal);
    expect(await opened.probe(0x44, signal)).toBe(true);
    expect(attempts).toBe(2);
  });

  it('opens a bus once for all its users, closes it with the last, and opens it anew', async () => {
    const state = twin(PLAIN);
    const [first, second] = await Promise.all([state.port.openBus(1, signal), state.port.openBus(1, signal)]);
    await first.close();
    await first.close();
    expect(state.closed).toBe(0);
    await second.close();
    expect(state.closed).toBe(1);
    await state.port.openBus(1, signal);
    await state.port.close();
    expect(state.closed).toBe(2);
  });
});
