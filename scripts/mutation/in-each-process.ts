/**
 * Loaded before each test file and, through NODE_OPTIONS, before every Node program that a test starts: gives such programs the changed
 * source texts, and notes which places this process reached. Imports next to nothing: it must not change what it watches, nor slow it.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { currentOrder, REACHED, type Reach } from './order.ts';

/** The environment variable with the test file on whose behalf a program was started. */
const TEST_FILE = 'TURNSTONE_MUTATION_TEST';

const order = currentOrder();
const reached = new Uint8Array(order?.reach?.places ?? 0);
if (order?.reach !== undefined) Object.assign(globalThis, { [REACHED]: reached });

/** Hands the same to the programs that are started from here. */
export function followChildren(test: string): void {
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import ${import.meta.filename}`;
  process.env[TEST_FILE] = test;
}

/** The places that were reached since this was called last. */
export function takeReached(): number[] {
  const places = [...reached.keys()].filter((place) => reached[place] === 1);
  reached.fill(0);
  return places;
}

/** Leaves it where the runner looks for it: whole or not at all, as whoever started this process may kill it meanwhile. */
export function writeReach(reach: Reach): void {
  if (order?.reach === undefined) return;
  const path = join(order.reach.folder, `${process.pid}-${performance.timeOrigin}`);
  writeFileSync(path, JSON.stringify(reach));
  renameSync(path, `${path}.json`);
}

const startedFor = process.env[TEST_FILE];
if (order !== undefined && startedFor !== undefined) {
  registerHooks({
    load: (url, context, next) => {
      const source = url.startsWith('file:') ? order.changed[fileURLToPath(url)] : undefined;
      return source === undefined ? next(url, context) : { format: 'module-typescript', source, shortCircuit: true };
    },
  });
  process.on('exit', () => writeReach({ test: startedFor, whileLoading: [], inTests: takeReached() }));
}
