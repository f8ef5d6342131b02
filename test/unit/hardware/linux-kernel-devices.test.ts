/** Sensors of the kernel are plain files; here they lie in a folder of the test's. */
import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { chmod, open, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeScans, scanLayout } from '../../../src/hardware/iio-scans.ts';
import { LinuxKernelDevices } from '../../../src/hardware/linux-kernel-devices.ts';
import { ADS1015, BME280, type KernelDevices, kernelDevices, LM75, SHT3X } from '../../support/kernel-devices.ts';

const { signal } = new AbortController();
let kernel: KernelDevices;
beforeEach(async () => {
  kernel = await kernelDevices();
});
afterEach(() => kernel.close());

describe('devices of the kernel', () => {
  it('are listed in the order of their numbers, with name, place and files', async () => {
    await kernel.addIio(10, 'i2c-1/1-0048', ADS1015);
    await kernel.addIio(2, 'i2c-1/1-0076', BME280);
    await kernel.addHwmon(0, 'i2c-1/1-0044', SHT3X);
    const iio = await kernel.iio.list(signal);
    expect(iio.map(({ name, number, chipFolder }) => [name, number, basename(chipFolder)])).toEqual([
      ['bme280', 'iio:device2', '1-0076'],
      ['ads1015', 'iio:device10', '1-0048'],
    ]);
    expect(iio[0]?.files).toContain('in_temp_input');
    expect((await kernel.hwmon.list(signal)).map(({ chipFolder }) => basename(chipFolder))).toEqual(['1-0044']);
  });

  it('are none where the kernel has no such class', async () => {
    expect(
      await new LinuxKernelDevices({ classFolder: '/none', prefix: 'x', chipOf: async (at) => at }).list(signal),
    ).toEqual([]);
  });

  it('are never taken for one that got their number', async () => {
    const folder = await kernel.addIio(0, 'i2c-1/1-0076', BME280);
    const [device] = await kernel.iio.list(signal);
    if (device === undefined) throw new Error('no device');
    expect(await kernel.iio.read(device, 'in_temp_input', signal)).toBe('21370');
    await rm(folder, { recursive: true });
    await rm(join(kernel.folder, 'iio/iio:device0'));
    await kernel.addIio(0, 'i2c-1/1-0048', { ...ADS1015, in_temp_input: '1' });
    await expect(kernel.iio.read(device, 'in_temp_input', signal)).rejects.toMatchObject({
      code: 'hardware/kernel-device-gone',
    });
  });

  it('say in words what the driver means', async () => {
    const failing = (code: string) => {
      class Failing extends LinuxKernelDevices {
        override read: LinuxKernelDevices['read'] = (device, file, within) =>
          this.inTurn(
            device,
            `reading ${file}`,
            () => Promise.reject(Object.assign(new Error(code), { code })),
            within,
          );
      }
      return new Failing({ classFolder: '/none', prefix: 'x', chipOf: async (at) => at });
    };
    const device = { folder: '/x', number: 'x0', name: 'x', chipFolder: '/b/x', files: [] };
    const told = (code: string) => failing(code).read(device, 'in_temp_input', signal);
    await expect(told('EAGAIN')).rejects.toMatchObject({
      code: 'hardware/kernel-device-no-value',
      message: 'reading in_temp_input: it has no new value yet (EAGAIN)',
    });
    await expect(told('EBUSY')).rejects.toThrow(/its buffer is in use by another program/);
    await expect(told('EIO')).rejects.toThrow(/the chip does not answer, or answers damaged/);
    await expect(told('EREMOTEIO')).rejects.toThrow(/power, wires, address/);
    await expect(told('EPERM')).rejects.toMatchObject({ code: 'hardware/no-permission' });
  });

  it('wait for each other on one bus, and not for another bus', async () => {
    await kernel.addHwmon(0, 'i2c-1/1-0044', SHT3X);
    const second = await kernel.addHwmon(1, 'i2c-1/1-0045', LM75);
    await kernel.addHwmon(2, 'i2c-3/3-0045', LM75);
    const [first, other, apart] = await kernel.hwmon.list(signal);
    if (first === undefined || other === undefined || apart === undefined) throw new Error('no device');
    // A reader of this file waits until somebody writes.
    await rm(join(second, 'temp1_input'));
    execFileSync('mkfifo', [join(second, 'temp1_input')]);
    const giveUp = new AbortController();
    const hanging = kernel.hwmon.read(other, 'temp1_input', giveUp.signal);
    let isDone = false;
    const waiting = kernel.hwmon.read(first, 'temp1_input', signal).then((text) => {
      isDone = true;
      return text;
    });
    expect(await kernel.hwmon.read(apart, 'temp1_input', signal)).toBe('-5500');
    expect(isDone).toBe(false);
    giveUp.abort();
    await expect(hanging).rejects.toMatchObject({ code: 'hardware/deadline' });
    await writeFile(join(second, 'temp1_input'), '1\n');
    expect(await waiting).toBe('23456');
  });
});

