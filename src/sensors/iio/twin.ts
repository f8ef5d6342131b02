/** Twin among the simulated kernel's devices: a chip of that name, whose driver gives processed values. */
import { ANY_SIGNAL, signalOf } from '../../stand-ins/simulated-board/room-signals.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { IioConfig } from './definition.ts';

const DEFAULT_CHANNELS = ['temp', 'humidityrelative', 'pressure'] as const;
/** Milli degrees, milli percent and kilopascal of the kernel's ABI; all others are thousandths here. */
const SIGNALS: Readonly<Record<string, readonly [key: string, factor: number]>> = {
  temp: ['temperature', 1_000],
  humidityrelative: ['humidity', 1_000],
  pressure: ['pressure', 0.1],
};

export const twin: Twin = {
  fitting: ({ chip, at = '1-0076', channels }: IioConfig) => ({
    kernel: {
      of: 'iio',
      name: chip,
      place: at.split('/').at(-1) ?? at,
      files: Object.fromEntries(
        (channels === undefined ? DEFAULT_CHANNELS : Object.keys(channels)).map((channel) => {
          const [key, factor] = SIGNALS[channel] ?? [];
          return [
            `in_${channel}_input`,
            { signal: key === undefined ? ANY_SIGNAL : signalOf(key), factor: factor ?? 1_000 },
          ];
        }),
      ),
    },
  }),
};
