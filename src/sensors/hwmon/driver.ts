/** Hardware monitors of the kernel. A channel that its chip marks as faulty has no value; an alarm is a value of its own where all channels are read. */
import type { KernelDevice, KernelDevicePort } from '../../hardware/kernel-device-port.ts';
import {
  chosenChannels,
  type DeviceChannel,
  deviceSensor,
  numberIn,
  plainNumber,
} from '../families/kernel-devices/device-sensor.ts';
import type { Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { alarmKeyOf, type HwmonChannel, hwmonChannels, labelKey } from './channels.ts';
import type { HwmonConfig } from './definition.ts';

export async function open(config: HwmonConfig, { ports }: SensorDeps, _signal: AbortSignal): Promise<Sensor> {
  const port = ports.hwmon;
  return deviceSensor({
    name: config.name,
    port,
    config,
    what: 'hardware monitor',
    channelsOf: async (device, signal) => {
      const labelled = await withLabels(hwmonChannels(device.files), device, port, signal);
      const channels = chosenChannels(labelled, config);
      const values = channels.map((channel) => readable(channel, device, port));
      return config.channels === undefined ? [...values, ...channels.flatMap(alarmOf(device, port))] : values;
    },
  });
}

/** Channels under their labels, as far as each label is of one. */
async function withLabels(
  channels: readonly HwmonChannel[],
  device: KernelDevice,
  port: KernelDevicePort,
  signal: AbortSignal,
): Promise<readonly HwmonChannel[]> {
  const keys: (string | undefined)[] = [];
  for (const { name } of channels) {
    const file = `${name}_label`;
    keys.push(device.files.includes(file) ? labelKey(await port.read(device, file, signal)) : undefined);
  }
  return channels.map((channel, at) => {
    const key = keys[at];
    const isOwn = key !== undefined && keys.filter((other) => other === key).length === 1;
    return isOwn ? { ...channel, key } : channel;
  });
}

function readable(
  { name, key, unit, factor, file, faultFile }: HwmonChannel,
  device: KernelDevice,
  port: KernelDevicePort,
): DeviceChannel {
  return {
    name,
    key,
    read: async (signal) => {
      if (faultFile !== undefined && (await port.read(device, faultFile, signal)) === '1')
        throw sensorFault('no-value', `the chip says that ${name} is faulty (${faultFile}): an open or shorted probe`);
      const value = plainNumber(numberIn(await port.read(device, file, signal), file) * factor);
      return { key, value, unit };
    },
  };
}

/** Channel that is true while any limit of another is passed, where the chip tells it. */
const alarmOf =
  (device: KernelDevice, port: KernelDevicePort) =>
  ({ name, key, alarmFiles }: HwmonChannel): readonly DeviceChannel[] => {
    if (alarmFiles.length === 0) return [];
    const read = async (signal: AbortSignal) => {
      let value = false;
      for (const file of alarmFiles) value = (await port.read(device, file, signal)) === '1' || value;
      return { key: alarmKeyOf(key), value };
    };
    return [{ name, key: alarmKeyOf(key), read }];
  };
