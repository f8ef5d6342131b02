/** How payloads could lie in a block: JSON lines or columns per key, packed or not, and what each costs in bytes and in time per entry. */
import { constants, zstdCompressSync } from 'node:zlib';
import { systemClock } from '../../../src/host/clock.ts';
import { type BlockEntries, PayloadEncoder } from '../../../src/outbox/format/block-payload.ts';
import type { TelemetryEntry } from '../../../src/outbox/format/telemetry-entry.ts';
import { Corpus } from '../corpus.ts';

const ENTRIES = 30_000;
const ENCODER = new PayloadEncoder();

const LAYOUTS: Readonly<Record<string, (entries: readonly TelemetryEntry[]) => Buffer>> = {
  lines: (entries) => Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')),
  linesZstd1: (entries) => packed(Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')), 1),
  linesZstd3: (entries) => packed(Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')), 3),
  columns: (entries) => ENCODER.encode(columnsOf(entries)),
  columnsZstd1: (entries) => packed(ENCODER.encode(columnsOf(entries)), 1),
  columnsZstd3: (entries) => packed(ENCODER.encode(columnsOf(entries)), 3),
  columnsZstd9: (entries) => packed(ENCODER.encode(columnsOf(entries)), 9),
};

/** `[bytes, microseconds]` per entry, by layout, for blocks of a commit in the field and of a thinned or bulk one. */
export function measureLayouts(): Record<string, Record<string, readonly [number, number]>> {
  const result: Record<string, Record<string, readonly [number, number]>> = {};
  for (const count of [50, 1_000]) {
    const rows: Record<string, readonly [number, number]> = {};
    for (const [name, encode] of Object.entries(LAYOUTS)) {
      const corpus = new Corpus(systemClock.bootId);
      const blocks = Array.from({ length: ENTRIES / count }, () => corpus.entries(count));
      for (const block of blocks.slice(0, 20)) encode(block);
      const started = systemClock.monotonicMs();
      const bytes = blocks.reduce((sum, block) => sum + encode(block).length, 0);
      const micros = ((systemClock.monotonicMs() - started) * 1_000) / ENTRIES;
      rows[name] = [Number((bytes / ENTRIES).toFixed(2)), Number(micros.toFixed(2))];
    }
    result[`blocksOf${count}`] = rows;
  }
  return result;
}

function packed(raw: Buffer, level: number): Buffer {
  return zstdCompressSync(raw, { params: { [constants.ZSTD_c_compressionLevel]: level } });
}

function columnsOf(entries: readonly TelemetryEntry[]): BlockEntries {
  return {
    devices: entries.map(({ device }) => device),
    keys: entries.map(({ key }) => key),
    values: entries.map(({ value }) => value),
    monotonicMs: entries.map(({ monotonicMs }) => monotonicMs),
  };
}
