/** Wiring of the simulated lines: the kernel's own files beneath its GPIO interfaces, laid out by guest/board. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

export const CHIP = 'lab-board';

/** The least distance of two edges, in periods. */
const CLOSEST = 0.5;

const pullFile = (offset: number): string => `/run/board/sim_gpio${offset}/pull`;
const pullFor = (level: 0 | 1): string => (level === 1 ? 'pull-up' : 'pull-down');

/** Drives an input from outside: 1 is a high voltage, whatever active-low says. */
export function drive(offset: number, level: 0 | 1): void {
  writeFileSync(pullFile(offset), pullFor(level));
}

/** The pull on a line, which a bias that was asked for changes. */
export function pullOf(offset: number): string {
  return readFileSync(pullFile(offset), 'utf8').trim();
}

/** The voltage on a line. */
export function voltage(offset: number): 0 | 1 {
  return readFileSync(`/run/board/sim_gpio${offset}/value`, 'utf8').trim() === '1' ? 1 : 0;
}

/**
 * Toggles a line from another process, `periodMs` between edges, `edges` times; resolves when all were made. It shares one processor
 * with the kernel's interrupt threads: while the host gives that processor no time, no edge is made that nobody could have seen.
 */
export async function toggle(offset: number, edges: number, periodMs: number): Promise<void> {
  const processor = String(availableParallelism() - 1);
  execFileSync('bash', ['-c', `for thread in $(pgrep ^irq/); do taskset -pc ${processor} $thread; done`]);
  const self = [process.execPath, fileURLToPath(import.meta.url), String(offset), String(edges), String(periodMs)];
  const child = spawn('taskset', ['-c', processor, ...self], { stdio: 'inherit' });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) throw new Error(`the pin driver ended with status ${status}`);
}

function makeEdges(offset: number, edges: number, periodMs: number): void {
  const nap = new Int32Array(new SharedArrayBuffer(4));
  // Opened once: an edge costs one call, so that an emulated processor keeps the rate too.
  const pull = openSync(pullFile(offset), 'w');
  let level: 0 | 1 = voltage(offset);
  const startMs = performance.now();
  for (let edge = 1; edge <= edges; edge += 1) {
    level = level === 1 ? 0 : 1;
    writeSync(pull, pullFor(level), 0);
    // Against the start, so that the rate is kept; but no two edges so close that the interrupt of the first is still on its way.
    const waitMs = Math.max(startMs + edge * periodMs - performance.now(), periodMs * CLOSEST);
    Atomics.wait(nap, 0, 0, waitMs);
  }
}

if (import.meta.main) {
  const [offset = 0, edges = 0, periodMs = 0] = process.argv.slice(2).map(Number);
  makeEdges(offset, edges, periodMs);
}
