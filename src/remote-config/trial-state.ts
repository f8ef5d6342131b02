/**
 * The files of root's folder that tell agent and boot guard of a configuration on trial. Lines of KEY=VALUE, because the guard is a shell
 * script. Root alone writes them; `state`, `result` and the notes of the history are for all to read and hold no secret.
 *
 *   /var/lib/turnstone-guard/configuration/   before, trial             whole files, with the owner and mode of the file in place
 *                                             state, starts             while a trial is on
 *                                             result, result.back       the last outcome, and the one for a full disk
 *                                             history/NNNN.yaml, NNNN   the last ten that were tried
 *                                             last-good, probation      while a kept file has not run for ten minutes from a start
 *   /etc/turnstone/.turnstone.yaml.before-trial   the way back on a full disk: a rename takes no room
 */
import { join } from 'node:path';
import type { ConfigurationOrigin, ConfigureRequest } from '../firmware/guard-state.ts';
import type { UpdateFiles } from '../firmware/update-files.ts';
import type { EpochMs } from '../host/clock.ts';
import { parseKeyValueLines } from '../store/key-value-lines.ts';

/** A configuration that is being tried. */
export interface ConfigurationTrial extends Omit<ConfigureRequest, 'request'> {
  /** Its place in the history. */
  readonly number: string;
  readonly bootId: string;
  /** Ms since that boot. */
  readonly beganAtMs: number;
}

export type ConfigurationOutcome = (typeof OUTCOMES)[number];

/** How the last request went. */
export interface ConfigurationResult {
  readonly id: string;
  readonly outcome: ConfigurationOutcome;
  /** SHA-256 of the file that it is about: of the one on site where that was kept. */
  readonly hash: string;
  readonly reason: string;
  readonly atMs: EpochMs;
  /** SHA-256 of a file of the site that the agent cannot take, and that is set aside. */
  readonly refused?: string | undefined;
}

/** The history's words about a file beside them. */
export interface HistoryNote {
  readonly id: string;
  readonly hash: string;
  /** `site`: somebody changed the file on site during a trial, and it stayed. */
  readonly origin: ConfigurationOrigin | 'site';
  readonly outcome: 'kept' | 'returned';
  readonly reason: string;
  readonly atMs: EpochMs;
}

/** The file beside the request, in the service's folder, that `configure` takes; the request cannot name another. */
export const CANDIDATE_NAME = 'configuration';
const OUTCOMES = ['trying', 'kept', 'returned', 'refused'] as const;
const MAX_BYTES = 4096;
const DIGITS = /^\d{1,15}$/;

/** Where the files lie below the guard's folder. */
export interface TrialPaths {
  readonly folder: string;
  readonly before: string;
  readonly trial: string;
  readonly state: string;
  readonly starts: string;
  readonly result: string;
  readonly resultBack: string;
  readonly history: string;
}

export function trialPaths(guardFolder: string): TrialPaths {
  const folder = join(guardFolder, 'configuration');
  return {
    folder,
    before: join(folder, 'before'),
    trial: join(folder, 'trial'),
    state: join(folder, 'state'),
    starts: join(folder, 'starts'),
    result: join(folder, 'result'),
    resultBack: join(folder, 'result.back'),
    history: join(folder, 'history'),
  };
}

/** Returns the trial that is on; undefined when none is, or its file says nothing whole. */
export async function readConfigurationTrial(
  files: Pick<UpdateFiles, 'read'>,
  { state }: TrialPaths,
): Promise<ConfigurationTrial | undefined> {
  const fields = parseKeyValueLines(await files.read(state, MAX_BYTES));
  const { id, hash, before, trialS = '', needs, origin, number = '', bootId, beganAtMs = '' } = fields;
  if (id === undefined || hash === undefined || before === undefined || bootId === undefined) return undefined;
  if (![trialS, number, beganAtMs].every((text) => DIGITS.test(text))) return undefined;
  return {
    id,
    hash,
    before,
    trialS: Number(trialS),
    needs: needs === 'reload' ? needs : 'restart',
    origin: (origin ?? 'package') as ConfigurationOrigin,
    number,
    bootId,
    beganAtMs: Number(beganAtMs),
  };
}

export async function readConfigurationResult(
  files: Pick<UpdateFiles, 'read'>,
  { result }: TrialPaths,
): Promise<ConfigurationResult | undefined> {
  const fields = parseKeyValueLines(await files.read(result, MAX_BYTES));
  const { id, outcome, hash = '', reason = '', atMs = '', refused } = fields;
  const known = OUTCOMES.find((one) => one === outcome);
  if (id === undefined || known === undefined) return undefined;
  return { id, outcome: known, hash, reason, atMs: DIGITS.test(atMs) ? Number(atMs) : 0, refused };
}
