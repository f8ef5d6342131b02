/** RPC methods that ask for the entries that wait for delivery. */

import type { Outbox } from '../outbox/outbox.ts';
import { jsonOf } from '../values/json.ts';
import { type MethodsOn, QUESTION } from './rpc-method.ts';

export const OUTBOX_METHODS: MethodsOn<Pick<Outbox, 'status'>> = {
  outboxStatus: (outbox) => ({
    ...QUESTION,
    description: 'What waits to be sent, and how much room is left.',
    run: () => jsonOf(outbox.status()),
  }),
};
