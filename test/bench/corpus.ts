/**
 * The entries that the outbox is measured with: ten keys once a second, noise at the resolution of their sensors, no constant key. Each line of
 * corpus.jsonl is one entry, filled up with spaces to 124 bytes with its line end. `node test/bench/corpus.ts --write` makes the file
 * again, the same every time.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { TelemetryEntry } from '../../src/outbox/format/telemetry-entry.ts';

export const ENTRY_BYTES = 124;
const PATH = join(import.meta.dirname, 'corpus.jsonl');
const BOOT_ID = '0d3f6c1e-52b7-4f0e-9a57-3c2b8f0e71aa';
const SECONDS = 300;

interface Signal {
  readonly key: string;
  readonly middle: number;
  /** The least step that the sensor shows. */
  readonly resolution: number;
  /** Standard deviation of its noise, in steps. */
  readonly noise: number;
  /** How far it drifts in a minute, in steps. */
  readonly drift: number;
  /** When in the second it is read, ms. */
  readonly atMs: number;
}

const SIGNALS: readonly Signal[] = [
  { key: 'temperature', middle: 21.4, resolution: 0.01, noise: 1.5, drift: 8, atMs: 3 },
  { key: 'humidity', middle: 43.2, resolution: 0.01, noise: 4, drift: 20, atMs: 3 },
  { key: 'pressure', middle: 1013.25, resolution: 0.01, noise: 3, drift: 4, atMs: 3 },
  { key: 'co2', middle: 640, resolution: 1, noise: 6, drift: 15, atMs: 21 },
  { key: 'illuminance', middle: 312, resolution: 1, noise: 5, drift: 30, atMs: 22 },
  { key: 'supplyVoltage', middle: 24.12, resolution: 0.001, noise: 6, drift: 3, atMs: 40 },
  { key: 'supplyCurrent', middle: 1.284, resolution: 0.001, noise: 9, drift: 25, atMs: 40 },
  { key: 'flowRate', middle: 12.6, resolution: 0.1, noise: 2, drift: 6, atMs: 55 },
  { key: 'vibration', middle: 0.42, resolution: 0.001, noise: 30, drift: 10, atMs: 71 },
  { key: 'cpuTemperature', middle: 51.5, resolution: 0.1, noise: 2, drift: 4, atMs: 90 },
];

/** A small generator of even numbers in [0, 1), the same in every run. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function makeCorpus(): string {
  const random = mulberry32(124);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const walks = SIGNALS.map(() => 0);
  const lines: string[] = [];
  for (let second = 0; second < SECONDS; second += 1) {
    const jitterMs = Math.floor(random() * 3);
    SIGNALS.forEach(({ key, middle, resolution, noise, drift, atMs }, at) => {
      walks[at] = (walks[at] ?? 0) + (normal() * drift) / Math.sqrt(60);
      const steps = Math.round(middle / resolution + (walks[at] ?? 0) + normal() * noise);
      const value = Number((steps * resolution).toFixed(3));
      const entry = { key, value, bootId: BOOT_ID, monotonicMs: 60_000 + second * 1000 + atMs + jitterMs };
      lines.push(`${JSON.stringify(entry).padEnd(ENTRY_BYTES - 1)}\n`);
    });
  }
  return lines.join('');
}

/** The corpus over and over, each round later by its length, under a boot of the reader's choice. */
export class Corpus {
  readonly #entries: readonly TelemetryEntry[];
  readonly #lines: readonly Buffer[];
  readonly #bootId: string;
  #at = 0;

  constructor(bootId: string) {
    const text = readFileSync(PATH, 'utf8').trimEnd();
    this.#entries = text
      .split('\n')
      .map((line) => ({ ...(JSON.parse(line) as TelemetryEntry), device: 'self', class: 'regular' as const }));
    this.#lines = text.split('\n').map((line) => Buffer.from(`${line}\n`));
    this.#bootId = bootId;
  }

  /** The next entries. */
  entries(count: number): TelemetryEntry[] {
    return Array.from({ length: count }, () => {
      const entry = this.#entries[this.#at % this.#entries.length] as TelemetryEntry;
      const laterMs = Math.floor(this.#at / this.#entries.length) * SECONDS * 1000;
      this.#at += 1;
      return { ...entry, bootId: this.#bootId, monotonicMs: entry.monotonicMs + laterMs };
    });
  }

  /** The next lines as they are in the file. */
  block(count: number): Buffer {
    const lines = Array.from({ length: count }, () => {
      const line = this.#lines[this.#at % this.#lines.length] as Buffer;
      this.#at += 1;
      return line;
    });
    return Buffer.concat(lines);
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
  if (values.write) writeFileSync(PATH, makeCorpus());
  else process.exitCode = readFileSync(PATH, 'utf8') === makeCorpus() ? 0 : 1;
}
