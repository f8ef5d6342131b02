/** What the command line can ask of the outbox: the entries that are kept, and those that the platform refused. */
import type { ControlMethod, ControlStream } from '../control-socket/control-connection.ts';
import { AgentError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { EntryQuery } from '../outbox/outbox-reading.ts';

export interface OutboxDoors {
  readonly methods: Readonly<Record<string, ControlMethod>>;
  readonly readMethods: Readonly<Record<string, ControlMethod>>;
  readonly readStreams: Readonly<Record<string, ControlStream>>;
}

/** Entries told at once: some 60 kB. */
const ENTRIES_A_MESSAGE = 500;

export function outboxDoors(outbox: Pick<Outbox, 'read' | 'rejected' | 'resendRejected'>): OutboxDoors {
  return {
    methods: {
      /** `sequences`: which; all when it is not given. */
      resendRejected: async ({ sequences }) => {
        const chosen = Array.isArray(sequences) ? new Set(sequences) : undefined;
        return { resent: await outbox.resendRejected(({ sequence }) => chosen?.has(sequence) ?? true) };
      },
    },
    readMethods: {
      rejectedEntries: async () => (await outbox.rejected()) as unknown as JsonValue,
    },
    readStreams: {
      /** Lists of entries, in the order of blocks. */
      outboxEntries: async (params, emit, signal) => {
        let told: JsonValue[] = [];
        for await (const entry of outbox.read(entryQuery(params), signal)) {
          told.push(entry as unknown as JsonObject);
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
  const bad = (what: string): AgentError => new AgentError('agent/bad-request', what, { recovery: 'drop' });
  if (keys !== undefined && !(Array.isArray(keys) && keys.every((key) => typeof key === 'string'))) throw bad('keys is a list of texts');
  for (const [name, value] of Object.entries({ fromMs, toMs }))
    if (value !== undefined && typeof value !== 'number') throw bad(`${name} is a number of milliseconds`);
  return {
    heldOnly: heldOnly === true,
    ...(keys === undefined ? {} : { keys: keys as readonly string[] }),
    ...(typeof fromMs === 'number' ? { fromMs } : {}),
    ...(typeof toMs === 'number' ? { toMs } : {}),
  };
}
