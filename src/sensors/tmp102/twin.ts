/** The TMP102 as its bus sees it, after SBOS397. */
import type { Twin } from '../../simulated-board/twin.ts';
import { CONFIG, type Layout, ThermometerChip } from '../families/thermometers/twin.ts';

const NORMAL: Layout = { register: 0, perDegree: 16, conversionMs: 26, range: [-55, 127.9375], word: (steps) => steps << 4 };
/** EM in the configuration: 13 bits, and bit 0 of the temperature says so ("Extended Mode"). */
const EXTENDED: Layout = { ...NORMAL, range: [-55, 150], word: (steps) => (steps << 3) | 1 };
const EXTENDED_MODE = 0x0010;

export const twin: Twin = {
  chip: (context) =>
    new ThermometerChip(context, {
      powerOn: { [CONFIG]: 0x60a0 },
      layout: (config) => ((config & EXTENDED_MODE) === 0 ? NORMAL : EXTENDED),
      // R1 and R0, and AL while nothing is too hot (table 8).
      alwaysSet: 0x6020,
    }),
  sample: { address: 0x49 },
};
