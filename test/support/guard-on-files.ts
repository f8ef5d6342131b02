/** The modelled boot guard on files: it decides as the model, and carries that out in the order of the real script, which may be cut at each step. */
import { join } from 'node:path';
import type { updateFiles } from '../../src/firmware/update-files.ts';
import { putBack, sha256 } from '../../src/remote-config/root/file-in-place.ts';
import { backPath } from '../../src/remote-config/root/root-deps.ts';
import {
  type ConfigurationTrial,
  readConfigurationResult,
  readConfigurationTrial,
  trialPaths,
} from '../../src/remote-config/trial-state.ts';
import { keyValueLines, parseKeyValueLines } from '../../src/store/key-value-lines.ts';
import type { GuardTurn, Renewal } from './config-trial-table.ts';
import { type GuardedMachine, guardTurn } from './modelled-config-guard.ts';

export interface GuardOnFilesDeps {
  readonly files: ReturnType<typeof updateFiles>;
  readonly guardFolder: string;
  /** The configuration in place. */
  readonly file: string;
  readonly bootId: string;
  readonly wallMs: () => number;
  /** Exit status of the agent's last end. */
  readonly ended?: number;
  readonly renew: (how: Renewal) => void;
  readonly stopTimer: () => void;
}

const MAX_BYTES = 1024 * 1024;

export async function takeGuardTurn(deps: GuardOnFilesDeps, turn: GuardTurn, exitStatus?: number): Promise<void> {
  const { files, guardFolder, file, bootId, wallMs, ended, renew } = deps;
  const paths = trialPaths(guardFolder);
  const trial = await readConfigurationTrial(files, paths);
  if (trial === undefined) return;
  const unread = Symbol('unread');
  const bytes = await files.read(file, MAX_BYTES).catch(() => unread);
  // It cannot be read now: that says nothing.
  if (typeof bytes === 'symbol') return;
  const { id, hash, before, origin } = trial;
  const inPlace = bytes === undefined ? undefined : sha256(bytes);
  const starts = Number(parseKeyValueLines(await files.read(paths.starts, MAX_BYTES)).count ?? 0);
  const machine: GuardedMachine<string> = {
    bootId,
    inPlace,
    ...(ended !== undefined && { ended }),
    trial: { id, file: hash, before, bootId: trial.bootId, origin, starts },
    result: await readConfigurationResult(files, paths),
    history: [],
  };
  const hadVerdict = machine.result?.id === id && machine.result.outcome === 'returned';
  const renewal = guardTurn(machine, turn, exitStatus);
  if (machine.trial !== undefined) {
    if (machine.trial.starts !== starts) await files.write(paths.starts, `count=${machine.trial.starts}\n`);
    return;
  }
  const [entry] = machine.history;
  if (entry === undefined) return;
  const { outcome, reason } = entry;
  const note = { id, hash: entry.file, origin: entry.origin, outcome, reason, atMs: wallMs() };
  const verdict = keyValueLines({ id, outcome, hash: entry.file, reason, atMs: note.atMs });
  if (entry.origin === 'site') return keepSite(deps, trial, bytes ?? Buffer.from(''));
  if (outcome === 'returned') {
    const isRefused = bytes !== undefined && inPlace !== hash && inPlace !== before;
    if (!hadVerdict) await files.write(paths.result, isRefused ? `${verdict}refused=${inPlace}\n` : verdict);
    if (isRefused) await files.write(`${file}.refused`, bytes, 0o640);
    const now = await files.read(file, MAX_BYTES);
    // Somebody has saved theirs since it was looked at.
    if (now !== undefined && sha256(now) !== inPlace) return keepSite(deps, trial, now);
    if (inPlace !== before && !(await isPutBack(deps, trial))) return;
    if (renewal !== undefined) renew(renewal);
  }
  await forget(deps, trial, keyValueLines(note));
}

async function keepSite(deps: GuardOnFilesDeps, trial: ConfigurationTrial, inPlace: Uint8Array): Promise<void> {
  const { files, guardFolder, wallMs } = deps;
  const { id } = trial;
  const paths = trialPaths(guardFolder);
  const reason = 'the file was changed on site during the trial, and stays';
  const told = { id, outcome: 'kept', hash: sha256(inPlace), reason, atMs: wallMs() };
  await files.write(paths.result, keyValueLines(told));
  await files.write(paths.trial, inPlace, 0o640);
  await forget(deps, trial, keyValueLines(Object.assign({ origin: 'site' }, told)));
}

async function isPutBack(
  { files, file, guardFolder }: GuardOnFilesDeps,
  { before }: ConfigurationTrial,
): Promise<boolean> {
  try {
    await putBack({ files, file }, { before: trialPaths(guardFolder).before, hash: before, mode: 0o640 });
    return true;
  } catch {
    return false;
  }
}

async function forget(
  { files, file, guardFolder, stopTimer }: GuardOnFilesDeps,
  { number }: ConfigurationTrial,
  note: string,
) {
  const paths = trialPaths(guardFolder);
  const place = join(paths.history, number);
  // As in the script a line that fails ends nothing: the helper may end the same trial just now.
  const failed = (): undefined => undefined;
  if ((await files.list(paths.folder)).includes('trial'))
    await files.rename(paths.trial, `${place}.yaml`).catch(failed);
  await files.write(place, note).catch(failed);
  for (const path of [paths.trial, backPath({ file }), paths.before, paths.resultBack, paths.starts, paths.state])
    await files.remove(path).catch(failed);
  stopTimer();
}
