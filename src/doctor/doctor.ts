/** Looks at every thing that keeps a gateway from working. Changes nothing; a check that hangs is cut off and said to be unknown. */

import { type ReadConfig, readConfig } from '../config/read-config.ts';
import { onBoard } from '../config/schema/agent-config.ts';
import { messageOf, systemCode } from '../errors/agent-error.ts';
import { outcomeWithin } from '../host/bounded-wait.ts';
import { serviceMayRead } from '../host/service-reader.ts';
import { CHECKS } from './all-checks.ts';
import {
  type Check,
  type CheckContext,
  type DoctorDeps,
  type Finding,
  unknown,
  type Verdict,
} from './checks/checkup.ts';

export interface CheckedThing extends Finding {
  readonly id: string;
  readonly title: string;
}

export interface DoctorReport {
  /** The worst verdict that counts: `unknown` does not. */
  readonly verdict: Exclude<Verdict, 'unknown'>;
  readonly checks: readonly CheckedThing[];
}

/** A dead name server takes this long; a person waits no longer. */
const CHECK_WITHIN_MS = 12_000;
const SERVICE_USER = 'turnstone';

export async function runDoctor(deps: DoctorDeps, signal: AbortSignal): Promise<DoctorReport> {
  let isForbidden = false;
  const { configFile, environment } = deps;
  const mayRead = await serviceMayRead(deps.machine);
  const read: ReadConfig = await readConfig(configFile, { environment, mayRead }).catch((error: unknown) => {
    isForbidden = rootCodeOf(error) === 'EACCES';
    const fault = { line: 1, column: 1, path: '', problem: messageOf(error), expected: 'a configuration' };
    return { faults: [fault], warnings: [] };
  });
  const context: CheckContext = {
    ...deps,
    isForbidden,
    read: read.config === undefined ? read : { ...read, config: onBoard(read.config, deps.boardSocket) },
    serviceUser: (await deps.machine.user(SERVICE_USER)) ?? (await deps.machine.user()),
  };
  const found = await Promise.all(CHECKS.map((check) => examine(check, context, signal)));
  const checks = found.flat();
  const has = (verdict: Verdict): boolean => checks.some((one) => one.verdict === verdict);
  return { verdict: has('fault') ? 'fault' : has('warning') ? 'warning' : 'good', checks };
}

/** The system's code of the fault that an error came of. */
function rootCodeOf(error: unknown): string | undefined {
  return error instanceof Error ? (rootCodeOf(error.cause) ?? systemCode(error)) : undefined;
}

async function examine(
  { id, title, look }: Check,
  context: CheckContext,
  signal: AbortSignal,
): Promise<readonly CheckedThing[]> {
  const late = (): Finding => unknown('it took too long to look');
  try {
    const finding = await outcomeWithin(
      context.clock,
      CHECK_WITHIN_MS,
      async (within) => look(context, within),
      late,
      signal,
    );
    return finding === undefined ? [] : [{ id, title, ...finding }];
  } catch (error) {
    return [{ id, title, ...unknown(`it could not be looked at: ${messageOf(error)}`) }];
  }
}
