/** Operations on the entries that are kept: what waits, each of them, and those that the platform rejected. */
import type { EntryQuery, KeptPlaces, RejectedChoice, ResolvedEntry, UnreadPlace } from '../outbox/outbox.ts';
import { type JsonValue, jsonOf } from '../values/json.ts';
import type { ValueShape } from '../values/value-shape.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, SITE_CHANGE } from './operation.ts';

/** Entries told at once: some 60 kB. */
const ENTRIES_A_MESSAGE = 500;
const TIME: ValueShape = { type: 'number', description: 'UTC epoch ms' };

export const OUTBOX_OPERATIONS: OperationsOn<Pick<KeptPlaces, 'status' | 'read' | 'rejected' | 'resendRejected'>> = {
  outboxStatus: (outbox) => ({
    ...QUESTION,
    description: 'What waits to be sent, and how much room is left.',
    askers: ['platform', 'viewer'],
    run: () => outbox.status(),
  }),
  outboxEntries: (outbox) => ({
    ...QUESTION,
    description: 'Entries that are kept, in the order of blocks; at the end the places that could not be read.',
    askers: ['viewer'],
    params: objectOf(
      {
        keys: { type: 'array', items: { type: 'string' } },
        fromMs: TIME,
        toMs: TIME,
        heldOnly: { type: 'boolean', description: 'those that wait for delivery' },
      },
      [],
    ),
    isStream: true,
    run: async (params, { signal, emit = async () => {} }) => {
      let told: ResolvedEntry[] = [];
      const unread: UnreadPlace[] = [];
      for await (const entry of outbox.read(entryQuery(params), signal, (place) => unread.push(place))) {
        told.push(entry);
        if (told.length < ENTRIES_A_MESSAGE) continue;
        await emit(jsonOf(told));
        told = [];
      }
      if (told.length > 0) await emit(jsonOf(told));
      if (unread.length > 0) await emit({ unread: jsonOf(unread) });
      return null;
    },
  }),
  keptRejected: (outbox) => ({
    ...QUESTION,
    description: 'Entries that the platform rejected, and the places that could not be read.',
    askers: ['viewer'],
    run: () => outbox.rejected(),
  }),
  resendRejected: (outbox) => ({
    ...SITE_CHANGE,
    description: 'Puts rejected entries back for delivery: all where nothing is named.',
    params: objectOf({ sequences: { type: 'array', items: { type: 'number' } }, device: { type: 'string' } }, []),
    run: (params) => outbox.resendRejected(rejectedChoice(params)),
  }),
};

function rejectedChoice(params: JsonValue): RejectedChoice {
  const [sequences, device] = [memberOf(params, 'sequences'), memberOf(params, 'device')];
  return {
    sequences: Array.isArray(sequences) ? sequences.map(Number) : undefined,
    device: device === null ? undefined : String(device),
  };
}

function entryQuery(params: JsonValue): EntryQuery {
  const [keys, fromMs, toMs] = ['keys', 'fromMs', 'toMs'].map((name) => memberOf(params, name));
  return {
    heldOnly: memberOf(params, 'heldOnly') === true,
    keys: Array.isArray(keys) ? keys.map(String) : undefined,
    fromMs: typeof fromMs === 'number' ? fromMs : undefined,
    toMs: typeof toMs === 'number' ? toMs : undefined,
  };
}
