/** Credentials that were backed up, as another board, or the same one, takes them up again. */
import type { BoardIdentity } from '../host/identity.ts';
import { type CredentialsRecord, type CredentialsState, recordsOf } from './credentials-record.ts';
import { isSameDevice } from './move-identity.ts';

/** Binds every record in use to a board, with a higher generation than it had, as an import does. */
export function reboundCredentials(state: CredentialsState, board: BoardIdentity): CredentialsState {
  const { own, configured, setsQueueAside: _queue, ...rest } = state;
  return {
    ...rest,
    ...(own === undefined ? {} : { own: rebound(own, board) }),
    ...(configured === undefined ? {} : { configured: rebound(configured, board) }),
  };
}

function rebound(record: CredentialsRecord, board: BoardIdentity): CredentialsRecord {
  // A token that was only proposed belongs to no device yet.
  if (record.phase !== 'in-use') return { ...record, board };
  const { replacedBy = 0, ...rest } = record;
  return { ...rest, board, generation: Math.max(record.generation, replacedBy) + 1, takesOver: true };
}

/** True of a board that is a device already. */
export function isDevice(state: CredentialsState): boolean {
  return recordsOf(state).some(({ phase, previousTokens }) => phase === 'in-use' || previousTokens !== undefined);
}

/** True when what waits was measured as a device that is not in the other credentials. */
export function isOtherDevice(present: CredentialsState, coming: CredentialsState): boolean {
  return (
    isDevice(present) && !recordsOf(present).some((one) => recordsOf(coming).some((other) => isSameDevice(one, other)))
  );
}
