/** Every chip the board can carry, by the name a sensor's configuration gives it. */
import { BoschChip } from './bosch-chip.ts';
import { Ina219Chip } from './ina219-chip.ts';
import type { ChipFactory } from './simulated-chip.ts';
import { Ads1115Chip, Bh1750Chip, Sht3xChip, TableChip } from './small-chips.ts';
import { ThermometerChip } from './thermometer-chip.ts';

export const CHIPS: Readonly<Record<string, ChipFactory>> = {
  bme280: (context) => new BoschChip(context, { humidity: true }),
  bmp280: (context) => new BoschChip(context, { humidity: false }),
  sht3x: (context) => new Sht3xChip(context),
  tmp102: (context) => new ThermometerChip(context, 'tmp102'),
  lm75: (context) => new ThermometerChip(context, 'lm75'),
  mcp9808: (context) => new ThermometerChip(context, 'mcp9808'),
  ads1115: (context) => new Ads1115Chip(context),
  ina219: (context) => new Ina219Chip(context),
  bh1750: (context) => new Bh1750Chip(context),
  'i2c-register': (context) => new TableChip(context),
};
