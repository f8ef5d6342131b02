/** A chip that the kernel is to read, and no driver for it: the doctor says the line that loads one. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CheckContext } from '../../../src/doctor/checks/checkup.ts';
import { kernelDrivers } from '../../../src/doctor/checks/kernel-checks.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { BME280, type KernelDevices, kernelDevices, SHT3X } from '../../support/kernel-devices.ts';

const { signal } = new AbortController();
let kernel: KernelDevices;
beforeEach(async () => {
  kernel = await kernelDevices();
});
afterEach(() => kernel.close());

/** @param answering addresses on bus 1. */
async function looked(sensors: string, answering: readonly number[] = []) {
  const config = await configOf(`${SMALLEST}sensors: [${sensors}]\n`);
  const bus = { probe: async (address: number) => answering.includes(address), close: async () => {} };
  const i2c = { list: async () => [1], openBus: async () => bus };
  const ports = { ...kernel.ports, i2c, close: async () => {} } as unknown as Ports;
  return await kernelDrivers.look({ read: { config }, openPorts: () => ports } as unknown as CheckContext, signal);
}

it('is content with chips that have a driver, and looks at nothing without such a sensor', async () => {
  await kernel.addIio(0, 'i2c-1/1-0076', BME280);
  await kernel.addHwmon(0, 'i2c-1/1-0044', SHT3X);
  expect(await looked('{ name: air, kind: iio, chip: bme280 }, { name: hall, kind: hwmon, chip: sht3x }')).toEqual({
    verdict: 'good',
    reason: 'air: bme280, hall: sht3x',
  });
  expect(await looked('{ name: machine, kind: host }')).toBeUndefined();
});

it('says the line that loads a missing driver, and who answers without one', async () => {
  expect(await looked('{ name: air, kind: iio, chip: bme680 }', [0x77])).toEqual({
    verdict: 'fault',
    reason: expect.stringMatching(
      /^air \(iio\): the kernel has no IIO device bme680; .*; somebody answers at 0x77 on bus 1, and no driver has it$/,
    ),
    remedy: 'dtoverlay=i2c-sensor,bme680 in config.txt of a Raspberry Pi, and a reboot',
  });
  const used = '{ name: air, kind: iio, chip: bme680 }, { name: own, kind: bme280, address: 0x77, prefix: own. }';
  expect((await looked(used, [0x77]))?.reason).not.toContain('answers');
  expect((await looked('{ name: air, kind: hwmon, chip: strange }'))?.remedy).toBe(
    'load its driver, and look again: turnstone scan hwmon',
  );
});

it('asks for the place where two chips have the name', async () => {
  await kernel.addIio(0, 'i2c-1/1-0076', BME280);
  await kernel.addIio(1, 'i2c-1/1-0077', BME280);
  expect((await looked('{ name: air, kind: iio, chip: bme280 }'))?.remedy).toContain('at:');
});
