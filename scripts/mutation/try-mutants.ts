/**
 * Tries the mutants of a sample, one a host at a time, and says what became of each. A mutant with which a test file cannot even be loaded
 * is no fair one: the next of its room takes its place.
 */
import { readFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { withMutant } from './changed-text.ts';
import type { Order, TestFileResult, Verdict } from './order.ts';
import type { Mutant, Room } from './rooms.ts';
import type { TestHost } from './test-host.ts';
import { type TestMap, testsFor } from './test-map.ts';

/** Time that a test set may take, against its own time without a mutant. */
const PATIENCE = 3;
/** Largest slowing by others on this machine: an endless mutant is waited for as long. */
const MAX_SLOWING = 4;
const STARTING_MS = 10_000;
const MIN_TEST_LIMIT_MS = 3_000;
/** Kills of which one is tried once more without its mutant. */
const CONTROL_EVERY = 10;
const CONTROL_WITHIN_MS = 10 * 60_000;

export interface Trial {
  readonly mutant: Mutant;
  /** Everything but `killed` counts against the tests. */
  readonly outcome: 'killed' | 'survived' | 'timed-out' | 'not-covered';
  readonly because: string;
  readonly ms: number;
}

export interface Queue {
  readonly room: Room;
  /** In the order in which they are drawn. */
  readonly mutants: readonly Mutant[];
  /** How many of them are to be tried. */
  readonly share: number;
}

export interface TrialDeps {
  readonly root: string;
  readonly map: TestMap;
  readonly hosts: readonly TestHost[];
  readonly onTrial: (trial: Trial) => void;
}

/** Results of tests that had killed a mutant, run once more without it. */
export interface Controls {
  readonly made: number;
  /** Tests that failed all the same, and what they said: such a kill proves nothing. */
  readonly failed: readonly string[];
}

/** @returns the trials, how many mutants were left out as unfair, and the controls. */
export async function tryMutants({ root, map, hosts, onTrial }: TrialDeps, queues: readonly Queue[]) {
  const trials: Trial[] = [];
  const failed: string[] = [];
  let made = 0;
  let kills = 0;
  let unloadable = 0;
  const waiting = queues.flatMap(({ room, mutants, share }) =>
    mutants.slice(0, share).map((mutant) => ({ room, mutant })),
  );
  const spare = new Map(queues.map(({ room, mutants, share }) => [room, mutants.slice(share)]));
  const work = async (host: TestHost): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { trial, control } = await tryOne(root, host, next.mutant, testsFor(next.mutant, next.room, map));
      if (trial !== undefined) {
        trials.push(trial);
        onTrial(trial);
        if (trial.outcome !== 'killed' || control === undefined || ++kills % CONTROL_EVERY !== 1) continue;
        const { outcome, because } = await host.carryOut(control, CONTROL_WITHIN_MS);
        made++;
        if (outcome !== 'passed') failed.push(because);
        continue;
      }
      unloadable++;
      const mutant = spare.get(next.room)?.shift();
      if (mutant !== undefined) waiting.unshift({ room: next.room, mutant });
    }
  };
  await Promise.all(hosts.map(work));
  return { trials, unloadable, controls: { made, failed } satisfies Controls };
}

async function tryOne(
  root: string,
  host: TestHost,
  mutant: Mutant,
  tests: readonly TestFileResult[],
): Promise<Attempt> {
  if (tests.length === 0) return { trial: { mutant, outcome: 'not-covered', because: '', ms: 0 } };
  const sinceMs = performance.now();
  const path = join(root, mutant.file);
  const changed = { [path]: withMutant(await readFile(path, 'utf8'), mutant) };
  // Others may be using this machine too.
  const patience = PATIENCE * Math.min(MAX_SLOWING, Math.max(1, (loadavg()[0] ?? 0) / availableParallelism()));
  const testTimeoutMs = Math.max(MIN_TEST_LIMIT_MS, ...tests.map((one) => one.slowestTestMs)) * patience;
  const limitMs = STARTING_MS + patience * tests.reduce((sum, one) => sum + one.ms, MIN_TEST_LIMIT_MS);
  const order: Order = { changed, tests: tests.map((one) => one.file), testTimeoutMs, stopAtFailure: true };
  const { outcome: verdict, because, decidedIn } = await host.carryOut(order, limitMs);
  const outcome = OUTCOMES[verdict];
  if (outcome === undefined) return {};
  const control = { ...order, changed: {}, tests: decidedIn === undefined ? order.tests : [decidedIn] };
  return { trial: { mutant, outcome, because, ms: performance.now() - sinceMs }, control };
}

/** Nothing when the mutant is unfair; `control` runs the test that decided without it. */
interface Attempt {
  readonly trial?: Trial;
  readonly control?: Order;
}

const OUTCOMES: Readonly<Record<Verdict['outcome'], Trial['outcome'] | undefined>> = {
  passed: 'survived',
  failed: 'killed',
  'timed-out': 'timed-out',
  unloadable: undefined,
};
