/** Reads the journal's file of an earlier run, as entries of this boot. */
import { AgentError, messageOf } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { ReadRecords } from '../store/record-log.ts';
import type { JournalEntry } from './journal-entries.ts';
import type { JournalFile, JournalRecord } from './journal-file.ts';

export interface JournalDeps {
  readonly file: JournalFile;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long an earlier boot lasted, where less is known: so that no number of short boots makes an entry last for ever. */
const MIN_BOOT_MS = 5 * 60_000;

/** Oldest first; none when there is no file. @throws what the disk says when the file may be read another time. */
export async function readEntries({ file, clock, log }: JournalDeps): Promise<readonly JournalEntry[]> {
  const { values, damaged, isForeign } = await readOrSetAside(file, log);
  if (damaged.length > 0 || isForeign) {
    log.warn({ damagedLines: damaged.length, isForeign }, 'the RPC journal was damaged');
    await file.setAside();
  }
  const entries = new Map<string, JournalEntry>();
  for (const record of values) {
    const entry = entryOf(record, entries);
    if (entry === undefined) continue;
    entries.delete(entry.key);
    entries.set(entry.key, entry);
  }
  const lasted = bootsLasted(values);
  return [...entries.values()].map((entry) => inThisBoot(entry, clock.bootId, lasted.get(entry.bootId) ?? 0));
}

/** Reads the file; quarantines one that is far too large, or no file: waiting makes it no better. */
async function readOrSetAside(file: JournalFile, log: Log): Promise<ReadRecords<JournalRecord>> {
  try {
    return await file.read();
  } catch (error) {
    if (!(error instanceof AgentError) || error.recovery !== 'drop') throw error;
    log.error({ error: messageOf(error) }, 'the RPC journal is none and is set aside');
    await file.setAside();
    return { values: [], damaged: [], isForeign: false };
  }
}

function entryOf(record: JournalRecord, known: ReadonlyMap<string, JournalEntry>): JournalEntry | undefined {
  if (record.kind === 'boot' || record.kind === 'former') return undefined;
  if (record.kind === 'entry') return record.entry;
  const { key, answeredAtMs, bootId } = record;
  const entry = known.get(key);
  return entry === undefined ? undefined : { ...entry, answeredAtMs, bootId };
}

/** The last time of each boot that any record names. */
function bootsLasted(records: readonly JournalRecord[]): ReadonlyMap<string, number> {
  const lasted = new Map<string, number>();
  for (const record of records) {
    if (record.kind === 'former') continue;
    const { bootId } = record.kind === 'entry' ? record.entry : record;
    lasted.set(bootId, Math.max(...timesIn(record), lasted.get(bootId) ?? 0));
  }
  return lasted;
}

function timesIn(record: Exclude<JournalRecord, { readonly kind: 'former' }>): readonly number[] {
  if (record.kind === 'boot') return [record.atMs];
  if (record.kind === 'answered') return [record.answeredAtMs];
  const { seenAtMs, answeredAtMs = seenAtMs } = record.entry;
  return [seenAtMs, answeredAtMs];
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
