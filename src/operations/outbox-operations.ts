/** RPC methods that ask for the entries that wait for delivery. */
import { jsonOf } from '../host/json.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { type OperationsOn, QUESTION } from './operation.ts';

export const OUTBOX_OPERATIONS: OperationsOn<Pick<Outbox, 'status'>> = {
  outboxStatus: (outbox) => ({
    ...QUESTION,
    description: 'What waits to be sent, and how much room is left.',
    run: () => jsonOf(outbox.status()),
  }),
};
