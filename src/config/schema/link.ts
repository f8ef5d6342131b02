/** The link to the platform as somebody pays for it: how much a month or a day may carry, and what is done without before it is used up. */
import { z } from 'zod';
import { duration, LIVE, section, size, whole } from '../fields/fields.ts';

export const linkSchema = section({
  /** True has the agent keep within `monthly`; it counts in any case. */
  metered: z.boolean().default(false),
  /** Bytes of a month, both directions, with TLS and TCP/IP. */
  monthly: size({ min: '5MB' }).optional(),
  /** Bytes of a UTC day, counted as those of a month, `metered` or not; beyond them history waits, alarms and the present never do. */
  daily: size({ min: '10kB' }).meta(LIVE).optional(),
  /** Day on which the month of the plan begins, at midnight UTC. */
  resetDay: whole(1, 28).default(1),
  /** How often commands and shared attributes are fetched where they are not waited for. */
  wake: duration({ min: '1m', max: '1d' }).prefault('15m'),
  /** Downloads of updates that the month does not suffice for: they wait for the next one, or come now. */
  firmware: z.enum(['wait', 'now']).default('wait'),
});

export type LinkConfig = z.infer<typeof linkSchema>;
