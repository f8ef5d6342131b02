/**
 * The boot guard's part for configurations as a model, for worlds in virtual time. `config-trial-table.ts` holds it and the real script to the
 * same outcomes.
 */
import type { FileName, GuardTurn, Renewal } from './config-trial-table.ts';

const MAX_STARTS = 3;

/** A machine as the guard sees it; files stand for their content. */
export interface GuardedMachine<File> {
  bootId: string;
  /** None where somebody has removed it. */
  inPlace: File | undefined;
  /** Exit status of the agent's last end. */
  ended?: number;
  /** The trial that is on. */
  trial: ModelledTrial<File> | undefined;
  result: ModelledResult | undefined;
  readonly history: ModelledEntry<File>[];
}

export interface ModelledTrial<File> {
  readonly id: string;
  readonly file: File;
  readonly before: File;
  readonly bootId: string;
  readonly origin: string;
  /** Counted by the guard. */
  starts: number;
}

export interface ModelledResult {
  readonly id: string;
  readonly outcome: 'trying' | 'kept' | 'returned' | 'refused';
  readonly reason: string;
}

interface ModelledEntry<File> {
  readonly file: File;
  readonly origin: string;
  readonly outcome: 'kept' | 'returned';
  readonly reason: string;
}

/** Takes the guard's turn; returns how the agent is restarted, if it is. */
export function guardTurn<File = FileName>(
  machine: GuardedMachine<File>,
  turn: GuardTurn,
  exitStatus?: number,
): Renewal | undefined {
  const { trial, inPlace } = machine;
  if (trial === undefined || turn === 'tick') return undefined;
  const verdict = machine.result?.id === trial.id ? machine.result : undefined;
  const isBefore = inPlace === trial.before;
  const isOtherBoot = machine.bootId !== trial.bootId;
  const isRefused = turn === 'stopped' && exitStatus === 78;
  const isSite = inPlace !== undefined && !isBefore && inPlace !== trial.file;
  if (isSite && !isRefused && turn !== 'trial-over' && !isOtherBoot) return undefined;
  if (inPlace !== undefined && ((isSite && !isRefused) || (isBefore && verdict?.outcome === 'kept'))) {
    end(machine, trial, {
      file: inPlace,
      origin: 'site',
      outcome: 'kept',
      reason: 'the file was changed on site during the trial, and stays',
    });
    return undefined;
  }
  if (inPlace !== undefined && !isSite && verdict?.outcome === 'kept') {
    end(machine, trial, { file: trial.file, origin: trial.origin, outcome: 'kept', reason: verdict.reason });
    return undefined;
  }
  const reason =
    verdict?.outcome === 'returned' && !isSite
      ? verdict.reason
      : inPlace === undefined
        ? 'the file was removed during the trial'
        : isSite
          ? 'the file was changed on site during the trial, and the agent refuses it'
          : reasonOf(trial, { turn, exitStatus, isOtherBoot, isBefore });
  if (reason === undefined) return undefined;
  machine.inPlace = trial.before;
  end(machine, trial, { file: trial.file, origin: trial.origin, outcome: 'returned', reason });
  if (turn === 'trial-over') return machine.ended === 78 ? 'restart' : 'try-restart';
  return turn === 'stopped' && exitStatus === 78 ? 'restart' : undefined;
}

interface Circumstances {
  readonly turn: GuardTurn;
  readonly exitStatus: number | undefined;
  readonly isOtherBoot: boolean;
  readonly isBefore: boolean;
}

/** Why the file is returned at this turn; undefined where it is not. */
function reasonOf<File>(
  trial: ModelledTrial<File>,
  { turn, exitStatus, isOtherBoot, isBefore }: Circumstances,
): string | undefined {
  if (isBefore && turn !== 'trial-over' && !isOtherBoot) return undefined;
  const reason = (): string | undefined => {
    if (turn === 'trial-over') return 'it was not kept in its time';
    if (turn === 'stopped') return exitStatus === 78 ? 'the agent refuses it' : undefined;
    if (turn !== 'starting') return undefined;
    if (isOtherBoot) return 'the machine went down during the trial';
    trial.starts += 1;
    return trial.starts > MAX_STARTS ? `it was not kept in ${MAX_STARTS} starts` : undefined;
  };
  const found = reason();
  return found !== undefined && isBefore ? 'the file was never put in place' : found;
}

function end<File>(machine: GuardedMachine<File>, { id }: ModelledTrial<File>, entry: ModelledEntry<File>): void {
  machine.result = { id, outcome: entry.outcome, reason: entry.reason };
  machine.history.push(entry);
  machine.trial = undefined;
}
