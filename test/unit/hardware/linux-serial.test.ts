/** The port's own rules, over a twin of serialport whose faults the test decides; test/contract runs it on real ptys. */
import type { SerialPort as NodeSerialPort } from 'serialport';
import { expect, it } from 'vitest';
import { LinuxSerial } from '../../../src/hardware/linux-serial.ts';
import { FakeClock } from '../../support/fake-clock.ts';

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
