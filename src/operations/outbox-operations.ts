/** RPC methods that ask for the entries that wait for delivery. */
import type { KeptPlaces } from '../outbox/outbox.ts';
import { type OperationsOn, QUESTION } from './operation.ts';

export const OUTBOX_OPERATIONS: OperationsOn<Pick<KeptPlaces, 'status'>> = {
  outboxStatus: (outbox) => ({
    ...QUESTION,
    description: 'What waits to be sent, and how much room is left.',
    run: () => outbox.status(),
  }),
};
