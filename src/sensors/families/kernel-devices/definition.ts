/** Options of sensors that a driver of the kernel reads: which device, and which of its channels. */

import type { ConfigPath } from '../../../config/fields/config-fault.ts';
import { platformKey, table, text } from '../../../config/fields/fields.ts';
import type { Finding } from '../../../config/fields/findings.ts';

/** Made where a section is: most configurations have none of these kinds. */
export const kernelDeviceFields = () => ({
  /** Driver's name of the chip, as its file `name` has it. */
  chip: text(/^[^\s/]{1,64}$/, 'the name that the kernel’s driver gives, such as bme280'),
  /** Place of the chip, where two have the name: `1-0076` is address 0x76 of I2C bus 1, `spi0.1` a chip select; or its folder below /sys/devices. */
  at: text(
    /^(?:[^\s/]{1,64}|\/sys\/devices\/(?!.*\/\.{1,2}(?:\/|$))\S+)$/,
    'the place of the chip such as 1-0076 or spi0.1, or its folder below /sys/devices',
  ).optional(),
  /** Channels that are read, as the kernel spells them, and their keys; without it all, by keys of their own. */
  channels: table(text(/^[a-z][a-z0-9_-]{0,63}$/, 'a channel as the kernel spells it'), platformKey()).optional(),
});

export interface KernelDeviceConfig {
  readonly chip: string;
  readonly at?: string | undefined;
  readonly channels?: Readonly<Record<string, string>> | undefined;
}

/** The keys that it gives, where its section says them. */
export function channelKeys({ channels }: KernelDeviceConfig): readonly string[] | undefined {
  return channels === undefined ? undefined : Object.values(channels);
}

export function channelFaults({ channels }: KernelDeviceConfig, path: ConfigPath): Finding[] {
  if (channels === undefined) return [];
  const entries = Object.entries(channels);
  if (entries.length === 0)
    return [{ path: [...path, 'channels'], problem: 'no channel', expected: 'at least one, or no channels: at all' }];
  const firstOf = new Map<string, string>();
  return entries.flatMap(([channel, key]): Finding[] => {
    const first = firstOf.get(key);
    firstOf.set(key, first ?? channel);
    return first === undefined
      ? []
      : [
          {
            path: [...path, 'channels', channel],
            problem: 'two channels with one key:',
            value: key,
            expected: `a key of its own; ${first} has it already`,
          },
        ];
  });
}
