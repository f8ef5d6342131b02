/**
 * Worlds simulated so far of one state of `src`: campaigns add to it and go on where they stopped. A change of `src` begins again, as the
 * results of another program prove nothing.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Verdict } from './live.ts';
import type { PlanOptions } from './plan.ts';

const FILE = fileURLToPath(new URL('ledger.json', import.meta.url));
const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));

export interface Ledger {
  readonly format: 'turnstone-simulation-ledger';
  readonly version: 1;
  /** SHA-256 over the names and contents of all files of `src`, hexadecimal. */
  readonly src: string;
  /** Seeds that were simulated, as ranges with both ends, in order and apart. */
  seeds: (readonly [number, number])[];
  virtualDays: number;
  cpuSeconds: number;
  cuts: number;
  durable: number;
  commands: number;
  /** How often each trouble came. */
  troubles: Record<string, number>;
  /** Seeds whose worlds contradicted a sentence. */
  failures: number[];
  /** Planted faults by name: the world that first showed it, or null where none did. */
  planted: Record<string, Shown | null>;
}

/** How a planted fault was seen. */
export interface Shown {
  readonly seed: number;
  /** Where the world was not drawn as always: what it was drawn with. */
  readonly directed?: PlanOptions;
  /** Number of this world among all that were tried. */
  readonly worlds: number;
  /** Sentences that it contradicted. */
  readonly sentences: readonly string[];
}

/** As kept on disk if it is of this `src`, else an empty one. */
export function openLedger(src = hashOfSource()): Ledger {
  const found = readLedger();
  if (found.src === src) return found;
  const nothing = {
    seeds: [],
    virtualDays: 0,
    cpuSeconds: 0,
    cuts: 0,
    durable: 0,
    commands: 0,
    troubles: {},
    failures: [],
    planted: {},
  };
  return { format: 'turnstone-simulation-ledger', version: 1, src, ...nothing };
}

/** As kept on disk, of whatever `src`. */
export function readLedger(): Ledger {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Ledger;
}

/** How a planted fault was seen by the last campaign that looked for it, perhaps in another `src`. */
export function shownBefore(name: string): Shown | undefined {
  const { planted = {} }: Partial<Ledger> = readLedger();
  return planted[name] ?? undefined;
}

export function saveLedger(ledger: Ledger): void {
  writeFileSync(FILE, `${JSON.stringify(ledger, undefined, 2)}\n`);
}

/** Adds a world, once: a seed that is in it already changes nothing. */
export function enter(ledger: Ledger, verdict: Verdict, cpuSeconds: number): void {
  if (isIn(ledger, verdict.seed)) return;
  ledger.seeds = withSeed(ledger.seeds, verdict.seed);
  ledger.virtualDays += verdict.virtualMs / 86_400_000;
  ledger.cpuSeconds += cpuSeconds;
  ledger.cuts += verdict.cuts;
  ledger.durable += verdict.durable;
  ledger.commands += verdict.commands;
  for (const [name, count] of Object.entries(verdict.troubles))
    ledger.troubles[name] = (ledger.troubles[name] ?? 0) + count;
  if (verdict.contradictions.length > 0) ledger.failures.push(verdict.seed);
}

export function isIn({ seeds }: Ledger, seed: number): boolean {
  return seeds.some(([from, to]) => seed >= from && seed <= to);
}

export function worldsOf({ seeds }: Ledger): number {
  return seeds.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

export function hashOfSource(folder = SOURCE): string {
  const hash = createHash('sha256');
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
}

function withSeed(seeds: Ledger['seeds'], seed: number): Ledger['seeds'] {
  const joined: [number, number][] = [];
  for (const [from, to] of [...seeds, [seed, seed] as const].sort(([a], [b]) => a - b)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}