describe('a buffer of Industrial I/O', () => {
  // Linux, Documentation/iio/iio_devbuf.rst and the ABI's example of 12 bits in 16, shifted by 4.
  it('is laid out by index, each element aligned to its size', () => {
    const layout = scanLayout([
      { channel: 'timestamp', index: 3, type: 'le:s64/64>>0' },
      { channel: 'voltage0', index: 0, type: 'be:u12/16>>4' },
      { channel: 'accel_x', index: 1, type: 'le:s12/16>>4' },
      { channel: 'count', index: 2, type: 'le:u8/8>>0' },
    ]);
    expect(layout.scanBytes).toBe(16);
    expect(layout.elements.map(({ channel, at }) => [channel, at])).toEqual([
      ['voltage0', 0],
      ['accel_x', 2],
      ['count', 4],
      ['timestamp', 8],
    ]);
    const bytes = Buffer.alloc(32 + 5);
    for (const base of [0, 16]) {
      bytes.writeUInt16BE(0xabc5, base);
      bytes.writeUInt16LE(0x8005, base + 2);
      bytes[base + 4] = 0xff;
      bytes.writeBigInt64LE(1_234_500_000n + BigInt(base), base + 8);
    }
    const scans = decodeScans(bytes, layout);
    expect(scans.length).toBe(2);
    expect(Object.fromEntries(scans[0]?.raw ?? [])).toEqual({ voltage0: 0xabc, accel_x: -2048, count: 255 });
    expect(scans.map(({ monotonicMs }) => monotonicMs)).toEqual([1234.5, 1234.500016]);
    expect(() => scanLayout([{ channel: 'rot', index: 0, type: 'le:s32/32X4>>0' }])).toThrow(/are not read here/);
  });

  const BUFFERED = {
    name: 'ads1015',
    current_timestamp_clock: 'realtime',
    'trigger/current_trigger': '',
    'buffer/enable': '1',
    'buffer/length': '2',
    'scan_elements/in_voltage0_en': '0',
    'scan_elements/in_voltage0_index': '4',
    'scan_elements/in_voltage0_type': 'le:s12/16>>4',
    'scan_elements/in_voltage1_en': '1',
    'scan_elements/in_voltage1_index': '5',
    'scan_elements/in_voltage1_type': 'le:s12/16>>4',
    'scan_elements/in_timestamp_en': '0',
    'scan_elements/in_timestamp_index': '8',
    'scan_elements/in_timestamp_type': 'le:s64/64>>0',
  };
  const scan = (value: number, ns: bigint): Buffer => {
    const bytes = Buffer.alloc(16);
    bytes.writeInt16LE(value << 4, 0);
    bytes.writeBigInt64LE(ns, 8);
    return bytes;
  };

  it('is set up while it is off, drained without waiting, and switched off when it closes', async () => {
    const folder = await kernel.addIio(0, 'i2c-1/1-0048', BUFFERED);
    const trigger = await kernel.addTrigger(0, { name: 'slow', sampling_frequency: '1' });
    const node = join(kernel.nodes, 'iio:device0');
    execFileSync('mkfifo', [node]);
    const kernelSide = await open(node, constants.O_RDWR | constants.O_NONBLOCK);
    const [device] = await kernel.iio.list(signal);
    if (device === undefined) throw new Error('no device');
    const capture = await kernel.iio.capture(
      device,
      { channels: ['voltage0'], trigger: 'slow', length: 2, frequencyHz: 8 },
      signal,
    );
    const shown = async (file: string) => (await readFile(join(folder, file), 'utf8')).trim();
    expect(await Promise.all(['0', '1'].map((n) => shown(`scan_elements/in_voltage${n}_en`)))).toEqual(['1', '0']);
    expect(await shown('scan_elements/in_timestamp_en')).toBe('1');
    expect(await shown('current_timestamp_clock')).toBe('monotonic');
    expect([await shown('trigger/current_trigger'), await shown('buffer/enable')]).toEqual(['slow', '1']);
    expect(await readFile(join(trigger, 'sampling_frequency'), 'utf8')).toBe('8');
    expect(await capture.drain(signal)).toEqual({ scans: [], wasFull: false });
    await kernelSide.write(scan(-3, 5_000_000n));
    expect(await capture.drain(signal)).toEqual({
      scans: [{ raw: new Map([['voltage0', -3]]), monotonicMs: 5 }],
      wasFull: false,
    });
    await kernelSide.write(Buffer.concat([scan(1, 6_000_000n), scan(2, 7_000_000n)]));
    expect((await capture.drain(signal)).wasFull).toBe(true);
    await capture.close();
    await capture.close();
    expect(await shown('buffer/enable')).toBe('0');
    await kernelSide.close();
  });

  it('names the triggers and channels that there are, and the drop-in where the service may not', async () => {
    const folder = await kernel.addIio(0, 'i2c-1/1-0048', BUFFERED);
    await kernel.addTrigger(0, { name: 'slow' });
    const [device] = await kernel.iio.list(signal);
    if (device === undefined) throw new Error('no device');
    const settings = { channels: ['voltage0'], length: 2 };
    await expect(kernel.iio.capture(device, { ...settings, trigger: 'fast' }, signal)).rejects.toMatchObject({
      code: 'hardware/iio-no-trigger',
      message: 'buffer of ads1015 (1-0048): the kernel has no trigger fast; there is slow',
    });
    const node = join(kernel.nodes, 'iio:device0');
    await writeFile(node, '');
    await expect(kernel.iio.capture(device, { ...settings, channels: ['temp'] }, signal)).rejects.toThrow(
      /channel temp cannot be buffered; there is voltage0, voltage1/,
    );
    if (process.getuid?.() === 0) return;
    await chmod(join(folder, 'buffer/enable'), 0o444);
    await expect(kernel.iio.capture(device, settings, signal)).rejects.toMatchObject({
      code: 'hardware/no-permission',
      message: expect.stringMatching(/drop-in turnstone-iio/),
    });
  });
});
