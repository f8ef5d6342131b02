/** A board with one of everything, for who starts it without a configuration of its own. */
import type { BoardConfigInput } from './board-config.ts';

export const SAMPLE_BOARD: BoardConfigInput = {
  version: 1,
  gpio: [
    {
      chip: 'gpiochip0',
      label: 'simulated',
      names: { 4: 'DOOR', 17: 'GPIO17', 18: 'GPIO18', 27: 'GPIO27' },
      inputs: [{ offset: 4, key: 'door', signal: { kind: 'door', perHour: 60, openMs: 8_000 } }],
    },
  ],
  i2c: [
    {
      bus: 1,
      chips: [
        {
          kind: 'bme280',
          address: 0x76,
          signals: {
            temperature: { kind: 'room', base: 21.5, day: 2.5, drift: 0.4, noise: 0.02 },
            humidity: { kind: 'room', base: 45, day: -6, drift: 2, noise: 0.1, min: 5, max: 95 },
            pressure: { kind: 'room', base: 1013.2, day: 0.5, drift: 1.5, noise: 0.02 },
          },
        },
      ],
    },
  ],
};
