import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { INA226, type KernelDevices, kernelDevices, LM75, SHT3X } from '../../../test/support/kernel-devices.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { hwmonChannels, labelKey } from './channels.ts';
import { open } from './driver.ts';

const { signal } = new AbortController();
let kernel: KernelDevices;
beforeEach(async () => {
  kernel = await kernelDevices();
});
afterEach(() => kernel.close());

const opened = (options: Readonly<Record<string, unknown>>) =>
  open(sensorConfig({ name: 'room', kind: 'hwmon', ...options }), sensorDeps(kernel), signal);

it('gives temperature, humidity and their alarms in the units of this house', async () => {
  await kernel.addHwmon(4, 'i2c-1/1-0044', SHT3X);
  expect(await (await opened({ chip: 'sht3x' })).read(signal)).toEqual([
    { key: 'humidity', value: 51.234, unit: '%' },
    { key: 'temperature', value: 23.456, unit: '°C' },
    { key: 'humidityAlarm', value: true },
    { key: 'temperatureAlarm', value: false },
  ]);
});

it('numbers several of one type, and chooses and renames channels', async () => {
  await kernel.addHwmon(0, 'i2c-1/1-0040', INA226);
  expect((await (await opened({ chip: 'ina226' })).read(signal)).map(({ key, value }) => [key, value])).toEqual([
    ['current', -1.25],
    ['voltage0', 0.012],
    ['voltage1', 12.875],
    ['power', 16.09375],
    ['voltage1Alarm', false],
  ]);
  const channels = { in1: 'batteryVoltage', curr1: 'batteryCurrent' };
  expect(await (await opened({ chip: 'ina226', at: '1-0040', channels })).read(signal)).toEqual([
    { key: 'batteryVoltage', value: 12.875, unit: 'V' },
    { key: 'batteryCurrent', value: -1.25, unit: 'A' },
  ]);
});

it('takes labels for keys where each is of one channel', async () => {
  await kernel.addHwmon(0, 'platform/x.0', {
    name: 'board',
    temp1_input: '40000',
    temp1_label: 'CPU temp',
    temp2_input: '30000',
    temp2_label: 'slot',
    temp3_input: '20000',
    temp3_label: 'slot',
    fan1_input: '1200',
  });
  expect((await (await opened({ chip: 'board' })).read(signal)).map(({ key, value }) => [key, value])).toEqual([
    ['fanSpeed', 1200],
    ['cpuTemp', 40],
    ['temperature2', 30],
    ['temperature3', 20],
  ]);
  expect(['VCC', 'vddIo', '3V3 rail', '12', ''].map(labelKey)).toEqual([
    'vcc',
    'vddIo',
    '3v3Rail',
    undefined,
    undefined,
  ]);
});

it('leaves out a channel that its chip marks as faulty, and says why', async () => {
  const folder = await kernel.addHwmon(0, 'i2c-1/1-004c', {
    name: 'lm90',
    temp1_input: '25000',
    temp2_input: '-127000',
    temp2_fault: '1',
  });
  const sensor = await opened({ chip: 'lm90' });
  expect(await sensor.read(signal)).toEqual([{ key: 'temperature1', value: 25, unit: '°C' }]);
  expect(sensor.refused?.().map(({ fault }) => fault.message)).toEqual([
    'the chip says that temp2 is faulty (temp2_fault): an open or shorted probe',
  ]);
  await writeFile(join(folder, 'temp2_fault'), '0\n');
  expect(await sensor.read(signal)).toHaveLength(2);
});

it('reads below zero, and only what is a value of now', async () => {
  await kernel.addHwmon(1, 'i2c-1/1-0048', LM75);
  expect(await (await opened({ chip: 'lm75' })).read(signal)).toEqual([
    { key: 'temperature', value: -5.5, unit: '°C' },
  ]);
  expect(hwmonChannels(['energy1_input', 'pwm1', 'temp1_max', 'in0_min'])).toMatchObject([
    { name: 'energy1', key: 'energy', unit: 'kWh', factor: 1 / 3.6e12 },
  ]);
});
