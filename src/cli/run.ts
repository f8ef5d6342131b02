/** `turnstone run`: the agent itself, until it is told to stop. */
import { type Command, Option } from 'commander';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import type { Edge } from './edge.ts';

interface RunFlags {
  readonly config: string;
  readonly simulate?: boolean;
  readonly recordAppends?: string;
}

const EXAMPLES = `
Examples:
  $ turnstone run --config /etc/turnstone/turnstone.yaml
  $ turnstone run --config gateway.yaml --simulate

Signals: SIGTERM and Ctrl-C make readings durable, send what they can and stop; SIGHUP reads the configuration again and
changes only what changed.
Exit codes: 0 stopped as told, 1 failed (systemd starts it again), 78 the configuration is wrong (systemd does not).`;

export function addRunCommand(program: Command, edge: Edge): void {
  program
    .command('run')
    .description('run the agent in the foreground, as the service does')
    .option('--config <file>', 'the configuration', DEFAULT_CONFIG_FILE)
    .option('--simulate', 'with a simulated board instead of this machine’s pins, buses and ports')
    .addOption(new Option('--record-appends <file>', 'write every entry that became durable to this file, as JSON lines').hideHelp())
    .addHelpText('after', EXAMPLES)
    .action(async (flags: RunFlags) => {
      const { Agent } = await import('../agent.ts');
      const agent = await Agent.start(
        {
          configFile: flags.config,
          environment: edge.environment,
          simulate: flags.simulate === true,
          redactWith: (redact) => edge.redactWith(redact),
          ...(flags.recordAppends === undefined ? {} : { recordAppends: flags.recordAppends }),
        },
        edge.signal,
      );
      const stopListening = edge.onReload(() => void agent.reload());
      await agent.stopped;
      stopListening();
    });
}
