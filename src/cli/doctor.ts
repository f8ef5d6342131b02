/** Looks at the gateway with the doctor’s eyes, and words what was found for people. */
import type { Verdict } from '../status/doctor/checks/checkup.ts';
import type { DoctorReport } from '../status/doctor/doctor.ts';
import type { DoctorCall } from './commands/doctor.ts';
import { examine } from './examination.ts';
import { EXIT } from './exit-code.ts';
import { printable, type Style } from './printer.ts';

const MARKS: Readonly<Record<Verdict, string>> = { good: 'good   ', warning: 'warning', fault: 'FAULT  ', unknown: 'unknown' };
const PAINT: Readonly<Record<Verdict, keyof Style>> = { good: 'green', warning: 'yellow', fault: 'red', unknown: 'dim' };

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
  const summary = worst === 'good' ? 'nothing to mend' : `${count('fault')} to mend, ${count('warning')} to think about`;
  return `${lines.join('\n')}\n${style.bold(summary)}\n`;
}
