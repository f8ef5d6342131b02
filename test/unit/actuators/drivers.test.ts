import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openCommand } from '../../../src/actuators/command.ts';
import { openGpioOutput } from '../../../src/actuators/gpio-output.ts';
import { openModbusWrite } from '../../../src/actuators/modbus-write.ts';
import { OwedAnswers } from '../../../src/actuators/owed-answers.ts';
import { openPwm } from '../../../src/actuators/pwm.ts';
import { openSerialWrite } from '../../../src/actuators/serial-write.ts';
import type { ActuatorConfigOf } from '../../../src/config/agent-config.ts';
import type { GpioPort } from '../../../src/hardware/gpio-port.ts';
import type { ModbusLink, ModbusPort } from '../../../src/hardware/modbus-port.ts';
import type { PwmPort, PwmState } from '../../../src/hardware/pwm-port.ts';
import type { SerialPort, SerialPorts } from '../../../src/hardware/serial-port.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { FakeClock } from '../../support/fake-clock.ts';

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
    const driver = openCommand(config({ arguments: ['-c', `printf %s "$1" > ${out}`, 'sh', '{value}'] }), {
      clock: systemClock,
      runProgram,
    });
    const nasty = `$(touch ${folder}/pwned); "'\`x\` > y`;
    await driver.write(nasty, never);
    expect(await readFile(out, 'utf8')).toBe(nasty);
    await expect(readFile(join(folder, 'pwned'))).rejects.toThrow();
  });

  it('refuses a value that would be an option, and lets a negative number through', async () => {
    const out = join(folder, 'out');
    const driver = openCommand(config({ arguments: ['-c', `printf %s "$1" > ${out}`, 'sh', '{value}'] }), {
      clock: systemClock,
      runProgram,
    });
    await expect(driver.write('--force', never)).rejects.toMatchObject({ code: 'host/bad-argument' });
    await driver.write(-5, never);
    expect(await readFile(out, 'utf8')).toBe('-5');
  });

  it('fails with what the program said, when it fails, hangs or is not there', async () => {
    const failing = openCommand(config({ arguments: ['-c', 'echo no paper >&2; exit 3'] }), { clock: systemClock, runProgram });
    await expect(failing.write(true, never)).rejects.toMatchObject({
      code: 'actuators/program-failed',
      message: '/bin/sh ended with 3: no paper',
    });
    const hanging = openCommand(config({ arguments: ['-c', 'sleep 60 & wait'], timeoutMs: 100 }), { clock: systemClock, runProgram });
    await expect(hanging.write(true, never)).rejects.toMatchObject({ code: 'host/program-deadline' });
    const missing = openCommand(config({ program: '/nonexistent' }), { clock: systemClock, runProgram });
    await expect(missing.write(true, never)).rejects.toMatchObject({ code: 'host/program-not-started' });
  });

  it('reads back what its other program prints, as the type it has', async () => {
    await writeFile(join(folder, 'state'), ' on\n');
    const readBack = { program: '/bin/cat', arguments: [join(folder, 'state')] };
    expect(await openCommand(config({ readBack, valueType: 'boolean' }), { clock: systemClock, runProgram }).read?.(never)).toBe(true);
    expect(await openCommand(config({ readBack, valueType: 'string' }), { clock: systemClock, runProgram }).read?.(never)).toBe('on');
    await expect(
      openCommand(config({ readBack, valueType: 'number' }), { clock: systemClock, runProgram }).read?.(never),
    ).rejects.toMatchObject({
      code: 'actuators/bad-read-back',
    });
  });

  it('reads back each word and number for what it is, and nothing that only looks like it', async () => {
    const read = (printed: string, valueType: 'boolean' | 'number' | 'string'): Promise<unknown> => {
      const readBack = { program: '/bin/echo', arguments: ['-n', printed] };
      const driver = openCommand(config({ readBack, valueType }), { clock: systemClock, runProgram });
      return driver.read?.(never).catch((error: { code: string }) => error.code) ?? Promise.resolve('unreadable');
    };
    const all = (valueType: 'boolean' | 'number', ...printed: string[]): Promise<unknown[]> =>
      Promise.all(printed.map((one) => read(one, valueType)));
    const bad = 'actuators/bad-read-back';
    expect(await all('boolean', '1', 'TRUE', 'on', '0', 'false', 'Off', '2', 'online', '')).toEqual([
      ...[true, true, true, false, false, false, bad, bad, bad],
    ]);
    expect(await all('number', '-1.5', '0', '', '1e999', '1 2')).toEqual([-1.5, 0, bad, bad, bad]);
    expect(await read('', 'string')).toBe('');
  });

  it('says how its program ended, in a few words', async () => {
    const told = async (script: string): Promise<string> =>
      await openCommand(config({ arguments: ['-c', script] }), { clock: systemClock, runProgram })
        .write(true, never)
        .then(
          () => 'moved',
          (error: Error) => error.message,
        );
    expect(await told('exit 4')).toBe('/bin/sh ended with 4');
    expect(await told('kill -9 $$')).toBe('/bin/sh was ended by a signal');
    expect((await told(`printf '%0300d' 7 >&2; exit 1`)).length).toBe('/bin/sh ended with 1: '.length + 200);
    expect(await told('exit 0')).toBe('moved');
  });

  it('cannot be asked without a program for it, and has nothing to give back', async () => {
    const driver = openCommand(config({}), { clock: systemClock, runProgram });
    expect([driver.read, await driver.close()]).toEqual([undefined, undefined]);
  });

  it('keeps the agent’s environment to itself', async () => {
    process.env.TURNSTONE_TEST_SECRET = 'hidden';
    onTestFinished(() => void delete process.env.TURNSTONE_TEST_SECRET);
    const out = join(folder, 'out');
    await openCommand(config({ arguments: ['-c', `env > ${out}`] }), { clock: systemClock, runProgram }).write(true, never);
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
      close: async () => {
        closed += 1;
      },
    };
    let closed = 0;
    let opened: unknown;
    const openChannel: PwmPort['openChannel'] = async (wanted) => {
      opened = wanted;
      return channel;
    };
    const pwm = { openChannel } as Partial<PwmPort> as PwmPort;
    const config: ActuatorConfigOf<'pwm'> = { ...common, kind: 'pwm', chip: 0, channel: 1, frequencyHz: 25_000, inverted: false };
    const driver = await openPwm(config, pwm, never);
    expect(await driver.read?.(never)).toBe(0);
    await driver.write(33, never);
    expect([state, await driver.read?.(never)]).toEqual([{ periodNs: 40_000, dutyNs: 13_200, enabled: true }, 33]);
    state = { periodNs: 40_000, dutyNs: 20_000, enabled: true };
    expect(await driver.read?.(never)).toBe(50);
    await driver.write(0, never);
    // Enabled: of a disabled channel nobody knows the level.
    expect([state, await driver.read?.(never)]).toEqual([{ periodNs: 40_000, dutyNs: 0, enabled: true }, 0]);
    state = { periodNs: 40_000, dutyNs: 0, enabled: false };
    await expect(driver.read?.(never)).rejects.toMatchObject({ code: 'actuators/unknown-level' });
    await driver.write(50, never);
    state = { periodNs: 40_000, dutyNs: 20_200, enabled: true };
    expect(await driver.read?.(never)).toBe(50);
    state = { periodNs: 40_000, dutyNs: 20_240, enabled: true };
    expect(await driver.read?.(never)).toBe(50.6);
    expect([opened, closed]).toEqual([{ chip: 0, channel: 1, polarity: 'normal' }, 0]);
    await driver.close();
    expect(closed).toBe(1);
    state = { periodNs: 0, dutyNs: 0, enabled: true };
    expect(await (await openPwm(config, pwm, never)).read?.(never)).toBe(0);
    const inverted = await openPwm({ ...config, inverted: true }, pwm, never);
    expect(opened).toMatchObject({ polarity: 'inversed' });
    state = { periodNs: 0, dutyNs: 0, enabled: false };
    await expect(inverted.read?.(never)).rejects.toMatchObject({ code: 'actuators/unknown-level', recovery: 'retry' });
  });
});

