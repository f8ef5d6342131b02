/** Tells of configurations from afar: the last one, the trial that is on, and root's history of ten. */
import { join } from 'node:path';
import type { Sentence } from '../errors/sentence.ts';
import type { Clock, EpochMs } from '../host/clock.ts';
import { toldAs } from '../names/sentences.ts';
import { parseKeyValueLines } from '../store/key-value-lines.ts';
import type { ConfigurationState, PackageName, RemoteConfig, RemoteConfigDeps } from './remote-config.ts';
import { trialPaths } from './trial-state.ts';

export interface ConfigurationsTold {
  readonly fileHash: string;
  readonly state?: ConfigurationState | undefined;
  readonly trial?: ToldTrial | undefined;
  /** The newest first. */
  readonly history: readonly ToldHistory[];
}

export interface ToldTrial {
  readonly hash: string;
  readonly secondsLeft: number;
  /** Observations that are still missing, in words and as sentences; empty before the first look. */
  readonly waitsFor: readonly { readonly words: string; readonly sentence: Sentence }[];
}

export interface ToldHistory {
  readonly number: string;
  readonly hash: string;
  readonly origin: string;
  /** Package that it came in, where the agent knows it. */
  readonly package?: PackageName | undefined;
  readonly outcome: string;
  readonly atMs: EpochMs;
  readonly reason: string;
}

const NUMBER = /^\d{4,}$/;
const MAX_NOTE_BYTES = 4096;

export async function configurationsTold(
  remote: Pick<RemoteConfig, 'state' | 'trial' | 'packageOf' | 'waitsFor'>,
  {
    files,
    paths,
    runningHash,
    clock,
  }: Pick<RemoteConfigDeps, 'files' | 'paths' | 'runningHash'> & {
    readonly clock: Pick<Clock, 'monotonicMs' | 'bootId'>;
  },
): Promise<ConfigurationsTold> {
  const { history } = trialPaths(paths.guard);
  const trial = await remote.trial();
  const leftMs = trial === undefined ? 0 : trial.beganAtMs + trial.trialS * 1_000 - clock.monotonicMs();
  const isOn = trial !== undefined && trial.bootId === clock.bootId;
  const numbers = (await files.list(history))
    .filter((name) => NUMBER.test(name))
    .sort()
    .reverse();
  const notes = await Promise.all(
    numbers.map(async (number) => {
      const note = parseKeyValueLines(await files.read(join(history, number), MAX_NOTE_BYTES));
      const { id = '', hash = '', origin = '', outcome = '', atMs = '', reason = '' } = note;
      return { number, hash, origin, package: remote.packageOf(id), outcome, atMs: Number(atMs) || 0, reason };
    }),
  );
  return {
    fileHash: runningHash() ?? '',
    state: remote.state,
    trial: isOn
      ? {
          hash: trial.hash,
          secondsLeft: Math.max(0, Math.round(leftMs / 1_000)),
          waitsFor: remote.waitsFor.map(toldAs),
        }
      : undefined,
    history: notes,
  };
}
