/**
 * A configuration that somebody wants from afar, looked at before anybody is asked for anything: what it changes, what of that may not come from
 * afar, and what is wrong with it, as `check-config` would say on site. Nothing is changed by looking.
 */
import type { ReadConfig } from '../config/read-config.ts';
import type { AgentConfig, RemoteAllowance } from '../config/schema/agent-config.ts';
import { MAX_CONFIGURATION_BYTES } from './bounded-tree.ts';
import { difference, fileHash } from './file-hash.ts';
import { type LockedChange, lockedChanges, neededAllowances } from './locked.ts';
import { applyPatch } from './patch.ts';
import { configurationTree, type Tree } from './tree-differences.ts';

/** A whole file, or a patch of the file in place. */
export type WantedConfiguration =
  | { readonly file: Uint8Array; readonly base?: string | undefined }
  | { readonly patch: unknown };

/** Fault of a candidate, with its place in the file, or in the patch. */
export interface CandidateFault {
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
  readonly problem: string;
  readonly expected: string;
  /** Remedy of a wrong key; one of a value may have the value in it. */
  readonly hint?: string;
}

export interface Candidate {
  /** SHA-256 of the file in place. */
  readonly base: string;
  /** SHA-256 of the new file; absent where a patch does not make one. */
  readonly hash?: string;
  readonly bytes?: Uint8Array;
  /** A line for each member that differs. */
  readonly difference: readonly string[];
  readonly locked: readonly LockedChange[];
  /** Entries of `remoteConfiguration.allow` in the file in place that would unlock some; absent where none would. */
  readonly needsAllowed?: readonly RemoteAllowance[];
  readonly faults: readonly CandidateFault[];
  /** Present when nothing is wrong with it. */
  readonly config?: AgentConfig;
}

/** More are counted by nobody: the first ones are mended first. */
const MAX_FAULTS = 10;

/** @param check reads the bytes as the file in place is read. */
export async function lookAtCandidate(
  inPlace: Uint8Array,
  wanted: WantedConfiguration,
  check: (bytes: Uint8Array) => Promise<ReadConfig>,
): Promise<Candidate> {
  const base = fileHash(inPlace);
  const none = { base, difference: [], locked: [] };
  if ('file' in wanted && wanted.base !== undefined && wanted.base !== base) return { ...none, faults: [otherBase()] };
  const made = 'file' in wanted ? { bytes: wanted.file } : applyPatch(inPlace, wanted.patch);
  if (made.faults !== undefined) return { ...none, faults: made.faults.slice(0, MAX_FAULTS) };
  const { bytes } = made;
  if (bytes.length > MAX_CONFIGURATION_BYTES)
    return {
      ...none,
      faults: [{ path: '', problem: 'too large', expected: `at most ${MAX_CONFIGURATION_BYTES} bytes` }],
    };
  const hash = fileHash(bytes);
  const [before, after] = [treeOf(inPlace), treeOf(bytes)];
  const differs = before === undefined || after === undefined ? [] : difference(before, after);
  const locked = before === undefined || after === undefined ? [] : lockedChanges(before, after);
  const needsAllowed = neededAllowances(locked);
  const read = await check(bytes);
  const faults = read.faults
    .slice(0, MAX_FAULTS)
    .map(({ path, line, column, problem = 'wrong value', expected, hint }) => ({
      path,
      line,
      column,
      problem,
      expected,
      ...(hint !== undefined && problem === 'unknown key' && { hint }),
    }));
  return {
    base,
    hash,
    bytes,
    difference: differs,
    locked,
    ...(needsAllowed.length > 0 && { needsAllowed }),
    faults,
    ...(read.config !== undefined && { config: read.config }),
  };
}

function otherBase(): CandidateFault {
  return {
    path: 'base',
    problem: 'somebody has changed the file since',
    expected: 'the SHA-256 of the file in place (configFileHash)',
  };
}

function treeOf(bytes: Uint8Array): Tree | undefined {
  return configurationTree(bytes).tree;
}
