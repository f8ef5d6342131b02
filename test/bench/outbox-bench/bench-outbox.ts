/** Outboxes for measuring: real files, the real clock, settings of the caller. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutboxConfig } from '../../../src/config/schema/agent-config.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { Lane, OutboxBatch } from '../../../src/outbox/delivery/outbox-batch.ts';
import { Outbox } from '../../../src/outbox/outbox.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../../support/outbox-settings.ts';

export const LANES: readonly Lane[] = ['alarm', 'live', 'backlog'];

export function openBenchOutbox(folder: string, settings: Partial<OutboxConfig> = {}): Promise<Outbox> {
  const timeSync = { isSynchronised: () => true, onChange: () => () => {} };
  const all = { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0, ...settings };
  return Outbox.open(
    { folder, clock: systemClock, files: systemFiles, log: silentLog, settings: all, timeSync },
    new AbortController().signal,
  );
}

/** Runs with a folder that is removed afterwards. `/tmp` may be memory: TMPDIR chooses the disk that is measured. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-bench-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function nextBatch(
  outbox: Outbox,
  limits: { maxEntries: number; maxBytes: number },
): Promise<OutboxBatch | undefined> {
  for (const lane of LANES) {
    const batch = await outbox.peek(lane, limits);
    if (batch !== undefined) return batch;
  }
  return undefined;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
