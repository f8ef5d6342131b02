/** Every chip the board can carry, by the name a sensor's configuration gives it. */
import { BoschChip } from './bosch-chip.ts';
import type { ChipFactory } from './simulated-chip.ts';

export const CHIPS: Readonly<Record<string, ChipFactory>> = {
  bme280: (context) => new BoschChip(context, { humidity: true }),
  bmp280: (context) => new BoschChip(context, { humidity: false }),
};
