/** Twin among the simulated kernel's devices: a hardware monitor of that name. */
import { ANY_SIGNAL, signalOf } from '../../stand-ins/simulated-board/room-signals.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { HwmonConfig } from './definition.ts';

const DEFAULT_CHANNELS = ['temp1', 'humidity1'] as const;
/** Units of the kernel's hwmon interface: thousandths, but for microwatts. */
const SIGNALS: Readonly<Record<string, readonly [key: string, factor: number]>> = {
  temp: ['temperature', 1_000],
  humidity: ['humidity', 1_000],
  in: ['voltage', 1_000],
  curr: ['current', 1_000],
  power: ['power', 1_000_000],
};

export const twin: Twin = {
  fitting: ({ chip, at = '1-0044', channels }: HwmonConfig) => ({
    kernel: {
      of: 'hwmon',
      name: chip,
      place: at.split('/').at(-1) ?? at,
      files: Object.fromEntries(
        (channels === undefined ? DEFAULT_CHANNELS : Object.keys(channels)).map((channel) => {
          const [key, factor] = SIGNALS[channel.replace(/\d+$/, '')] ?? [];
          return [`${channel}_input`, { signal: key === undefined ? ANY_SIGNAL : signalOf(key), factor: factor ?? 1 }];
        }),
      ),
    },
  }),
};
