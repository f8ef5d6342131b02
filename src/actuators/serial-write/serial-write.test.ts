/** Words over a serial line, and the answer that means they were heard. */
import { beforeEach, describe, expect, it } from 'vitest';
import { COMMON, opensWith } from '../../../test/support/actuator-driver.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { SerialBuses } from '../../hardware/serial-buses.ts';
import type { SerialPort, SerialPorts } from '../../hardware/serial-port.ts';
import { systemClock } from '../../host/clock.ts';
import type { SerialWriteConfig } from './definition.ts';
import { opener } from './driver.ts';

const never = new AbortController().signal;
const open = opensWith(opener);

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
  const config = (expect?: string): SerialWriteConfig => ({
    ...COMMON,
    kind: 'serial-write',
    port: '/dev/ttyUSB0',
    baudRate: 9600,
    dataBits: 8,
    parity: 'none',
    stopBits: 1,
    valueType: 'number',
    template: 'SET {value}\r\n',
    replyTimeoutMs: 50,
    ...(expect === undefined ? {} : { expect }),
  });
  beforeEach(() => {
    written = [];
    listeners = new Set();
    [closed, writeFault, answer] = [0, undefined, undefined];
  });

  it('says its template with the value in it, dollars and all', async () => {
    const clock = new FakeClock();
    const driver = await open(config(), { serialBuses: new SerialBuses(serial, systemClock) }, clock);
    for (const value of [21.5, '$& $1', true]) void driver.write(value, never);
    await clock.advance(0);
    expect([listeners.size, clock.pending]).toEqual([0, 0]);
    expect(written).toEqual(['SET 21.5\r\n', 'SET $& $1\r\n', 'SET 1\r\n']);
  });

  it('has moved when the answer has come, in whatever pieces, and has failed when it has not', async () => {
    const driver = await open(config('^OK\\b'), { serialBuses: new SerialBuses(serial, systemClock) });
    answer = 'OK 21\r\n';
    await driver.write(21, never);
    answer = 'ERR\r\n';
    await expect(driver.write(22, never)).rejects.toMatchObject({ code: 'actuators/no-answer', recovery: 'retry' });
    expect(listeners.size).toBe(0);
    await driver.close();
    expect([closed, openedWith]).toEqual([
      1,
      { port: '/dev/ttyUSB0', baudRate: 9600, dataBits: 8, parity: 'none', stopBits: 1 },
    ]);
  });

  it('has moved when its answer is a line of its own behind the end of another', async () => {
    answer = '\x07.5\r\nOK\r\n';
    const driver = await open(config('^OK'), { serialBuses: new SerialBuses(serial, systemClock) });
    await driver.write(1, never);
    expect(written).toEqual(['SET 1\r\n']);
  });

  it('is no longer listened to by whoever has gone, or could not speak, and leaves nothing behind', async () => {
    const clock = new FakeClock();
    const driver = await open(config('^OK\\b'), { serialBuses: new SerialBuses(serial, systemClock) }, clock);
    const caller = new AbortController();
    answer = undefined;
    const writing = driver.write(21, caller.signal).catch((error: Error) => error.message);
    await clock.advance(0);
    expect([listeners.size, clock.pending]).toEqual([1, 1]);
    caller.abort();
    expect([await writing, listeners.size, clock.pending]).toEqual([
      '/dev/ttyUSB0: nobody waits for the answer any more',
      0,
      0,
    ]);
    writeFault = new Error('unplugged');
    await expect(driver.write(21, never)).rejects.toThrow('unplugged');
    expect([listeners.size, clock.pending]).toEqual([0, 0]);
    const late = driver.write(21, never);
    await expect(late).rejects.toThrow('unplugged');
  });

  it('waits for an answer as long as is declared, and remembers so much of what it hears', async () => {
    const clock = new FakeClock();
    const driver = await open(config('OK'), { serialBuses: new SerialBuses(serial, systemClock) }, clock);
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
    // Bytes that came long before are forgotten.
    answer = `O${'.'.repeat(4_095)}K`;
    const first = await open(config('O[^]*K'), { serialBuses: new SerialBuses(serial, systemClock) }, clock);
    const forgotten = first.write(21, never).catch((error: { code: string }) => error.code);
    await clock.advance(50);
    expect(await forgotten).toBe('actuators/no-answer');
    answer = `O${'.'.repeat(4_094)}K`;
    await first.write(21, never);
  });
});
