/** Devices of the kernel's sensors as folders of files, laid out as sysfs has them: the class holds links, the device lies below its chip and bus. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LinuxIio } from '../../src/hardware/linux-iio.ts';
import { hwmonClass, LinuxKernelDevices } from '../../src/hardware/linux-kernel-devices.ts';
import type { Ports } from '../../src/hardware/ports.ts';

type Files = Readonly<Record<string, string>>;

export interface KernelDevices {
  readonly folder: string;
  /** Where device nodes lie. */
  readonly nodes: string;
  readonly iio: LinuxIio;
  readonly hwmon: LinuxKernelDevices;
  readonly ports: Ports;
  /** Adds one; the number is that of the kernel. Returns its folder. */
  addIio(number: number, place: string, files: Files): Promise<string>;
  addHwmon(number: number, place: string, files: Files): Promise<string>;
  addTrigger(number: number, files: Files): Promise<string>;
  close(): Promise<void>;
}

export async function kernelDevices(): Promise<KernelDevices> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-kernel-'));
  const [iioClass, hwmonFolder, nodes] = ['iio', 'hwmon', 'dev'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [iioClass, hwmonFolder, nodes]) await mkdir(each);
  const iio = new LinuxIio({ classFolder: iioClass, deviceFolder: nodes });
  const hwmon = new LinuxKernelDevices(hwmonClass(hwmonFolder));
  const put = async (into: string, files: Files): Promise<void> => {
    await mkdir(into, { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(into, file)), { recursive: true });
      await writeFile(join(into, file), `${text}\n`);
    }
  };
  const add = async (classFolder: string, entry: string, into: string, files: Files): Promise<string> => {
    await put(into, files);
    await symlink(into, join(classFolder, entry));
    return into;
  };
  return {
    folder,
    nodes,
    iio,
    hwmon,
    ports: { iio, hwmon } as unknown as Ports,
    addIio: (number, place, files) =>
      add(iioClass, `iio:device${number}`, join(folder, 'devices', place, `iio:device${number}`), files),
    addHwmon: async (number, place, files) => {
      const chip = join(folder, 'devices', place);
      const into = join(chip, 'hwmon', `hwmon${number}`);
      await put(into, files);
      await symlink(chip, join(into, 'device'));
      await symlink(into, join(hwmonFolder, `hwmon${number}`));
      return into;
    },
    addTrigger: (number, files) =>
      add(iioClass, `trigger${number}`, join(folder, 'triggers', `trigger${number}`), files),
    close: async () => {
      await iio.close();
      await hwmon.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Files as drivers of Linux 6.12 give them (drivers/iio, drivers/hwmon); settings that nobody here reads are some of many. */
export const BME280: Files = {
  name: 'bme280',
  in_temp_input: '21370',
  in_pressure_input: '101.325820312',
  in_humidityrelative_input: '45123',
  in_temp_oversampling_ratio: '2',
  in_pressure_oversampling_ratio: '16',
  in_humidityrelative_oversampling_ratio: '16',
  in_temp_oversampling_ratio_available: '1 2 4 8 16',
};
export const ADS1015: Files = {
  name: 'ads1015',
  'in_voltage0-voltage1_raw': '-12',
  'in_voltage0-voltage1_scale': '1.000000000',
  in_voltage0_raw: '1023',
  in_voltage0_scale: '1.000000000',
  in_voltage1_raw: '40',
  in_voltage1_scale: '3.000000000',
  in_voltage0_sampling_frequency: '1600',
  scale_available: '3 2 1 0.5 0.25 0.125',
};
export const LM75: Files = {
  name: 'lm75',
  temp1_input: '-5500',
  temp1_max: '80000',
  temp1_max_hyst: '75000',
  update_interval: '100',
};
export const SHT3X: Files = {
  name: 'sht3x',
  temp1_input: '23456',
  temp1_alarm: '0',
  temp1_max: '60000',
  humidity1_input: '51234',
  humidity1_alarm: '1',
  heater_enable: '0',
};
export const INA226: Files = {
  name: 'ina226',
  in0_input: '12',
  in1_input: '12875',
  in1_crit_alarm: '0',
  in1_lcrit_alarm: '0',
  curr1_input: '-1250',
  power1_input: '16093750',
  shunt_resistor: '10000',
  update_interval: '4',
};
