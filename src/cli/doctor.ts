/** Looks at the gateway with the doctor’s eyes, and words what was found for people. */
import { systemClock } from '../host/clock.ts';
import { agentVersion } from '../host/version.ts';
import type { Verdict } from '../status/doctor/checkup.ts';
import { type DoctorReport, runDoctor } from '../status/doctor/doctor.ts';
import type { DoctorCall } from './commands/doctor.ts';
import { doctorDeps } from './doctor-deps.ts';
import { EXIT } from './exit-code.ts';
import { printable, type Style } from './printer.ts';

const MARKS: Readonly<Record<Verdict, string>> = { good: 'good   ', warning: 'warning', fault: 'FAULT  ', unknown: 'unknown' };
const PAINT: Readonly<Record<Verdict, keyof Style>> = { good: 'green', warning: 'yellow', fault: 'red', unknown: 'dim' };

export async function examineGateway({ flags, edge, print }: DoctorCall): Promise<void> {
  const deps = await doctorDeps({
    configFile: flags.config,
    environment: edge.environment,
    clock: systemClock,
    version: agentVersion(),
  });
  const report = await runDoctor(deps, edge.signal);
  print.result(report, () => reportText(report, print.style));
  if (report.verdict === 'fault') print.exitCode = EXIT.failure;
}

/** The report for people: the remedy stands below what it mends. */
export function reportText({ checks, verdict }: DoctorReport, style: Style): string {
  const lines = checks.flatMap((check) => {
    const paint = style[PAINT[check.verdict]];
    const line = `${paint(MARKS[check.verdict])}  ${check.title}: ${printable(check.reason)}`;
    return check.remedy === undefined ? [line] : [line, `         → ${printable(check.remedy)}`];
  });
  const faults = checks.filter((check) => check.verdict === 'fault').length;
  const warnings = checks.filter((check) => check.verdict === 'warning').length;
  const summary = verdict === 'good' ? 'nothing to mend' : `${faults} to mend, ${warnings} to think about`;
  return `${lines.join('\n')}\n${style.bold(summary)}\n`;
}
