/** Sensors on GPIO lines. */
import { z } from 'zod';
import { duration, section } from './fields.ts';
import { gpioInputFields } from './lines-and-ports.ts';
import { sensorFields } from './sensor-fields.ts';

/** Pulses that a power cut may lose, against one small write a minute to the card. */
const DEFAULT_SAVE_EVERY = '1m';
/** Long enough to count 1 Hz, short enough for a live display. */
const DEFAULT_GATE = '1s';

/** Key `state`: true or false; reported at every change and every period. */
export const gpioInput = section({ ...sensorFields, kind: z.literal('gpio-input'), ...gpioInputFields });

/** Keys `total` (survives restarts) and `rate` (pulses per second since the last reading). */
export const gpioCounter = section({
  ...sensorFields,
  kind: z.literal('gpio-counter'),
  ...gpioInputFields,
  edge: z.enum(['rising', 'falling', 'both']).default('rising'),
  /** How often the total is written to the state folder. */
  saveEvery: duration({ min: '1s', max: '1d' }).prefault(DEFAULT_SAVE_EVERY),
});

/** Key `frequency` in Hz, from the times between edges during the gate: it needs two, and reads 0 for what is slower. */
export const gpioFrequency = section({
  ...sensorFields,
  kind: z.literal('gpio-frequency'),
  ...gpioInputFields,
  edge: z.enum(['rising', 'falling']).default('rising'),
  gate: duration({ min: '10ms', max: '1m' }).prefault(DEFAULT_GATE),
});
