/** Whether remote commands are let through. */
import { check, warning } from '../checkup.ts';

export const lockout = check('lockout', 'remote commands are let through', ({ agent }) =>
  agent?.lockedOut === true
    ? warning('locked out: nothing remote moves', 'turn the key switch back, or remove the lockout file, when nobody works on the machine')
    : undefined,
);
