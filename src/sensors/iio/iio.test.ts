import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { open as openFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADS1015, BME280, type KernelDevices, kernelDevices } from '../../../test/support/kernel-devices.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { iioChannels } from './channels.ts';
import { iio } from './definition.ts';
import { open } from './driver.ts';

const { signal } = new AbortController();
let kernel: KernelDevices;
beforeEach(async () => {
  kernel = await kernelDevices();
});
afterEach(() => kernel.close());

const opened = (options: Readonly<Record<string, unknown>>) =>
  open(sensorConfig({ name: 'air', kind: 'iio', ...options }), sensorDeps(kernel), signal);

describe('channels of Industrial I/O', () => {
  const keysOf = (...files: readonly string[]) =>
    Object.fromEntries(
      iioChannels(files).map(({ name, key, unit }) => [name, unit === undefined ? key : `${key} ${unit}`]),
    );

  it('have the keys and units of this house', () => {
    expect(
      keysOf(
        'in_temp_input',
        'in_pressure_input',
        'in_humidityrelative_raw',
        'in_humidityrelative_scale',
        'in_concentration_co2_raw',
        'in_concentration_co2_scale',
        'in_massconcentration_pm2p5_input',
        'in_resistance_input',
        'in_illuminance0_input',
        'in_accel_x_raw',
        'in_accel_scale',
        'in_temp_object_raw',
        'in_temp_scale',
        'in_voltage0_supply_raw',
        'in_voltage3-voltage1_raw',
        'in_voltage-voltage_scale',
        'in_phase_raw',
        'in_steps_input',
      ),
    ).toEqual({
      temp: 'temperature °C',
      pressure: 'pressure hPa',
      humidityrelative: 'humidity %',
      concentration_co2: 'co2 ppm',
      massconcentration_pm2p5: 'pm2_5 µg/m³',
      resistance: 'resistance Ω',
      illuminance0: 'illuminance0 lx',
      accel_x: 'accelerationX m/s²',
      temp_object: 'temperatureObject °C',
      // Nothing says what a raw number means.
      voltage0_supply: 'voltage0Supply',
      'voltage3-voltage1': 'voltage3_1 V',
      phase: 'phase',
      steps: 'steps',
    });
  });

  it('are those that can be read, each once', () => {
    expect(
      keysOf('in_temp_input', 'in_temp_raw', 'in_temp_scale', 'in_temp_peak_raw', 'in_voltage0_mean_raw', 'name'),
    ).toEqual({
      temp: 'temperature °C',
    });
  });
});

