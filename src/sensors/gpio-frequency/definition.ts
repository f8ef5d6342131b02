/** Key `frequency` in Hz, from the times between edges during the gate: it needs two, and reads 0 for what is slower. */
import { z } from 'zod';
import { gpioInputFields } from '../../config/fields/addresses.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { duration } from '../../config/fields/fields.ts';
import type { Finding } from '../../config/fields/findings.ts';
import { formatDuration } from '../../config/fields/quantity.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Long enough to count 1 Hz, short enough for a live display. */
const DEFAULT_GATE = '1s';

const schema = sensorSection('gpio-frequency', () => ({
  ...gpioInputFields,
  edge: z.enum(['rising', 'falling']).default('rising'),
  gate: duration({ min: '10ms', max: '1m' }).prefault(DEFAULT_GATE),
}));

export type GpioFrequencyConfig = ConfigOf<typeof schema>;
export const UNITS = { frequency: 'Hz' } as const;

export const gpioFrequency = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  units: UNITS,
  waitMs: ({ gateMs }) => gateMs,
  faults: gateFaults,
});

function gateFaults({ gateMs, periodMs, deadlineMs }: GpioFrequencyConfig, path: ConfigPath): Finding[] {
  const gate = [...path, 'gate'];
  if (gateMs >= periodMs)
    return [
      {
        path: gate,
        problem: 'not within the period:',
        expected: `less than the period of ${formatDuration(periodMs)}`,
      },
    ];
  if (gateMs < deadlineMs) return [];
  return [
    {
      path: gate,
      problem: 'cut off by the deadline:',
      expected: `less than the deadline of ${formatDuration(deadlineMs)}`,
    },
  ];
}
