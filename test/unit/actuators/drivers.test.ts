import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCommand } from '../../../src/actuators/command.ts';
import { openModbusWrite } from '../../../src/actuators/modbus-write.ts';
import { openPwm } from '../../../src/actuators/pwm.ts';
import { openSerialWrite } from '../../../src/actuators/serial-write.ts';
import type { ActuatorConfigOf } from '../../../src/config/agent-config.ts';
import type { ModbusLink, ModbusPort } from '../../../src/hardware/modbus-port.ts';
import type { PwmPort, PwmState } from '../../../src/hardware/pwm-port.ts';
import type { SerialPort, SerialPorts } from '../../../src/hardware/serial-port.ts';
import { systemClock } from '../../../src/host/clock.ts';

const never = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-drivers-'));
});
afterEach(() => rm(folder, { recursive: true }));

const common = { name: 'a', enabled: true, desiredKey: 'a', stateKey: 'aState', restore: false, safe: {}, limits: {}, interlocks: [] };

describe('a command actuator', () => {
  const config = (changes: Partial<ActuatorConfigOf<'command'>>): ActuatorConfigOf<'command'> => ({
    ...{ ...common, kind: 'command', program: '/bin/sh', arguments: [], valueType: 'string', timeoutMs: 1_000 },
    ...changes,
  });

  it('gives the value to its program as one argument, whatever is in it', async () => {
    const out = join(folder, 'out');
    const driver = openCommand(config({ arguments: ['-c', `printf %s "$1" > ${out}`, 'sh', '{value}'] }), systemClock);
    const nasty = `$(touch ${folder}/pwned); "'\`x\` > y`;
    await driver.write(nasty, never);
    expect(await readFile(out, 'utf8')).toBe(nasty);
    await expect(readFile(join(folder, 'pwned'))).rejects.toThrow();
  });

  it('refuses a value that would be an option, and lets a negative number through', async () => {
    const out = join(folder, 'out');
    const driver = openCommand(config({ arguments: ['-c', `printf %s "$1" > ${out}`, 'sh', '{value}'] }), systemClock);
    await expect(driver.write('--force', never)).rejects.toMatchObject({ code: 'host/bad-argument' });
    await driver.write(-5, never);
    expect(await readFile(out, 'utf8')).toBe('-5');
  });

  it('fails with what the program said, when it fails, hangs or is not there', async () => {
    const failing = openCommand(config({ arguments: ['-c', 'echo no paper >&2; exit 3'] }), systemClock);
    await expect(failing.write(true, never)).rejects.toMatchObject({
      code: 'actuators/program-failed',
      message: '/bin/sh ended with 3: no paper',
    });
    const hanging = openCommand(config({ arguments: ['-c', 'sleep 60 & wait'], timeoutMs: 100 }), systemClock);
    await expect(hanging.write(true, never)).rejects.toMatchObject({ code: 'host/program-deadline' });
    const missing = openCommand(config({ program: '/nonexistent' }), systemClock);
    await expect(missing.write(true, never)).rejects.toMatchObject({ code: 'host/program-not-started' });
  });

  it('reads back what its other program prints, as the type it has', async () => {
    await writeFile(join(folder, 'state'), ' on\n');
    const readBack = { program: '/bin/cat', arguments: [join(folder, 'state')] };
    expect(await openCommand(config({ readBack, valueType: 'boolean' }), systemClock).read?.(never)).toBe(true);
    expect(await openCommand(config({ readBack, valueType: 'string' }), systemClock).read?.(never)).toBe('on');
    await expect(openCommand(config({ readBack, valueType: 'number' }), systemClock).read?.(never)).rejects.toMatchObject({
      code: 'actuators/bad-read-back',
    });
  });

  it('keeps the agent’s environment to itself', async () => {
    process.env.TURNSTONE_TEST_SECRET = 'hidden';
    const out = join(folder, 'out');
    await openCommand(config({ arguments: ['-c', `env > ${out}`] }), systemClock).write(true, never);
    expect(await readFile(out, 'utf8')).not.toContain('hidden');
  });
});

describe('a PWM actuator', () => {
  it('takes percent and reads back what it set, as the hardware rounds it', async () => {
    let state: PwmState = { periodNs: 0, dutyNs: 0, enabled: false };
    const channel = {
      set: async (next: PwmState) => {
        state = { ...next, dutyNs: Math.round(next.dutyNs / 40) * 40 };
      },
      read: async () => state,
      close: async () => {},
    };
    const pwm = { openChannel: async () => channel } as Partial<PwmPort> as PwmPort;
    const config: ActuatorConfigOf<'pwm'> = { ...common, kind: 'pwm', chip: 0, channel: 1, frequencyHz: 25_000, inverted: false };
    const driver = await openPwm(config, pwm, never);
    expect(await driver.read?.(never)).toBe(0);
    await driver.write(33, never);
    expect([state, await driver.read?.(never)]).toEqual([{ periodNs: 40_000, dutyNs: 13_200, enabled: true }, 33]);
    state = { periodNs: 40_000, dutyNs: 20_000, enabled: true };
    expect(await driver.read?.(never)).toBe(50);
    await driver.write(0, never);
    expect([state.enabled, await driver.read?.(never)]).toEqual([false, 0]);
  });
});

