/**
 * Bytes on the disk when one of many attached devices cannot have its entries for weeks. Virtual time, real files. The entries of the held device are
 * moved as `src/outbox/DEVICES.md` has it; the ratio is what they take beyond what `attached/` takes anyway, per byte that they take in an outbox of
 * their own that nothing is moved into.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { OutboxConfig } from '../../../src/config/schema/agent-config.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { Outbox, type ResolvedEntry, type TelemetryEntry } from '../../../src/outbox/outbox.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../../support/outbox-settings.ts';
import { inFolder, nextBatch } from '../outbox-bench/bench-outbox.ts';

const DEVICES = 100;
const HELD = 'meter-0';
const MINUTE_MS = 60_000;
const MINUTES_PER_DAY = 1_440;
const LIMITS = { maxEntries: 5_000, maxBytes: 1_000_000 };

const { signal } = new AbortController();

export interface HeldFigures {
  readonly days: number;
  readonly heldEntries: number;
  readonly held: number;
  readonly attached: number;
  readonly healthy: number;
  readonly alone: number;
  readonly heldBytesRatio: number;
}

export function measureHeld(days: number): Promise<HeldFigures> {
  return inFolder((folder) => holdOne(folder, days));
}

async function holdOne(folder: string, days: number): Promise<HeldFigures> {
  const clock = new FakeClock();
  const open = (name: string, changes: Partial<OutboxConfig> = {}): Promise<Outbox> => {
    const settings = { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0, ...changes };
    const timeSync = { isSynchronised: () => true, onChange: () => () => {} };
    return Outbox.open(
      { folder: join(folder, name), clock, files: systemFiles, log: silentLog, settings, timeSync },
      signal,
    );
  };
  const [attached, held, healthy, alone] = [
    await open('attached'),
    await open('held'),
    await open('healthy'),
    await open('alone'),
  ];
  const bytesOf = (name: string): number =>
    readdirSync(join(folder, name)).reduce((sum, file) => sum + statSync(join(folder, name, file)).size, 0);
  let moved = 0;
  for (let minute = 0; minute < days * MINUTES_PER_DAY; minute += 1) {
    const entries = Array.from({ length: DEVICES }, (_, at) => entryOf(`meter-${at}`, minute + at / 10, clock));
    const appended = [attached, healthy].map((outbox) => outbox.append(entries));
    appended.push(alone.append(entries.slice(0, 1)));
    await clock.advance(MINUTE_MS);
    await Promise.all(appended);
    for (const outbox of [attached, healthy]) {
      const window = await nextBatch(outbox, LIMITS);
      if (window === undefined) throw new Error('nothing came');
      const rows = Array.from({ length: window.entries.length }, (_, row) => window.entries.at(row));
      const own = outbox === attached ? rows.filter((one) => one?.device === HELD) : [];
      moved += own.length;
      // Durable before it is acknowledged in `attached/`.
      const kept = held.append(own.map((one) => asMoved(one as ResolvedEntry, clock)));
      await held.flush();
      await kept;
      await outbox.acknowledge(window);
    }
  }
  const beyondRetain = bytesOf('held') + bytesOf('attached') - bytesOf('healthy');
  const bytes = {
    held: bytesOf('held'),
    attached: bytesOf('attached'),
    healthy: bytesOf('healthy'),
    alone: bytesOf('alone'),
  };
  if (held.status().heldEntries !== moved) throw new Error('not all were held');
  await Promise.all([attached, held, healthy, alone].map((outbox) => outbox.close()));
  return {
    days,
    heldEntries: moved,
    ...bytes,
    heldBytesRatio: Math.round((1_000 * beyondRetain) / bytes.alone) / 1_000,
  };
}

function entryOf(device: string, value: number, clock: FakeClock): TelemetryEntry {
  return {
    device,
    key: 'energyImport',
    value,
    bootId: clock.bootId,
    monotonicMs: clock.monotonicMs(),
    class: 'regular',
  };
}

/** An entry with the instant that its window gave it. */
function asMoved({ device, key, value, ts }: ResolvedEntry, clock: FakeClock): TelemetryEntry {
  return { ...entryOf(device, 0, clock), key, value, takenAtMs: ts, isAgain: true };
}