describe('a chip that a driver of Industrial I/O reads', () => {
  it('gives what the driver has processed, in the units of this house', async () => {
    await kernel.addIio(3, 'i2c-1/1-0076', BME280);
    const sensor = await opened({ chip: 'bme280' });
    expect(await sensor.read(signal)).toEqual([
      { key: 'humidity', value: 45.123, unit: '%' },
      { key: 'pressure', value: 1013.25820312, unit: 'hPa' },
      { key: 'temperature', value: 21.37, unit: '°C' },
    ]);
  });

  it('gives (raw + offset) × scale, of its own, its type and the device, as they are at each read', async () => {
    const folder = await kernel.addIio(0, 'spi0/spi0.1', {
      ...ADS1015,
      in_voltage0_offset: '-23',
      in_temp_raw: '200',
      in_temp_offset: '50',
      scale: '100',
    });
    const sensor = await opened({ chip: 'ads1015' });
    expect(await sensor.read(signal)).toEqual([
      { key: 'temperature', value: 25, unit: '°C' },
      { key: 'voltage0_1', value: -0.012, unit: 'V' },
      { key: 'voltage0', value: 1, unit: 'V' },
      { key: 'voltage1', value: 0.12, unit: 'V' },
    ]);
    await writeFile(join(folder, 'in_voltage1_scale'), '0.125\n');
    expect((await sensor.read(signal)).at(-1)).toMatchObject({ value: 0.005 });
  });

  it('is found by its place where two have the name, and never by its number', async () => {
    await kernel.addIio(0, 'i2c-1/1-0076', BME280);
    const second = await kernel.addIio(1, 'i2c-1/1-0077', { ...BME280, in_temp_input: '5000' });
    await expect((await opened({ chip: 'bme280' })).read(signal)).rejects.toMatchObject({
      code: 'sensors/ambiguous',
      message: '2 IIO devices are called bme280; give the place of one: at: 1-0076, at: 1-0077',
    });
    const sensor = await opened({ chip: 'bme280', at: '1-0077', channels: { temp: 'cellar' } });
    expect(await sensor.read(signal)).toEqual([{ key: 'cellar', value: 5, unit: '°C' }]);
    // Bound anew, it has another number.
    await rm(second, { recursive: true });
    await rm(join(kernel.folder, 'iio/iio:device1'));
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/kernel-device-gone' });
    await kernel.addIio(7, 'i2c-1/1-0077', { ...BME280, in_temp_input: '6000' });
    expect(await sensor.read(signal)).toMatchObject([{ value: 6 }]);
  });

  it('names what there is where it is missing, and takes a name with the node of the device tree behind it', async () => {
    await kernel.addIio(0, 'dht11@0', { name: 'dht11@0', in_temp_input: '20100', in_humidityrelative_input: '40000' });
    await expect((await opened({ chip: 'scd4x' })).read(signal)).rejects.toMatchObject({
      code: 'sensors/no-device',
      message: expect.stringMatching(/^the kernel has no IIO device scd4x; there is dht11@0 \(dht11@0\): /),
    });
    expect((await (await opened({ chip: 'dht11' })).read(signal)).map(({ value }) => value)).toEqual([40, 20.1]);
    await expect((await opened({ chip: 'dht11', channels: { pressure: 'p' } })).read(signal)).rejects.toThrow(
      /dht11 has no channel pressure; there is humidityrelative, temp/,
    );
  });

  it('leaves out alone what has no number, and fails when nothing is left', async () => {
    const folder = await kernel.addIio(0, 'i2c-1/1-0076', { ...BME280, in_temp_input: 'none' });
    const sensor = await opened({ chip: 'bme280' });
    expect((await sensor.read(signal)).map(({ key }) => key)).toEqual(['humidity', 'pressure']);
    expect(sensor.refused?.().map(({ key, fault }) => [key, fault.message])).toEqual([
      ['temperature', 'in_temp_input holds "none", which is no number'],
    ]);
    for (const file of ['in_pressure_input', 'in_humidityrelative_input']) await writeFile(join(folder, file), '\n');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/bad-reading' });
  });

  it('gives each scan of a buffer with the kernel’s time, scaled as the channels are', async () => {
    await kernel.addIio(0, 'i2c-1/1-0048', {
      name: 'ads1015',
      in_voltage0_raw: '0',
      in_voltage0_scale: '3',
      'buffer/enable': '0',
      'buffer/length': '2',
      'scan_elements/in_voltage0_en': '0',
      'scan_elements/in_voltage0_index': '0',
      'scan_elements/in_voltage0_type': 'le:s16/16>>0',
      'scan_elements/in_timestamp_en': '0',
      'scan_elements/in_timestamp_index': '1',
      'scan_elements/in_timestamp_type': 'le:s64/64>>0',
    });
    const node = join(kernel.nodes, 'iio:device0');
    execFileSync('mkfifo', [node]);
    const kernelSide = await openFile(node, constants.O_RDWR | constants.O_NONBLOCK);
    const sensor = await opened({ chip: 'ads1015', buffer: { length: 8 } });
    expect(await sensor.read(signal)).toEqual([]);
    const bytes = Buffer.alloc(32);
    for (const n of [0, 1]) {
      bytes.writeInt16LE(100 + n, n * 16);
      bytes.writeBigInt64LE(BigInt(n + 1) * 250_000_000n, n * 16 + 8);
    }
    await kernelSide.write(bytes);
    expect(await sensor.read(signal)).toEqual([
      { key: 'voltage0', value: 0.3, unit: 'V', monotonicMs: 250 },
      { key: 'voltage0', value: 0.303, unit: 'V', monotonicMs: 500 },
    ]);
    await expect(sensor.read(signal)).rejects.toThrow(/nothing came into the buffer/);
    await sensor.close();
    await kernelSide.close();
  });
});

it('refuses channels with one key, and none at all', () => {
  const problems = (channels: Readonly<Record<string, string>>) =>
    iio.faults?.(sensorConfig({ name: 'x', kind: 'iio', chip: 'x', channels }), []).map(({ problem }) => problem);
  expect(problems({ temp: 't', voltage0: 't' })).toEqual(['two channels with one key:']);
  expect(problems({})).toEqual(['no channel']);
  expect(problems({ temp: 't' })).toEqual([]);
});
