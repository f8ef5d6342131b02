/** An outbox as a configuration that says nothing about it makes it. */
import type { OutboxSettings } from '../../src/outbox/delivery/outbox-settings.ts';

const MB = 1_000_000;
const HOUR_MS = 3_600_000;

export const DEFAULT_OUTBOX_SETTINGS: OutboxSettings = {
  commitAgeMs: 5_000,
  commitEntries: 1_000,
  maxBytes: 256 * MB,
  maxAgeMs: 90 * 24 * HOUR_MS,
  minFreeBytes: 100 * MB,
  whenFull: 'thin',
  retainForMs: 24 * HOUR_MS,
  retainBytes: 16 * MB,
  order: 'newest-first',
  backlogRatePerS: 200,
  timeUncertain: 'hold',
  memoryEntries: 10_000,
};
