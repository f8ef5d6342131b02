/** A chip that a driver of the kernel reads, as a hardware monitor. Keys by its channels or their labels: `temperature`, `voltage1`, `power`. */
import { channelFaults, channelKeys, kernelDeviceFields } from '../families/kernel-devices/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('hwmon', kernelDeviceFields);

export type HwmonConfig = ConfigOf<typeof schema>;

export const hwmon = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  keys: channelKeys,
  valueType: ({ channels }, key) => (channels === undefined && key.endsWith('Alarm') ? 'boolean' : 'number'),
  faults: channelFaults,
  device: {
    path: '/sys/class/hwmon',
    enable: 'load the chip’s driver (on a Raspberry Pi: a dtoverlay line in config.txt, then reboot)',
  },
});
