/** The MCP9808 as its bus sees it, after DS25095A. */
import type { Twin } from '../../simulated-board/twin.ts';
import { type Layout, ThermometerChip } from '../families/thermometers/twin.ts';

const LAYOUT: Layout = {
  register: 5,
  perDegree: 16,
  conversionMs: 250,
  range: [-40, 125],
  // Three flags: at or above the critical limit, above the upper, below the lower one, which are all 0 after power-on.
  word: (steps) => (steps & 0x1fff) | (steps >= 0 ? 0x8000 : 0) | (steps > 0 ? 0x4000 : 0) | (steps < 0 ? 0x2000 : 0),
};

export const twin: Twin = {
  chip: (context) => new ThermometerChip(context, { powerOn: { 6: 0x0054, 7: 0x0400, 8: 0x0300 }, layout: () => LAYOUT }),
  sample: { address: 0x18 },
};
