/** Looks at this machine, and the agent when one runs, with the doctor's eyes, and words what was found for people. */

import { join } from 'node:path';
import { peekFolders } from '../config/peek-config.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { fingerprintOf } from '../devices/access-token.ts';
import { CREDENTIALS_FILES } from '../devices/credentials-files.ts';
import { type CredentialsState, parseCredentials, recordsOf } from '../devices/credentials-record.ts';
import type { AskedPlatform, Verdict } from '../doctor/checks/checkup.ts';
import { type DoctorReport, runDoctor } from '../doctor/doctor.ts';
import { hasCode, messageOf } from '../errors/agent-error.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { networkAddresses } from '../host/board-model.ts';
import { systemClock as clock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { silentLog } from '../host/log.ts';
import { MachineFacts } from '../host/machine-facts.ts';
import { askSystemTime, TimeSync } from '../host/time-sync.ts';
import { agentVersion } from '../host/version.ts';
import { readWhole } from '../host/whole-file.ts';
import { printable } from '../names/printable.ts';
import { Contact } from '../platform/contact.ts';
import { isSealed } from '../store/sealed-json.ts';
import { askAgent } from './agent-calls.ts';
import { contactWith } from './ask-platform.ts';
import type { DoctorCall } from './commands/doctor.ts';
import type { Edge } from './edge.ts';
import { EXIT, interrupted } from './exit-code.ts';
import type { Style } from './printer.ts';

/** Runs the doctor, with a running agent's own status; none may run, or none that answers this user. @throws CommandError when it is interrupted. */
export async function examine(
  configFile: string,
  { environment, signal }: Pick<Edge, 'environment' | 'signal'>,
): Promise<DoctorReport> {
  const { runFolder } = await peekFolders(configFile, environment);
  const asked = askAgent(runFolder, 'getStatus').then((agent) => ({ agent }));
  const known = await asked.catch((error: unknown) => (isSilent(error) ? { silentAgent: messageOf(error) } : {}));
  const deps = {
    configFile,
    environment,
    clock,
    version: agentVersion(),
    machine: new MachineFacts({ clock }),
    isTimeSynchronised,
    askPlatform,
    openPorts: ({ hardware }: AgentConfig) => openPorts({ clock, hardware }),
  };
  const report = await runDoctor({ ...deps, ...known }, signal);
  // A look that was cut off is none.
  if (signal.aborted) throw interrupted();
  return report;
}

/** Where one listens and hangs it is not so that none runs. */
function isSilent(error: unknown): boolean {
  return hasCode(error, 'control-socket/lost') || hasCode(error, 'control-socket/deadline');
}

async function isTimeSynchronised(): Promise<boolean> {
  const timeSync = new TimeSync({ clock, policy: 'system', ask: askSystemTime });
  await timeSync.start();
  timeSync.close();
  return timeSync.isSynchronised();
}

async function askPlatform(config: AgentConfig, signal: AbortSignal): Promise<AskedPlatform> {
  const token = await tokenInUse(config.stateFolder, config.platform.accessToken?.reveal());
  if (token !== undefined) return { hasToken: true, contact: await contactWith(config.platform, token, signal) };
  return { hasToken: false, contact: new Contact({ clock, log: silentLog, networkAddresses }).status };
}

/** Returns the token in use: the configured one or what it was rotated to since, else the board's own. @throws as `keptCredentials`. */
export async function tokenInUse(stateFolder: string, configured: string | undefined): Promise<string | undefined> {
  if (configured === undefined) {
    const { own } = await keptCredentials(stateFolder);
    return own?.phase === 'in-use' ? own.accessToken : undefined;
  }
  // A technician may not be allowed to read what the agent keeps.
  const kept: CredentialsState = await keptCredentials(stateFolder).catch(() => ({}));
  const configuredToken = fingerprintOf(configured);
  return recordsOf(kept).find((record) => record.configuredToken === configuredToken)?.accessToken ?? configured;
}

/** Reads only: healing and quarantine are the agent's. @throws AgentError when files are there and none of them can be understood. */
async function keptCredentials(stateFolder: string): Promise<CredentialsState> {
  let fault: unknown;
  let unsealed: CredentialsState | undefined;
  for (const file of CREDENTIALS_FILES) {
    try {
      const text = await readWhole(systemFiles, join(stateFolder, file));
      if (text === undefined) continue;
      const state = parseCredentials(text.toString('utf8'));
      if (isSealed(text.toString('utf8'))) return state;
      unsealed ??= state;
    } catch (error) {
      fault ??= error;
    }
  }
  if (unsealed === undefined && fault !== undefined) throw fault;
  return unsealed ?? {};
}

const MARKS: Readonly<Record<Verdict, string>> = {
  good: 'good   ',
  warning: 'warning',
  fault: 'FAULT  ',
  unknown: 'unknown',
};
const PAINT: Readonly<Record<Verdict, keyof Style>> = {
  good: 'green',
  warning: 'yellow',
  fault: 'red',
  unknown: 'dim',
};

export async function examineGateway({ flags, edge, print }: DoctorCall): Promise<void> {
  const report = await examine(flags.config, edge);
  print.result(report, () => reportText(report, print.style));
  if (report.verdict === 'fault') print.exitCode = EXIT.failure;
}

/** The report for people: the remedy stands below what it mends. */
export function reportText({ checks, verdict: worst }: DoctorReport, style: Style): string {
  const lines = checks.flatMap((check) => {
    const paint = style[PAINT[check.verdict]];
    const line = `${paint(MARKS[check.verdict])}  ${check.title}: ${printable(check.reason)}`;
    return check.remedy === undefined ? [line] : [line, `         → ${printable(check.remedy)}`];
  });
  const count = (verdict: Verdict): number => checks.filter((check) => check.verdict === verdict).length;
  const summary =
    worst === 'good' ? 'nothing to mend' : `${count('fault')} to mend, ${count('warning')} to think about`;
  return `${lines.join('\n')}\n${style.bold(summary)}\n`;
}
