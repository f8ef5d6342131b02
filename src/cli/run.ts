/** `turnstone run`: the agent itself, until it is told to stop. */
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import { loadConfig } from '../config/read-config.ts';
import { startCompanion } from '../host/companion-process.ts';
import { makeFolder } from '../host/durable-file.ts';
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
      const board = flags.simulate === true ? await startBoard(flags.config, edge) : undefined;
      try {
        await runAgent(flags, edge, board === undefined ? {} : { boardSocket: board.socket });
      } finally {
        await board?.stop();
      }
    });
}

async function runAgent(flags: RunFlags, edge: Edge, board: { readonly boardSocket?: string }): Promise<void> {
  const { Agent } = await import('../agent.ts');
  const agent = await Agent.start(
    {
      configFile: flags.config,
      environment: edge.environment,
      redactWith: (redact) => edge.redactWith(redact),
      ...board,
      ...(flags.recordAppends === undefined ? {} : { recordAppends: flags.recordAppends }),
    },
    edge.signal,
  );
  const stopListening = edge.onReload(() => void agent.reload());
  await agent.stopped;
  stopListening();
}

/** A simulated board that fits the configuration, as a process of its own, reached through a socket in the run folder. */
async function startBoard(configFile: string, { environment }: Edge): Promise<{ readonly socket: string; stop(): Promise<void> }> {
  const { runFolder } = await loadConfig(configFile, { environment });
  await makeFolder(runFolder, 0o755);
  const socket = join(runFolder, 'board.sock');
  const { stop } = await startCompanion(['board', '--socket', socket, '--fit', configFile]);
  return { socket, stop };
}
