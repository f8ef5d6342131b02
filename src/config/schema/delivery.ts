/** The outbox and the uploader: how long readings are kept, and how they leave. */
import { z } from 'zod';
import { duration, LIVE, rate, section, size, whole } from '../fields/fields.ts';

/** A power cut loses at most this of what has not arrived; in an outage, ten times as many writes to the card would buy 0.5 s. Alarms never wait. */
const DEFAULT_COMMIT_AGE = '5s';
/** About a month of 10 keys every 10 s. */
const DEFAULT_MAX_BYTES = '256MB';
const DEFAULT_MAX_AGE = '90d';
/** Below this a Debian system starts to fail elsewhere (apt, journald). */
const DEFAULT_MIN_FREE = '100MB';
/** History that fills in behind must leave room for the present on a slow uplink. */
const DEFAULT_BACKLOG_RATE = '200/s';

export const outboxSchema = section({
  /** An entry is at the platform or durable at most this long after it was measured. What has arrived by then is written later, in large blocks. */
  commitAge: duration({ min: '10ms', max: '10m' }).meta(LIVE).prefault(DEFAULT_COMMIT_AGE),
  /** A block closes at this many entries, whatever its age. */
  commitEntries: whole(1, 100_000).default(1_000),
  maxBytes: size({ min: '1MB' }).prefault(DEFAULT_MAX_BYTES),
  maxAge: duration({ min: '1m', max: '3650d' }).prefault(DEFAULT_MAX_AGE),
  minFree: size().prefault(DEFAULT_MIN_FREE),
  /** Entries that give way; `drop-newest` excepts alarms, which have a share of their own and then take the place of the oldest. */
  whenFull: z.enum(['thin', 'drop-oldest', 'drop-newest']).default('thin'),
  /** Retention of acknowledged entries, for plots, audit and re-sending; a power cut loses up to 5 minutes of it. */
  retain: section({ for: duration({ max: '3650d' }).prefault('24h'), bytes: size().prefault('16MB') }).prefault({}),
  /** After an outage: the newest state first, history behind it; or strictly in order. */
  order: z.enum(['newest-first', 'oldest-first']).default('newest-first'),
  /** Entries of history per second while the present is sent too. */
  backlogRate: rate({ min: '1/s', max: '1000000/s' }).meta(LIVE).prefault(DEFAULT_BACKLOG_RATE),
  /** Treatment of readings whose wall time cannot be known. */
  timeUncertain: z.enum(['hold', 'send']).default('hold'),
  /** Entries kept in memory while the disk cannot be written. */
  memoryEntries: whole(100, 1_000_000).default(10_000),
});

export const uploadSchema = section({
  /** The platform takes 16 MiB; a small batch costs less when a bad line cuts it. */
  maxBatchBytes: size({ min: '1kB', max: '8MB' }).prefault('256kB'),
  maxBatchEntries: whole(1, 100_000).default(2_000),
  /** Least time between two uploads of the present; alarms never wait. 0s: 300 ms after a reading. Who pays for each message sets it. */
  interval: duration({ max: '1d' }).meta(LIVE).prefault('0s'),
});

export type OutboxConfig = z.infer<typeof outboxSchema>;
export type UploadConfig = z.infer<typeof uploadSchema>;
