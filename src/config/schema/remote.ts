/** The configuration itself from afar: whether it is taken at all, and what beyond settings such a change may touch. */
import { z } from 'zod';
import { duration, list, section } from '../fields/fields.ts';

/** Longer than a reading, an upload and a poll take on a slow link; short enough to be waited for. */
const DEFAULT_TRIAL = '5m';

export const remoteSchema = section({
  /** False takes no configuration from afar. */
  enabled: z.boolean().default(false),
  /** Things that a change from afar may touch beside settings: the way to the platform, programs, outputs and their places. */
  allow: list(z.enum(['platform', 'programs', 'outputs']), { max: 3 }).default([]),
  /** Software packages with this title that are assigned to the gateway are configurations. */
  title: z.string().min(1).max(255).default('turnstone-configuration'),
  /** How long a new file has to prove itself before the one before it returns. */
  trial: duration({ min: '1m', max: '60m' }).prefault(DEFAULT_TRIAL),
});

export type RemoteConfig = z.infer<typeof remoteSchema>;
export type RemoteAllowance = RemoteConfig['allow'][number];
