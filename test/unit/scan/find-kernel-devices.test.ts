/** Chips that the kernel reads already, found and proposed. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { firstConfigText } from '../../../src/cli/first-config.ts';
import { chipsAmong, findKernelDevices } from '../../../src/scan/find-kernel-devices.ts';
import { FreeNames } from '../../../src/scan/free-names.ts';
import { kernelSection } from '../../../src/scan/sections.ts';
import { configOf } from '../../support/config-file.ts';
import { ADS1015, BME280, INA226, type KernelDevices, kernelDevices, SHT3X } from '../../support/kernel-devices.ts';

const { signal } = new AbortController();
let kernel: KernelDevices;
beforeEach(async () => {
  kernel = await kernelDevices();
});
afterEach(() => kernel.close());

const found = () => findKernelDevices(kernel.ports, ['iio', 'hwmon'], signal);

it('are told by kind, name and place, with the channels that can be read', async () => {
  await kernel.addIio(0, 'i2c-1/1-0048', ADS1015);
  await kernel.addIio(1, 'dht11@0', { name: 'dht11@0', in_temp_input: '20000' });
  await kernel.addIio(2, 'trigger-only', { name: 'nothing' });
  await kernel.addHwmon(0, 'i2c-1/1-0044', SHT3X);
  expect(await found()).toEqual([
    {
      kind: 'iio',
      chip: 'ads1015',
      place: '1-0048',
      isNameShared: false,
      channels: ['voltage0-voltage1', 'voltage0', 'voltage1'],
      keys: ['voltage0_1', 'voltage0', 'voltage1'],
    },
    { kind: 'iio', chip: 'dht11', place: 'dht11@0', isNameShared: false, channels: ['temp'], keys: ['temperature'] },
    {
      kind: 'hwmon',
      chip: 'sht3x',
      place: '1-0044',
      isNameShared: false,
      channels: ['humidity1', 'temp1'],
      keys: ['humidity', 'temperature'],
    },
  ]);
});

it('are each chip once in a first configuration, without the machine’s own monitors, and pass check-config', async () => {
  await kernel.addIio(0, 'i2c-1/1-0076', BME280);
  await kernel.addIio(1, 'i2c-1/1-0077', BME280);
  await kernel.addHwmon(0, 'i2c-1/1-0076', { name: 'bme280', temp1_input: '1' });
  await kernel.addHwmon(1, 'virtual/thermal_zone0', { name: 'cpu_thermal', temp1_input: '40000' });
  await kernel.addHwmon(2, 'i2c-1/1-0040', INA226);
  const kernelDevicesFound = chipsAmong(await found());
  const names = new FreeNames();
  const sections = kernelDevicesFound.map((device) => kernelSection(device, names, { hasKeys: false }));
  expect(sections).toEqual([
    { name: 'bme280', kind: 'iio', chip: 'bme280', at: '1-0076' },
    { name: 'bme2802', kind: 'iio', chip: 'bme280', at: '1-0077' },
    { name: 'ina226', kind: 'hwmon', chip: 'ina226' },
  ]);
  const text = firstConfigText({
    url: 'https://iot.example.org',
    credentials: { way: 'token-file', file: '/etc/turnstone/token' },
    found: { chips: [], thermometers: [], serialPorts: [], faults: [], kernelDevices: kernelDevicesFound },
  });
  expect(text).toContain('temperature: { rename: temperature2, round: 3 }');
  expect(text).toContain('  - { name: ina226, kind: hwmon, chip: ina226, keys: { current: { round: 3 }');
  const config = await configOf(
    text.replace(/accessTokenFile: .*/, 'accessToken: fixture-token').replace(/.*kind: host.*\n/, ''),
  );
  expect(config.sensors.map(({ kind }) => kind)).toEqual(['iio', 'iio', 'hwmon']);
});