describe('a serial actuator', () => {
  let written: string[];
  let answer: string | undefined;
  let listeners: Set<(bytes: Uint8Array) => void>;
  let closed: number;
  let openedWith: unknown;
  let writeFault: Error | undefined;
  const serial = {
    open: async (settings: unknown) => {
      openedWith = settings;
      return {
        path: '/dev/ttyUSB0',
        plugged: true,
        write: async (bytes: Uint8Array) => {
          if (writeFault !== undefined) throw writeFault;
          written.push(Buffer.from(bytes).toString());
          for (const piece of answer ?? '') for (const listener of listeners) listener(Buffer.from(piece));
        },
        onBytes: (listener: (bytes: Uint8Array) => void) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        onPlug: () => () => {},
        close: async () => {
          closed += 1;
        },
      } satisfies SerialPort;
    },
  } as Partial<SerialPorts> as SerialPorts;
  const config = (expect?: string): ActuatorConfigOf<'serial-write'> => ({
    ...{ ...common, kind: 'serial-write', port: '/dev/ttyUSB0', baudRate: 9600, dataBits: 8, parity: 'none', stopBits: 1 },
    ...{ valueType: 'number', template: 'SET {value}\r\n', replyTimeoutMs: 50 },
    ...(expect === undefined ? {} : { expect }),
  });
  beforeEach(() => {
    written = [];
    listeners = new Set();
    [closed, writeFault, answer] = [0, undefined, undefined];
  });

  it('says its template with the value in it, dollars and all', async () => {
    const clock = new FakeClock();
    const driver = await openSerialWrite(config(), { serial, clock, owed: new OwedAnswers(clock) }, never);
    for (const value of [21.5, '$& $1', true]) void driver.write(value, never);
    await clock.advance(0);
    expect([listeners.size, clock.pending]).toEqual([0, 0]);
    expect(written).toEqual(['SET 21.5\r\n', 'SET $& $1\r\n', 'SET 1\r\n']);
  });

  it('has moved when the answer has come, in whatever pieces, and has failed when it has not', async () => {
    const driver = await openSerialWrite(config('^OK\\b'), { serial, clock: systemClock, owed: new OwedAnswers(systemClock) }, never);
    answer = 'OK 21\r\n';
    await driver.write(21, never);
    answer = 'ERR\r\n';
    await expect(driver.write(22, never)).rejects.toMatchObject({ code: 'actuators/no-answer', recovery: 'retry' });
    expect(listeners.size).toBe(0);
    await driver.close();
    expect([closed, openedWith]).toEqual([1, { port: '/dev/ttyUSB0', baudRate: 9600, dataBits: 8, parity: 'none', stopBits: 1 }]);
  });

  it('is no longer listened to by whoever has gone, or could not speak, and leaves nothing behind', async () => {
    const clock = new FakeClock();
    const driver = await openSerialWrite(config('^OK\\b'), { serial, clock, owed: new OwedAnswers(clock) }, never);
    const caller = new AbortController();
    answer = undefined;
    const writing = driver.write(21, caller.signal).catch((error: Error) => error.message);
    await clock.advance(0);
    expect([listeners.size, clock.pending]).toEqual([1, 1]);
    caller.abort();
    expect([await writing, listeners.size, clock.pending]).toEqual(['/dev/ttyUSB0: nobody waits for the answer any more', 0, 0]);
    writeFault = new Error('unplugged');
    await expect(driver.write(21, never)).rejects.toThrow('unplugged');
    expect([listeners.size, clock.pending]).toEqual([0, 0]);
    const late = driver.write(21, never);
    await expect(late).rejects.toThrow('unplugged');
  });

  it('waits for an answer as long as is declared, and remembers so much of what it hears', async () => {
    const clock = new FakeClock();
    const driver = await openSerialWrite(config('OK'), { serial, clock, owed: new OwedAnswers(clock) }, never);
    let ended: unknown;
    const writing = driver.write(21, never).then(
      () => {
        ended = 'moved';
      },
      (error: Error) => {
        ended = error.message;
      },
    );
    await clock.advance(49);
    expect(ended).toBeUndefined();
    await clock.advance(1);
    await writing;
    expect(ended).toBe('/dev/ttyUSB0: no answer that matches OK within 50 ms');
    // What came long before is forgotten.
    answer = `O${'.'.repeat(4_095)}K`;
    const first = await openSerialWrite(config('O[^]*K'), { serial, clock, owed: new OwedAnswers(clock) }, never);
    const forgotten = first.write(21, never).catch((error: { code: string }) => error.code);
    await clock.advance(50);
    expect(await forgotten).toBe('actuators/no-answer');
    answer = `O${'.'.repeat(4_094)}K`;
    await first.write(21, never);
  });
});

