/**
 * One suite over every way to a serial port: bytes over the board's socket; the real serialport package on a real pty of the board's; and
 * on TEST_SERIAL_PORT when it names a port whose far end sends back what it gets.
 */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LinuxSerial } from '../../../src/hardware/linux-serial.ts';
import type { SerialPorts } from '../../../src/hardware/serial-port.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { type BoardBench, openBoardBench, until } from '../../support/board-bench.ts';

interface SerialBench {
  readonly port: string;
  readonly ports: SerialPorts;
  /** Absent where nobody can pull the plug. */
  readonly setPlugged?: (plugged: boolean) => Promise<void>;
  close(): Promise<void>;
}

const { signal } = new AbortController();
const realPort = process.env.TEST_SERIAL_PORT;

const adapters: readonly (readonly [string, () => Promise<SerialBench>])[] = [
  ['the board socket', () => boardBench(false)],
  ['a pty of the board', () => boardBench(true)],
  ['a pty opened by itself', ptyBench],
  ...(realPort === undefined ? [] : [['TEST_SERIAL_PORT', () => realBench(realPort)] as const]),
];

describe.each(adapters)('serial over %s', (_name, openBench) => {
  let bench: SerialBench;
  beforeEach(async () => {
    bench = await openBench();
  });
  afterEach(() => bench.close());

  it('carries every byte value both ways', async () => {
    const port = await bench.ports.open({ port: bench.port, baudRate: 115_200 }, signal);
    const got: number[] = [];
    port.onBytes((bytes) => got.push(...bytes));
    const sent = Uint8Array.from({ length: 256 }, (_, at) => at);
    await port.write(sent, signal);
    await until('256 bytes', () => got.length >= 256);
    expect(got).toEqual([...sent]);
    await port.close();
  });

  it('says that a port does not exist', async () => {
    await expect(bench.ports.open({ port: '/dev/no-such-port', baudRate: 9600 }, signal)).rejects.toMatchObject({
      code: 'hardware/serial-no-port',
      recovery: 'retry',
    });
  });

  it('notices that it is unplugged, refuses to write, and works again when it is back', async () => {
    if (bench.setPlugged === undefined) return;
    const port = await bench.ports.open({ port: bench.port, baudRate: 115_200 }, signal);
    const plugs: boolean[] = [];
    let got = '';
    port.onPlug((plugged) => plugs.push(plugged));
    port.onBytes((bytes) => {
      got += Buffer.from(bytes).toString();
    });
    await bench.setPlugged(false);
    await until('unplugged', () => plugs.length === 1);
    expect(port.plugged).toBe(false);
    await expect(port.write(Buffer.from('lost'), signal)).rejects.toMatchObject({ code: 'hardware/serial-unplugged' });
    await bench.setPlugged(true);
    await until('plugged', () => plugs.length === 2);
    expect(plugs).toEqual([false, true]);
    await port.write(Buffer.from('hello'), signal);
    await until('the echo', () => got === 'hello');
    await port.close();
  });

  it('closes twice without harm', async () => {
    const port = await bench.ports.open({ port: bench.port, baudRate: 9600 }, signal);
    await port.close();
    await port.close();
    expect(port.plugged).toBe(false);
  });
});

async function boardBench(pty: boolean): Promise<SerialBench> {
  const bench = await openBoardBench((folder) => ({
    serial: [{ port: join(folder, 'tty'), pty, talk: { kind: 'echo' } }],
  }));
  return {
    port: join(bench.folder, 'tty'),
    ports: bench.ports.serial,
    setPlugged: pluggerOf(bench),
    close: () => bench.close(),
  };
}

async function ptyBench(): Promise<SerialBench> {
  const bench = await openBoardBench((folder) => ({
    serial: [{ port: join(folder, 'tty'), pty: true, talk: { kind: 'echo' } }],
  }));
  const ports = new LinuxSerial({ clock: systemClock });
  const close = async (): Promise<void> => {
    await ports.close();
    await bench.close();
  };
  return { port: join(bench.folder, 'tty'), ports, setPlugged: pluggerOf(bench), close };
}

function pluggerOf(bench: BoardBench): (plugged: boolean) => Promise<void> {
  return async (plugged) =>
    void (await bench.ports.link.request(
      'bench.fault',
      { target: join(bench.folder, 'tty'), fault: plugged ? null : 'unplug' },
      signal,
    ));
}

async function realBench(port: string): Promise<SerialBench> {
  const ports = new LinuxSerial({ clock: systemClock });
  return { port, ports, close: () => ports.close() };
}
