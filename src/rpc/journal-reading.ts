/** Reads the journal's file of an earlier run, as entries of this boot. */
import { AgentError, messageOf } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { JsonObject } from '../values/json.ts';
import { entryFromJson, type JournalEntry } from './journal-entries.ts';
import { decodeFrames, type Frame, JOURNAL_HEAD } from './journal-frames.ts';
import type { JournalStorage } from './journal-storage.ts';

export interface JournalDeps {
  readonly storage: JournalStorage;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long an earlier boot lasted, where less is known: so that no number of short boots makes an entry last for ever. */
const MIN_BOOT_MS = 5 * 60_000;

/** The frame at the head of a file, and at its end when it is left in good order: it says how long the boot has lasted. */
export function headFrame(clock: Clock): Frame {
  return {
    ...JOURNAL_HEAD,
    payload: { ...JOURNAL_HEAD.payload, bootId: clock.bootId, atMs: Math.floor(clock.monotonicMs()) },
  };
}

/** Oldest first; none when there is no file. @throws what the storage says when the file may be read another time. */
export async function readEntries({ storage, clock, log }: JournalDeps): Promise<readonly JournalEntry[]> {
  const bytes = await readOrSetAside(storage, log);
  if (bytes === undefined || bytes.length === 0) return [];
  const { frames, wholeBytes, damagedBytes, unknownFrames } = decodeFrames(bytes);
  const tornBytes = bytes.length - wholeBytes;
  if (tornBytes + damagedBytes + unknownFrames > 0)
    log.warn({ tornBytes, damagedBytes, unknownFrames }, 'the RPC journal was damaged');
  if (damagedBytes > 0 || unknownFrames > 0) await storage.setAside();
  const entries = new Map<string, JournalEntry>();
  for (const { kind, payload } of frames) {
    const entry = kind === 'answered' ? answeredEntry(entries, payload) : entryFromJson(payload);
    if (entry === undefined) continue;
    entries.delete(entry.key);
    entries.set(entry.key, entry);
  }
  const lasted = bootsLasted(frames);
  return [...entries.values()].map((entry) => inThisBoot(entry, clock.bootId, lasted.get(entry.bootId) ?? 0));
}

/** Reads the file; quarantines one that is no journal, or far too large for one: waiting makes it no better. */
async function readOrSetAside(storage: JournalStorage, log: Log): Promise<Buffer | undefined> {
  try {
    return await storage.read();
  } catch (error) {
    if (!(error instanceof AgentError) || error.recovery !== 'drop') throw error;
    log.error({ error: messageOf(error) }, 'the RPC journal is none and is set aside');
    await storage.setAside();
    return undefined;
  }
}

function answeredEntry(
  entries: ReadonlyMap<string, JournalEntry>,
  { key, answeredAtMs, bootId }: JsonObject,
): JournalEntry | undefined {
  if (typeof key !== 'string' || typeof answeredAtMs !== 'number' || typeof bootId !== 'string') return undefined;
  const entry = entries.get(key);
  return entry === undefined ? undefined : { ...entry, answeredAtMs, bootId };
}

/** The last time of each boot that any frame names. */
function bootsLasted(frames: readonly Frame[]): ReadonlyMap<string, number> {
  const lasted = new Map<string, number>();
  for (const { payload } of frames)
    for (const atMs of [payload.atMs, payload.seenAtMs, payload.answeredAtMs])
      if (typeof payload.bootId === 'string' && typeof atMs === 'number')
        lasted.set(payload.bootId, Math.max(atMs, lasted.get(payload.bootId) ?? 0));
  return lasted;
}

function inThisBoot(entry: JournalEntry, bootId: string, lastedMs: number): JournalEntry {
  if (entry.bootId === bootId) return entry;
  const beforeMs = Math.max(lastedMs, MIN_BOOT_MS);
  const { seenAtMs, answeredAtMs } = entry;
  return {
    ...entry,
    bootId,
    seenAtMs: seenAtMs - beforeMs,
    ...(answeredAtMs !== undefined && { answeredAtMs: answeredAtMs - beforeMs }),
  };
}
