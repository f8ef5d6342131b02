/**
 * Sensor over one device of the kernel. The device is searched at the first read, and again after each read that failed: when its driver is bound
 * again, the device has another number, and may have other channels.
 */

import { AgentError } from '../../../errors/agent-error.ts';
import type { KernelDevice, KernelDevicePort } from '../../../hardware/kernel-device-port.ts';
import { type Outcome, outcomeOf, sorted } from '../../kind/outcome.ts';
import type { Reading, Refusal, Sensor } from '../../kind/sensor.ts';
import { sensorFault } from '../../kind/sensor-fault.ts';
import type { KernelDeviceConfig } from './definition.ts';
import { findDevice } from './find-device.ts';

/** Faults of one value that say nothing of the others. */
const OF_ONE_VALUE: ReadonlySet<string> = new Set(['hardware/kernel-device-no-value', 'hardware/kernel-device-failed']);
/** More than any chip resolves; less is noise of binary fractions. */
const SIGNIFICANT_DIGITS = 12;

export interface DeviceChannel {
  /** As the kernel spells it. */
  readonly name: string;
  readonly key: string;
  read(signal: AbortSignal): Promise<Reading>;
}

export interface DeviceSensorDeps {
  readonly name: string;
  readonly port: KernelDevicePort;
  readonly config: KernelDeviceConfig;
  /** The class in words: `IIO device`. */
  readonly what: string;
  /** Channels of a device that was found. */
  channelsOf(device: KernelDevice, signal: AbortSignal): Promise<readonly DeviceChannel[]>;
}

export function deviceSensor({ name, port, config, what, channelsOf }: DeviceSensorDeps): Sensor {
  let channels: readonly DeviceChannel[] | undefined;
  let refused: readonly Refusal[] = [];
  return {
    name,
    read: async (signal) => {
      try {
        channels ??= await channelsOf(await findDevice(port, config, what, signal), signal);
        const outcomes: Outcome[] = [];
        for (const channel of channels) outcomes.push(await outcomeAt(channel, signal));
        const given = sorted(outcomes);
        refused = given.refused;
        return given.readings;
      } catch (error) {
        channels = undefined;
        throw error;
      }
    },
    refused: () => refused,
    close: async () => {},
  };
}

/** The channels of a section, in its order; all where it names none. @throws AgentError `sensors/no-channel` (retry). */
export function chosenChannels<C extends { readonly name: string; readonly key: string }>(
  all: readonly C[],
  { chip, channels }: KernelDeviceConfig,
): readonly C[] {
  if (channels === undefined) {
    if (all.length === 0) throw sensorFault('no-channel', `${chip} shows no channel that can be read`);
    return all;
  }
  return Object.entries(channels).map(([name, key]) => {
    const found = all.find((channel) => channel.name === name);
    if (found === undefined)
      throw sensorFault(
        'no-channel',
        `${chip} has no channel ${name}; there is ${all.map((one) => one.name).join(', ')}`,
      );
    return { ...found, key };
  });
}

/** The number in a file. @throws AgentError `sensors/bad-reading` (retry). */
export function numberIn(text: string, file: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number))
    throw sensorFault('bad-reading', `${file} holds ${JSON.stringify(text.slice(0, 40))}, which is no number`);
  return number;
}

/** Without the noise of binary fractions. */
export function plainNumber(value: number): number {
  return Number(value.toPrecision(SIGNIFICANT_DIGITS));
}

async function outcomeAt(channel: DeviceChannel, signal: AbortSignal): Promise<Outcome> {
  try {
    const reading = await channel.read(signal);
    return outcomeOf(channel.key, () => reading);
  } catch (fault) {
    const isOfOne = fault instanceof AgentError && (OF_ONE_VALUE.has(fault.code) || fault.code.startsWith('sensors/'));
    if (isOfOne && !signal.aborted) return { key: channel.key, fault };
    throw fault;
  }
}
