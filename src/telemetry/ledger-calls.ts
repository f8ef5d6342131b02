/** Calls of the audit: they tell what was delivered, and put entries that are still kept back for delivery. */
import type { ControlCalls } from '../control-socket/control-connection.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { jsonOf } from '../values/json.ts';
import { numberIn, textIn } from '../values/request-params.ts';
import { countByCell, withDigests } from './entry-digest.ts';

export function deliveryCalls(outbox: Pick<Outbox, 'readLedger' | 'read' | 'resend'>): ControlCalls {
  return {
    methods: {
      readLedger: async (params, signal) => {
        const range = { fromMs: numberIn(params, 'fromMs'), toMs: numberIn(params, 'toMs') };
        // First what waits: what arrives meanwhile is in the ledger too, rather than in neither.
        const waiting = await countByCell(outbox.read({ ...range, heldOnly: true }, signal));
        return jsonOf(await withDigests(await outbox.readLedger(range), outbox.read(range, signal), waiting));
      },
      resend: (params, signal) =>
        outbox.resend(
          { key: textIn(params, 'key'), fromMs: numberIn(params, 'fromMs'), toMs: numberIn(params, 'toMs') },
          signal,
        ),
    },
  };
}
