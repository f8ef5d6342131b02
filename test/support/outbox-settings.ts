/** An outbox as a configuration that says nothing about it makes it. */
import type { OutboxConfig } from '../../src/config/schema/agent-config.ts';

const MB = 1_000_000;
const HOUR_MS = 3_600_000;

export const DEFAULT_OUTBOX_SETTINGS: OutboxConfig = {
  commitAgeMs: 5_000,
  commitEntries: 1_000,
  maxBytes: 256 * MB,
  maxAgeMs: 90 * 24 * HOUR_MS,
  minFreeBytes: 100 * MB,
  whenFull: 'thin',
  retain: { forMs: 24 * HOUR_MS, bytes: 16 * MB },
  order: 'newest-first',
  backlogRatePerS: 200,
  timeUncertain: 'hold',
  memoryEntries: 10_000,
};
