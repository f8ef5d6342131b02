/** `turnstone check-config FILE`: every fault of a configuration at once, each with its line, column and a hint. */
import type { Command } from 'commander';
import { configHash } from '../config/config-diff.ts';
import { type ConfigFault, faultLine } from '../config/config-fault.ts';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import { readConfig } from '../config/read-config.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { styleFor } from './style.ts';

const EXAMPLES = `
Examples:
  $ turnstone check-config /etc/turnstone/turnstone.yaml
  $ turnstone check-config gateway.yaml --json

Exit codes: 0 the agent would start with it, 78 it would not, or not with all that is named.`;

export function addCheckConfigCommand(program: Command, edge: Edge): void {
  program
    .command('check-config')
    .description('check a configuration: every fault at once, with line, column and a hint')
    .argument('[file]', 'the configuration', DEFAULT_CONFIG_FILE)
    .option('--json', 'print faults and warnings as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, flags: { readonly json?: boolean }) => {
      const { config, faults, warnings } = await readConfig(file, { environment: edge.environment });
      if (flags.json === true) {
        const hash = config === undefined ? {} : { hash: configHash(config) };
        edge.stdout.write(`${JSON.stringify({ file, ok: config !== undefined, ...hash, faults, warnings })}\n`);
      } else {
        print(edge, file, faults, warnings);
      }
      if (config === undefined) throw new CommandError('', { exitCode: EXIT.badConfig });
    });
}

function print(edge: Edge, file: string, faults: readonly ConfigFault[], warnings: readonly ConfigFault[]): void {
  const { bold, red, yellow, green } = styleFor(edge.stdout, edge.environment);
  for (const fault of faults) edge.stdout.write(`${red('fault')}   ${faultLine(file, fault)}\n`);
  for (const warning of warnings) edge.stdout.write(`${yellow('warning')} ${faultLine(file, warning)}\n`);
  const noted = warnings.length === 0 ? '' : `, ${count(warnings.length, 'warning')}`;
  const verdict = faults.length === 0 ? green('good') : red(count(faults.length, 'fault'));
  edge.stdout.write(`${bold(file)}: ${verdict}${noted}\n`);
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
