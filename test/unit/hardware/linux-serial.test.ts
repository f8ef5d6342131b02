/** The port's own rules, over a twin of serialport whose faults the test decides; test/contract runs it on real ptys. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { SerialPort as NodeSerialPort } from 'serialport';
import { expect, it } from 'vitest';
import { LinuxSerial } from '../../../src/hardware/linux-serial.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openPeerBench } from '../../support/modbus-peer.ts';

type Done = (error?: Error | null) => void;

it('holds one thread of the pool with an adapter that stands still, however often it is opened and written to', async () => {
  const never = new AbortController().signal;
  const written: string[] = [];
  const draining: Done[] = [];
  class Twin {
    isOpen = false;
    open(done: Done): void {
      this.isOpen = true;
      done();
    }
    flush(done: Done): void {
      done();
    }
    on(): void {}
    write(bytes: Buffer, done: Done): void {
      written.push(bytes.toString());
      done();
    }
    drain(done: Done): void {
      draining.push(done);
    }
    close(done: Done): void {
      this.isOpen = false;
      done();
    }
  }
  const loadNative = async () => ({ SerialPort: Twin as unknown as typeof NodeSerialPort });
  const serial = new LinuxSerial({ clock: new FakeClock(), loadNative });
  for (const words of ['on', 'off', 'off again']) {
    const port = await serial.open({ port: '/dev/none', baudRate: 9_600 }, never);
    for (let at = 0; at < 2; at += 1)
      await expect(port.write(Buffer.from(words), AbortSignal.timeout(10))).rejects.toMatchObject({
        code: 'hardware/deadline',
      });
    await port.close();
  }
  expect([written, draining.length]).toEqual([['on', 'on', 'off', 'off', 'off again', 'off again'], 1]);
  draining[0]?.();
  const port = await serial.open({ port: '/dev/none', baudRate: 9_600 }, never);
  const off = port.write(Buffer.from('off'), never);
  await expect.poll(() => draining.length).toBe(2);
  draining[1]?.();
  await off;
  await serial.close();
});

it.each([
  [
    'there is no udevadm',
    Object.assign(new Error('spawn udevadm ENOENT'), { code: 'ENOENT' }),
    /: there is no udevadm; install udev, or /,
  ],
  ['udevadm fails', new Error('udevadm exited with error code: 1'), /: udevadm exited with error code: 1$/],
])('says that its ports cannot be listed where %s', async (_what, fault, message) => {
  const Twin = { list: () => Promise.reject(fault) };
  const serial = new LinuxSerial({
    clock: new FakeClock(),
    loadNative: async () => ({ SerialPort: Twin as unknown as typeof NodeSerialPort }),
  });
  await expect(serial.list(new AbortController().signal)).rejects.toMatchObject({
    name: 'AgentError',
    code: 'hardware/serial-failed',
    message: expect.stringMatching(message),
  });
});

it('goes to another speed and parity while it is open, and tells nobody that it was unplugged', async () => {
  const { signal } = new AbortController();
  const bench = await openPeerBench();
  const path = await bench.pty((asked, send) => send(asked));
  const port = await bench.ports.serial.open({ port: path, baudRate: 300, dataBits: 7, parity: 'even' }, signal);
  const plugs: boolean[] = [];
  port.onPlug((plugged) => plugs.push(plugged));
  const heard: number[] = [];
  port.onBytes((bytes) => heard.push(...bytes));
  const settings = async () => {
    const { stdout } = await promisify(execFile)('stty', ['-F', path, '-a']);
    return [/speed (\d+)/.exec(stdout)?.[1], / (-?cstopb)/.exec(stdout)?.[1]];
  };
  expect(await settings()).toEqual(['300', '-cstopb']);
  await port.change?.({ baudRate: 9600, dataBits: 7, parity: 'even' }, signal);
  expect(await settings()).toEqual(['9600', '-cstopb']);
  await port.change?.({ baudRate: 2400, stopBits: 2 }, signal);
  expect(await settings()).toEqual(['2400', 'cstopb']);
  await port.write(Uint8Array.of(1, 2, 3), signal);
  await expect.poll(() => heard).toEqual([1, 2, 3]);
  expect(plugs).toEqual([]);
  await port.close();
  await expect(port.change?.({ baudRate: 300 }, signal)).rejects.toMatchObject({ code: 'hardware/serial-unplugged' });
  await bench.close();
});
