/** Every fault of a configuration at once, each with its line, column and a hint. */
import { configHash } from '../config/changes/config-diff.ts';
import { type ConfigFault, faultLine } from '../config/fields/config-fault.ts';
import { conversionSteps } from '../config/keys/conversion-steps.ts';
import { readConfig } from '../config/read-config.ts';
import type { CheckConfigCall } from './commands/run.ts';
import { EXIT } from './exit-code.ts';
import type { Style } from './printer.ts';

export async function checkConfig({ args: { file }, flags, edge, print }: CheckConfigCall): Promise<void> {
  const { config, faults, warnings } = await readConfig(file, { environment: edge.environment });
  const conversions = flags.explain === true ? { conversions: config?.sensors.flatMap(conversionSteps) ?? [] } : {};
  const hash = config === undefined ? {} : { hash: configHash(config) };
  print.result({ file, ok: config !== undefined, ...hash, faults, warnings, ...conversions }, () =>
    [...(conversions.conversions ?? []).map((line) => `${line}\n`), verdictText(file, faults, warnings, print.style)].join(''),
  );
  if (config === undefined) print.exitCode = EXIT.badConfig;
}

function verdictText(file: string, faults: readonly ConfigFault[], warnings: readonly ConfigFault[], style: Style): string {
  const { bold, red, yellow, green } = style;
  const lines = [
    ...faults.map((fault) => `${red('fault')}   ${faultLine(file, fault)}\n`),
    ...warnings.map((warning) => `${yellow('warning')} ${faultLine(file, warning)}\n`),
  ];
  const noted = warnings.length === 0 ? '' : `, ${count(warnings.length, 'warning')}`;
  const verdict = faults.length === 0 ? green('good') : red(count(faults.length, 'fault'));
  return `${lines.join('')}${bold(file)}: ${verdict}${noted}\n`;
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
