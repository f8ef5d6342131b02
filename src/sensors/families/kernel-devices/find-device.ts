/** Search of the one device that a configuration means: by the driver's name, and by its place where two have the name; never by its number. */
import { basename } from 'node:path';
import type { KernelDevice, KernelDevicePort } from '../../../hardware/kernel-device-port.ts';
import { sensorFault } from '../../kind/sensor-fault.ts';
import type { KernelDeviceConfig } from './definition.ts';

/** @param what the class in words: `IIO device`. @throws AgentError `sensors/no-device`, `sensors/ambiguous` (retry). */
export async function findDevice(
  port: KernelDevicePort,
  { chip, at }: KernelDeviceConfig,
  what: string,
  signal: AbortSignal,
): Promise<KernelDevice> {
  const all = await port.list(signal);
  const named = all.filter(({ name }) => isNamed(name, chip));
  const found = at === undefined ? named : named.filter(({ chipFolder }) => isAt(chipFolder, at));
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  if (first !== undefined)
    throw sensorFault(
      'ambiguous',
      `${found.length} ${what}s are called ${chip}; give the place of one: ${places(found).join(', ')}`,
    );
  const wanted = at === undefined ? chip : `${chip} at ${at}`;
  const there = all.map((device) => `${device.name} (${basename(device.chipFolder)})`).join(', ');
  throw sensorFault(
    'no-device',
    `the kernel has no ${what} ${wanted}; there is ${there === '' ? 'none' : there}: its driver is loaded by a line in config.txt or in the board’s device tree`,
  );
}

/** A driver of the device tree's may put its node after the name: `dht11@0`. */
function isNamed(name: string, chip: string): boolean {
  return name === chip || (!chip.includes('@') && name.split('@')[0] === chip);
}

function isAt(chipFolder: string, at: string): boolean {
  return chipFolder === at || basename(chipFolder) === at;
}

/** As `at:` lines. Two devices of one chip have one place, and are told by their folders. */
function places(devices: readonly KernelDevice[]): readonly string[] {
  return devices.map(({ chipFolder }) => `at: ${basename(chipFolder)}`);
}
