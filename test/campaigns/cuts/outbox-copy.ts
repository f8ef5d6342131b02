/** Reads the copy of an outbox as the agent would after a cut: in another boot of the machine. */
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { Outbox, type ResolvedEntry } from '../../../src/outbox/outbox.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../../support/outbox-settings.ts';
import { isOfSensors, nameOf } from './ledger.ts';
import type { Numbered } from './witness.ts';

export interface OutboxContent {
  /** Entries that the disk has, delivered or not. */
  readonly written: readonly Numbered[];
  /** Names of readings that would be sent now. */
  readonly held: ReadonlySet<string>;
  /** Entries that it takes for damaged. */
  readonly damaged: number;
}

const LANES = ['alarm', 'live', 'backlog'] as const;
const LIMITS = { maxEntries: 1_000, maxBytes: 200_000 };

/** Delivers to nobody all that waits in it: the folder is to be a copy. */
export async function readOutboxCopy(folder: string): Promise<OutboxContent> {
  const { signal } = new AbortController();
  const bootedMs = systemClock.monotonicMs();
  const outbox = await Outbox.open(
    {
      folder,
      clock: { ...systemClock, bootId: crypto.randomUUID(), monotonicMs: () => systemClock.monotonicMs() - bootedMs },
      files: systemFiles,
      log: silentLog,
      settings: { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0 },
      timeSync: { isSynchronised: () => true, onChange: () => () => {} },
    },
    signal,
  );
  const written: Numbered[] = [];
  for await (const entry of outbox.read({}, signal)) written.push({ sequence: entry.sequence, name: entryName(entry) });
  const held = new Set<string>();
  for (const lane of LANES) {
    for (let batch = await outbox.peek(lane, LIMITS); batch !== undefined; batch = await outbox.peek(lane, LIMITS)) {
      for (const { key, value } of batch.entries)
        if (isOfSensors(key)) held.add(nameOf({ key, number: Number(value) }));
      await outbox.acknowledge(batch);
    }
  }
  const { damaged } = outbox.status();
  await outbox.close();
  return { written, held, damaged };
}

function entryName({ key, value }: ResolvedEntry): string {
  return `${key}:${typeof value === 'object' ? JSON.stringify(value) : String(value)}`;
}
