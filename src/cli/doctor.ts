/** `turnstone doctor`: what keeps this gateway from working, each thing with a verdict, a reason and a remedy. */
import type { Command } from 'commander';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import { systemClock } from '../host/clock.ts';
import { agentVersion } from '../host/version.ts';
import type { Verdict } from '../status/doctor/checkup.ts';
import { type DoctorReport, runDoctor } from '../status/doctor/doctor.ts';
import { doctorDeps } from './doctor-deps.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { printable, type Style, styleFor } from './style.ts';

interface DoctorFlags {
  readonly config: string;
  readonly json?: boolean;
  readonly all?: boolean;
}

const EXAMPLES = `
Examples:
  $ turnstone doctor
  $ turnstone doctor --config gateway.yaml
  $ turnstone doctor --json | jq '.checks[] | select(.verdict != "good")'

Exit codes: 0 nothing must be mended (warnings may stand), 1 something must.`;

const MARKS: Readonly<Record<Verdict, string>> = { good: 'good   ', warning: 'warning', fault: 'FAULT  ', unknown: 'unknown' };
const PAINT: Readonly<Record<Verdict, keyof Style>> = { good: 'green', warning: 'yellow', fault: 'red', unknown: 'dim' };

export function addDoctorCommand(program: Command, edge: Edge): void {
  program
    .command('doctor')
    .description('look at everything that keeps a gateway from working, and say what to do')
    .option('--config <file>', 'the configuration', DEFAULT_CONFIG_FILE)
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: DoctorFlags) => {
      const deps = await doctorDeps({
        configFile: flags.config,
        environment: edge.environment,
        clock: systemClock,
        version: agentVersion(),
      });
      const report = await runDoctor(deps, edge.signal);
      edge.stdout.write(flags.json === true ? `${JSON.stringify(report)}\n` : reportText(report, styleFor(edge.stdout, edge.environment)));
      if (report.verdict === 'fault') throw new CommandError('', { exitCode: EXIT.failure });
    });
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
