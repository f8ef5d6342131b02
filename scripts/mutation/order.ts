/**
 * Order of the runner to a test host, and of the host to everything below it: the test files' own processes, and processes that tests start.
 * The order lies in a file whose path they inherit.
 */
import { readFileSync } from 'node:fs';

/** Where the marks of all files are kept: one byte a place, 1 once it was reached. */
export const REACHED = 'turnstoneReachedPlaces';
/** The environment variable with the path of the order. */
export const ORDER_FILE = 'TURNSTONE_MUTATION_ORDER';

export interface Order {
  /** Changed texts by absolute path. */
  readonly changed: Readonly<Record<string, string>>;
  /** How many places there are in all, and the folder where to write which were reached; undefined when nobody asks. */
  readonly reach?: { readonly places: number; readonly folder: string };
  /** Absolute paths, in the order in which they are to be run. */
  readonly tests: readonly string[];
  readonly testTimeoutMs: number;
  /** True when the first failed test ends it. */
  readonly stopAtFailure: boolean;
}

/** The places that a test file reaches. */
export interface Reach {
  readonly test: string;
  /** Such places are run by all that import the module, and say little about who tests them. */
  readonly whileLoading: readonly number[];
  readonly inTests: readonly number[];
}

export interface TestFileResult {
  readonly file: string;
  readonly ms: number;
  readonly slowestTestMs: number;
  readonly failed: boolean;
  /** The first test that failed, and what it said; empty when none did. */
  readonly because: string;
}

export interface Verdict {
  /** `unloadable`: a test file could not even be loaded. `timed-out`: no test failed except by its time limit. */
  readonly outcome: 'passed' | 'failed' | 'timed-out' | 'unloadable';
  /** The test that decided, and what it said. */
  readonly because: string;
  /** Its file; undefined when none failed, or when it cannot be told which. */
  readonly decidedIn?: string;
  readonly files: readonly TestFileResult[];
}

/** The order of this process, or undefined when it was not started by a test host. */
export function currentOrder(): Order | undefined {
  const path = process.env[ORDER_FILE];
  return path === undefined ? undefined : (JSON.parse(readFileSync(path, 'utf8')) as Order);
}
