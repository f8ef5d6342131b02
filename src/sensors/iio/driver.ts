/**
 * Industrial I/O of the kernel: value = (raw + offset) × scale, or what the driver has processed.
 *
 *   files of /sys/bus/iio/devices/iio:deviceN ─► readings of now
 *   /dev/iio:deviceN, filled at a trigger ─────► readings with the kernel's times
 */
import type { IioCapture, IioPort, IioScan } from '../../hardware/iio-port.ts';
import type { KernelDevice } from '../../hardware/kernel-device-port.ts';
import {
  chosenChannels,
  type DeviceChannel,
  deviceSensor,
  numberIn,
  plainNumber,
} from '../families/kernel-devices/device-sensor.ts';
import { findDevice } from '../families/kernel-devices/find-device.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { type IioChannel, iioChannels } from './channels.ts';
import type { IioConfig } from './definition.ts';

const WHAT = 'IIO device';

/** Channel of a buffer, with its scale and offset of when it began. */
interface ScaledChannel extends IioChannel {
  readonly scale: number;
  readonly offset: number;
}

export async function open(config: IioConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name } = config;
  const { iio: port } = deps.ports;
  if (config.buffer !== undefined) return await openBuffered(config, deps, signal);
  return deviceSensor({
    name,
    port,
    config,
    what: WHAT,
    channelsOf: async (device) =>
      chosenChannels(iioChannels(device.files), config).map((channel) => readable(channel, device, port)),
  });
}

function readable(channel: IioChannel, device: KernelDevice, port: IioPort): DeviceChannel {
  const { name, key, file } = channel;
  return {
    name,
    key,
    read: async (signal) => {
      const came = numberIn(await port.read(device, file, signal), file);
      // A driver that chooses its range by itself changes scale and offset.
      return readingOf(await withScale(channel, { device, port }, signal), came);
    },
  };
}

async function withScale(
  channel: IioChannel,
  { device, port }: { readonly device: KernelDevice; readonly port: IioPort },
  signal: AbortSignal,
): Promise<ScaledChannel> {
  const numberOf = async (file: string | undefined, otherwise: number): Promise<number> =>
    file === undefined ? otherwise : numberIn(await port.read(device, file, signal), file);
  const { offsetFile, scaleFile } = channel;
  return { ...channel, offset: await numberOf(offsetFile, 0), scale: await numberOf(scaleFile, 1) };
}

function readingOf({ key, unit, factor, scale, offset }: ScaledChannel, came: number): Reading {
  const value = plainNumber((came + offset) * scale * factor);
  return unit === undefined ? { key, value } : { key, value, unit };
}

/** @throws AgentError `sensors/no-device`, `sensors/no-channel`, `hardware/…` (retry), after which it is opened again. */
async function openBuffered(config: IioConfig, { ports, log }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, buffer } = config;
  const port = ports.iio;
  const device = await findDevice(port, config, WHAT, signal);
  const chosen = chosenChannels(
    // Buffers hold raw numbers only.
    iioChannels(device.files.filter((file) => !file.endsWith('_input'))),
    config,
  );
  const channels: ScaledChannel[] = [];
  for (const channel of chosen) channels.push(await withScale(channel, { device, port }, signal));
  const capture = await port.capture(
    device,
    {
      channels: channels.map((channel) => channel.name),
      trigger: buffer?.trigger,
      length: buffer?.length ?? 0,
      frequencyHz: buffer?.frequencyHz,
    },
    signal,
  );
  return bufferedSensor(name, capture, channels, () =>
    log.warn(
      { sensor: name },
      'the buffer was full, and later values were lost: read more often, or choose a longer one',
    ),
  );
}

function bufferedSensor(
  name: string,
  capture: IioCapture,
  channels: readonly ScaledChannel[],
  tellFull: () => void,
): Sensor {
  let isFirst = true;
  let toldFull = false;
  return {
    name,
    read: async (signal) => {
      const { scans, wasFull } = await capture.drain(signal);
      if (wasFull && !toldFull) tellFull();
      toldFull = wasFull;
      if (scans.length === 0 && !isFirst)
        throw sensorFault('silent', 'nothing came into the buffer since the last read: does its trigger run?');
      isFirst = false;
      return scans.flatMap((scan) => readingsOf(scan, channels));
    },
    close: () => capture.close(),
  };
}

function readingsOf({ raw, monotonicMs }: IioScan, channels: readonly ScaledChannel[]): readonly Reading[] {
  return channels.flatMap((channel) => {
    const came = raw.get(channel.name);
    if (came === undefined) return [];
    const reading = readingOf(channel, came);
    return [monotonicMs === undefined ? reading : { ...reading, monotonicMs }];
  });
}
