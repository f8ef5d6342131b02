/** The LM75 as its bus sees it, after LM75B rev. 6.1. */
import type { Twin } from '../../simulated-board/twin.ts';
import { type Layout, ThermometerChip } from '../families/thermometers/twin.ts';

const LAYOUT: Layout = { register: 0, perDegree: 8, conversionMs: 100, range: [-55, 127.875], word: (steps) => steps << 5 };

export const twin: Twin = {
  chip: (context) => new ThermometerChip(context, { powerOn: { 2: 0x4b00, 3: 0x5000 }, layout: () => LAYOUT }),
  sample: { address: 0x4f },
};