describe('a relay', () => {
  it('takes its line as it is, and is on at 1', async () => {
    const levels: number[] = [];
    let opened: unknown;
    const output = {
      write: async (level: number) => void levels.push(level),
      read: async () => levels.at(-1),
      close: async () => void levels.push(-1),
    };
    const openOutput = async (settings: unknown): Promise<unknown> => {
      opened = settings;
      return output;
    };
    const config: ActuatorConfigOf<'gpio-output'> = { ...common, kind: 'gpio-output', line: 'GPIO17', activeLow: true, maxPulseMs: 1_000 };
    const driver = await openGpioOutput(config, { openOutput } as Partial<GpioPort> as GpioPort, never);
    expect([opened, levels]).toEqual([{ line: 'GPIO17', activeLow: true, initial: 'keep' }, []]);
    await driver.write(true, never);
    expect([levels, await driver.read?.(never)]).toEqual([[1], true]);
    await driver.write(false, never);
    expect([levels, await driver.read?.(never)]).toEqual([[1, 0], false]);
    await driver.close();
    expect(levels).toEqual([1, 0, -1]);
  });
});

describe('a Modbus actuator', () => {
  let registers: Map<number, number>;
  let coils: Map<number, boolean>;
  let ranks: string[];
  const link: ModbusLink = {
    writeRegisters: async (_unit: number, address: number, words: readonly number[]) => {
      for (const [at, word] of words.entries()) registers.set(address + at, word);
    },
    readRegisters: async (_unit: number, _table: string, address: number, count: number) =>
      Array.from({ length: count }, (_, at) => registers.get(address + at) ?? 0),
    writeCoil: async (_unit: number, address: number, on: boolean) => void coils.set(address, on),
    readBits: async (_unit: number, _table: string, address: number) => [coils.get(address) === true],
    close: async () => {},
    ranked: (rank: string) => {
      ranks.push(rank);
      return link;
    },
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
    ranks = [];
  });

  it('goes before the readings on its line, and when it switches off before everything', async () => {
    for (const table of ['coil', 'holding'] as const) {
      const driver = await openModbusWrite(config({ table, type: 'bool' }), modbus, never);
      await driver.write(true, never);
      await driver.write(false, never);
      await driver.read?.(never);
    }
    expect(ranks).toEqual(['movement', 'off', 'movement', 'movement', 'off', 'movement']);
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

  it('believes what a register shows when one word of it is not as it was written', async () => {
    const driver = await openModbusWrite(config({ type: 'float32' }), modbus, never);
    await driver.write(1.5, never);
    registers.set(40, 0x4020);
    // IEEE 754: 40200000h is 2.5.
    expect(await driver.read?.(never)).toBe(2.5);
    await driver.write(1.5, never);
    registers.set(41, 1);
    expect(await driver.read?.(never)).toBeGreaterThan(1.5);
  });

  it('switches a coil off, and gives its link back', async () => {
    const closings: string[] = [];
    const counted = { open: async () => ({ ...link, close: async () => void closings.push('') }) } as Partial<ModbusPort> as ModbusPort;
    const coil = await openModbusWrite(config({ table: 'coil' }), counted, never);
    coils.set(40, true);
    await coil.write(false, never);
    expect([coils.get(40), await coil.read?.(never)]).toEqual([false, false]);
    await coil.close();
    expect(closings.length).toBe(1);
  });

  it('is not read back where that is not wanted', async () => {
    expect((await openModbusWrite(config({ readBack: false }), modbus, never)).read).toBeUndefined();
  });
});