describe('a serial actuator', () => {
  let written: string[];
  let answer: string | undefined;
  let listeners: Set<(bytes: Uint8Array) => void>;
  const serial = {
    open: async () =>
      ({
        path: '/dev/ttyUSB0',
        plugged: true,
        write: async (bytes: Uint8Array) => {
          written.push(Buffer.from(bytes).toString());
          for (const piece of answer ?? '') for (const listener of listeners) listener(Buffer.from(piece));
        },
        onBytes: (listener: (bytes: Uint8Array) => void) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        onPlug: () => () => {},
        close: async () => {},
      }) satisfies SerialPort,
  } as Partial<SerialPorts> as SerialPorts;
  const config = (expect?: string): ActuatorConfigOf<'serial-write'> => ({
    ...{ ...common, kind: 'serial-write', port: '/dev/ttyUSB0', baudRate: 9600, dataBits: 8, parity: 'none', stopBits: 1 },
    ...{ valueType: 'number', template: 'SET {value}\r\n', replyTimeoutMs: 50 },
    ...(expect === undefined ? {} : { expect }),
  });
  beforeEach(() => {
    written = [];
    listeners = new Set();
  });

  it('says its template with the value in it, dollars and all', async () => {
    const driver = await openSerialWrite(config(), { serial, clock: systemClock }, never);
    await driver.write(21.5, never);
    await driver.write('$& $1', never);
    await driver.write(true, never);
    expect(written).toEqual(['SET 21.5\r\n', 'SET $& $1\r\n', 'SET 1\r\n']);
  });

  it('has moved when the answer has come, in whatever pieces, and has failed when it has not', async () => {
    const driver = await openSerialWrite(config('^OK\\b'), { serial, clock: systemClock }, never);
    answer = 'OK 21\r\n';
    await driver.write(21, never);
    answer = 'ERR\r\n';
    await expect(driver.write(22, never)).rejects.toMatchObject({ code: 'actuators/no-answer' });
    expect(listeners.size).toBe(0);
  });
});

describe('a Modbus actuator', () => {
  let registers: Map<number, number>;
  let coils: Map<number, boolean>;
  const link = {
    writeRegisters: async (_unit: number, address: number, words: readonly number[]) => {
      for (const [at, word] of words.entries()) registers.set(address + at, word);
    },
    readRegisters: async (_unit: number, _table: string, address: number, count: number) =>
      Array.from({ length: count }, (_, at) => registers.get(address + at) ?? 0),
    writeCoil: async (_unit: number, address: number, on: boolean) => void coils.set(address, on),
    readBits: async (_unit: number, _table: string, address: number) => [coils.get(address) === true],
    close: async () => {},
  } as Partial<ModbusLink> as ModbusLink;
  const modbus = { open: async () => link } as Partial<ModbusPort> as ModbusPort;
  const config = (changes: Partial<ActuatorConfigOf<'modbus-write'>>): ActuatorConfigOf<'modbus-write'> => ({
    ...{ ...common, kind: 'modbus-write', connection: { transport: 'tcp', host: 'plc', port: 502, responseTimeoutMs: 100 }, unitId: 1 },
    ...{ table: 'holding', address: 40, type: 'int16', wordOrder: 'big', byteOrder: 'big', scale: 1, offset: 0, readBack: true },
    ...changes,
  });
  beforeEach(() => {
    registers = new Map();
    coils = new Map();
  });

  it('writes what its register means, and reads back what was wanted where the register rounds', async () => {
    const driver = await openModbusWrite(config({ scale: 0.1, offset: -10 }), modbus, never);
    await driver.write(21.37, never);
    expect([registers.get(40), await driver.read?.(never)]).toEqual([314, 21.37]);
    registers.set(40, 0xffff);
    expect(await driver.read?.(never)).toBe(-10.1);
    await expect(driver.write(1e6, never)).rejects.toMatchObject({ code: 'hardware/modbus-no-number' });
  });

  it('writes long numbers in the maker’s order', async () => {
    const driver = await openModbusWrite(config({ type: 'float32', wordOrder: 'little' }), modbus, never);
    await driver.write(1.5, never);
    // IEEE 754: 1.5 is 3FC00000h.
    expect([registers.get(40), registers.get(41), await driver.read?.(never)]).toEqual([0, 0x3fc0, 1.5]);
  });

  it('switches a coil, and a register that holds a bit', async () => {
    const coil = await openModbusWrite(config({ table: 'coil' }), modbus, never);
    await coil.write(true, never);
    expect([coils.get(40), await coil.read?.(never)]).toEqual([true, true]);
    const bit = await openModbusWrite(config({ type: 'bool' }), modbus, never);
    await bit.write(true, never);
    expect([registers.get(40), await bit.read?.(never)]).toEqual([1, true]);
    registers.set(40, 0);
    expect(await bit.read?.(never)).toBe(false);
  });

  it('is not read back where that is not wanted', async () => {
    expect((await openModbusWrite(config({ readBack: false }), modbus, never)).read).toBeUndefined();
  });
});
