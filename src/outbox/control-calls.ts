/** Calls of the command line to the outbox: its state, the entries that are kept, and the dead letters. */
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { type JsonObject, type JsonValue, jsonOf } from '../values/json.ts';
import { badRequest } from '../values/request-params.ts';
import type { EntryQuery } from './delivery/outbox-reading.ts';
import type { KeptPlaces, RejectedChoice, UnreadPlace } from './kept-places.ts';

/** Entries told at once: some 60 kB. */
const ENTRIES_A_MESSAGE = 500;

export function outboxCalls(outbox: KeptPlaces): Required<ControlCalls> {
  return {
    methods: {
      /** `sequences` and `device`: which; all when neither is given. */
      resendRejected: async (params) => jsonOf(await outbox.resendRejected(rejectedChoice(params))),
    },
    readMethods: {
      outboxStatus: () => jsonOf(outbox.status()),
      keptRejected: async () => jsonOf(await outbox.rejected()),
    },
    readStreams: {
      /** Lists of entries, in the order of blocks; at the end `unread`, the places that could not be read, where there are any. */
      outboxEntries: async (params, emit, signal) => {
        let told: JsonValue[] = [];
        const unread: UnreadPlace[] = [];
        for await (const entry of outbox.read(entryQuery(params), signal, (place) => unread.push(place))) {
          told.push(jsonOf(entry));
          if (told.length < ENTRIES_A_MESSAGE) continue;
          await emit(told);
          told = [];
        }
        if (told.length > 0) await emit(told);
        if (unread.length > 0) await emit({ unread: jsonOf(unread) });
      },
    },
  };
}

/** @throws AgentError `agent/bad-request` (drop). */
function rejectedChoice({ sequences, device }: JsonObject): RejectedChoice {
  const isList = Array.isArray(sequences) && sequences.every((sequence) => typeof sequence === 'number');
  if (sequences !== undefined && !isList) throw badRequest('sequences is a list of numbers');
  if (device !== undefined && typeof device !== 'string') throw badRequest('device is a text');
  return { sequences: isList ? sequences : undefined, device };
}

/** @throws AgentError `agent/bad-request` (drop). */
export function entryQuery({ keys, fromMs, toMs, heldOnly }: JsonObject): EntryQuery {
  if (keys !== undefined && !(Array.isArray(keys) && keys.every((key) => typeof key === 'string')))
    throw badRequest('keys is a list of texts');
  for (const [name, value] of Object.entries({ fromMs, toMs }))
    if (value !== undefined && typeof value !== 'number') throw badRequest(`${name} is a number of milliseconds`);
  // Each is what it is to be, or missing.
  return { heldOnly: heldOnly === true, keys, fromMs, toMs } as EntryQuery;
}
