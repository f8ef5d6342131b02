/** A chip that a driver of the kernel reads, as Industrial I/O. Keys by its channels: `temperature`, `voltage0`, `co2`. */
import { frequency, section, text, whole } from '../../config/fields/fields.ts';
import { channelFaults, channelKeys, kernelDeviceFields } from '../families/kernel-devices/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Scans of half a minute at 8 Hz. */
const DEFAULT_LENGTH = 256;

const schema = sensorSection('iio', () => ({
  ...kernelDeviceFields(),
  /** Values come through the kernel's buffer, each with the kernel's time; each read takes what has come. Needs the drop-in turnstone-iio.conf: `install.sh --with iio`. */
  buffer: section({
    /** Name of a trigger of this machine, as /sys/bus/iio/devices/trigger0/name has it; without it the chip fills its buffer by itself. */
    trigger: text(/^[^/\s]{1,64}$/, 'the name of a trigger').optional(),
    /** Scans that may wait: more than come in a period. */
    length: whole(2, 65_536).default(DEFAULT_LENGTH),
    /** Rate of scans; without it as it is set. */
    frequency: frequency({ max: '10kHz' }).optional(),
  }).optional(),
}));

export type IioConfig = ConfigOf<typeof schema>;

export const iio = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  keys: channelKeys,
  faults: channelFaults,
  device: {
    path: '/sys/bus/iio/devices',
    enable: 'load the chip’s driver (on a Raspberry Pi: a dtoverlay line in config.txt, then reboot)',
  },
});
