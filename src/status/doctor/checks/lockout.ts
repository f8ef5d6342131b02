/** Checks that remote commands are let through. */
import { agentCheck, warning } from './checkup.ts';

const REMEDY = 'turn the key switch back, or remove the lockout file, when nobody works on the machine';

export const lockout = agentCheck('lockout', 'remote commands are let through', ({ lockedOut }) =>
  lockedOut ? warning('locked out: nothing remote moves', REMEDY) : undefined,
);
