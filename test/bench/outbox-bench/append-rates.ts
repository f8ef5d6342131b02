/** Durable appends per second, commits of 50: the outbox, a bare log, one row per entry in SQLite; and reading back with acknowledgement. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { systemClock } from '../../../src/host/clock.ts';
import { Corpus } from '../corpus.ts';
import { inFolder, median, nextBatch, openBenchOutbox } from './bench-outbox.ts';

const COMMIT_ENTRIES = 50;
const COMMITS = 2_000;
/** Two are synced while the third is packed; each is a commit, and a sync, of its own. */
const APPENDS_IN_FLIGHT = 3;
/** Limits that the uploader asks for by default. */
const BATCH = { maxEntries: 2_000, maxBytes: 256_000 };

const writeFd = promisify(fs.write);
const datasyncFd = promisify(fs.fdatasync);

export interface AppendRates {
  readonly outbox: number;
  readonly drain: number;
  /** Write and sync on a thread of the pool, as the outbox has to. */
  readonly bareLog: number;
  /** The same blocking the main thread, which the outbox must not: for comparison. */
  readonly bareLogBlocking: number;
  readonly sqlite: number;
}

export async function measureAppendRates(runs: number): Promise<AppendRates> {
  const all: AppendRates[] = [];
  for (let run = 0; run < runs + 1; run += 1) {
    const { append, drain } = await inFolder(outboxRates);
    const rates = {
      outbox: append,
      drain,
      bareLog: await inFolder(bareLogRate),
      bareLogBlocking: await inFolder(bareLogBlockingRate),
      sqlite: await inFolder(sqliteRate),
    };
    // The first round only warms up.
    if (run > 0) all.push(rates);
  }
  const of = (name: keyof AppendRates): number => Math.round(median(all.map((rates) => rates[name])));
  return {
    outbox: of('outbox'),
    drain: of('drain'),
    bareLog: of('bareLog'),
    bareLogBlocking: of('bareLogBlocking'),
    sqlite: of('sqlite'),
  };
}

function rateOf(entries: number, startedMs: number): number {
  return (entries * 1000) / (systemClock.monotonicMs() - startedMs);
}

async function outboxRates(folder: string): Promise<{ append: number; drain: number }> {
  const outbox = await openBenchOutbox(folder, { commitEntries: COMMIT_ENTRIES });
  const corpus = new Corpus(systemClock.bootId);
  const commits = Array.from({ length: COMMITS }, () => corpus.entries(COMMIT_ENTRIES));
  const started = systemClock.monotonicMs();
  const inFlight: Promise<void>[] = [];
  for (const entries of commits) {
    inFlight.push(outbox.append(entries));
    if (inFlight.length === APPENDS_IN_FLIGHT) await inFlight.shift();
  }
  await Promise.all(inFlight);
  const append = rateOf(COMMITS * COMMIT_ENTRIES, started);
  const drainStarted = systemClock.monotonicMs();
  let drained = 0;
  for (let batch = await nextBatch(outbox, BATCH); batch !== undefined; batch = await nextBatch(outbox, BATCH)) {
    drained += batch.entries.length;
    await outbox.acknowledge(batch);
  }
  const drain = rateOf(drained, drainStarted);
  if (drained !== COMMITS * COMMIT_ENTRIES) throw new Error(`drained ${drained}`);
  await outbox.close();
  return { append, drain };
}

async function bareLogRate(folder: string): Promise<number> {
  const corpus = new Corpus(systemClock.bootId);
  const blocks = Array.from({ length: COMMITS }, () => corpus.block(COMMIT_ENTRIES));
  const fd = fs.openSync(join(folder, 'bare.log'), 'w');
  const started = systemClock.monotonicMs();
  let at = 0;
  for (const block of blocks) {
    await writeFd(fd, block, 0, block.length, at);
    await datasyncFd(fd);
    at += block.length;
  }
  const rate = rateOf(COMMITS * COMMIT_ENTRIES, started);
  fs.closeSync(fd);
  return rate;
}

async function bareLogBlockingRate(folder: string): Promise<number> {
  const corpus = new Corpus(systemClock.bootId);
  const blocks = Array.from({ length: COMMITS }, () => corpus.block(COMMIT_ENTRIES));
  const fd = fs.openSync(join(folder, 'bare.log'), 'w');
  const started = systemClock.monotonicMs();
  for (const block of blocks) {
    fs.writeSync(fd, block);
    fs.fdatasyncSync(fd);
  }
  const rate = rateOf(COMMITS * COMMIT_ENTRIES, started);
  fs.closeSync(fd);
  return rate;
}

async function sqliteRate(folder: string): Promise<number> {
  const corpus = new Corpus(systemClock.bootId);
  const commits = Array.from({ length: COMMITS }, () => corpus.entries(COMMIT_ENTRIES));
  const database = new DatabaseSync(join(folder, 'rows.db'));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec(
    'CREATE TABLE entry (sequence INTEGER PRIMARY KEY, device TEXT, key TEXT, value, bootId TEXT, monotonicMs REAL, class TEXT)',
  );
  const insert = database.prepare(
    'INSERT INTO entry (device, key, value, bootId, monotonicMs, class) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const started = systemClock.monotonicMs();
  for (const entries of commits) {
    database.exec('BEGIN');
    for (const entry of entries)
      insert.run(entry.device, entry.key, entry.value as number, entry.bootId, entry.monotonicMs, entry.class);
    database.exec('COMMIT');
  }
  const rate = rateOf(COMMITS * COMMIT_ENTRIES, started);
  database.close();
  return rate;
}
