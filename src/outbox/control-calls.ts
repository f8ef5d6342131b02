/** Calls of the command line to the outbox: its state, the entries that are kept, and the dead letters. */
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { given } from '../host/given.ts';
import { type JsonObject, type JsonValue, jsonOf } from '../host/json.ts';
import { badRequest } from '../host/request-params.ts';
import type { EntryQuery } from './delivery/outbox-reading.ts';
import type { KeptOutbox } from './kept-places.ts';

/** Entries told at once: some 60 kB. */
const ENTRIES_A_MESSAGE = 500;

export function outboxCalls(outbox: KeptOutbox): Required<ControlCalls> {
  return {
    methods: {
      /** `sequences`: which; all when it is not given. */
      resendRejected: async ({ sequences }) => {
        const chosen = Array.isArray(sequences) ? new Set(sequences) : undefined;
        return { resent: await outbox.resendRejected(({ sequence }) => chosen?.has(sequence) ?? true) };
      },
    },
    readMethods: {
      outboxStatus: () => jsonOf(outbox.status()),
      rejectedEntries: async () => jsonOf(await outbox.rejected()),
    },
    readStreams: {
      /** Lists of entries, in the order of blocks. */
      outboxEntries: async (params, emit, signal) => {
        let told: JsonValue[] = [];
        for await (const entry of outbox.read(entryQuery(params), signal)) {
          told.push(jsonOf(entry));
          if (told.length < ENTRIES_A_MESSAGE) continue;
          await emit(told);
          told = [];
        }
        if (told.length > 0) await emit(told);
      },
    },
  };
}

/** @throws AgentError `agent/bad-request` (drop). */
export function entryQuery({ keys, fromMs, toMs, heldOnly }: JsonObject): EntryQuery {
  if (keys !== undefined && !(Array.isArray(keys) && keys.every((key) => typeof key === 'string')))
    throw badRequest('keys is a list of texts');
  for (const [name, value] of Object.entries({ fromMs, toMs }))
    if (value !== undefined && typeof value !== 'number') throw badRequest(`${name} is a number of milliseconds`);
  // Each is what it is to be, or missing.
  return given({ heldOnly: heldOnly === true, keys, fromMs, toMs }) as EntryQuery;
}
