/** `turnstone run`: the agent itself, until it is told to stop. */

import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { Agent } from '../agent.ts';
import { DEFAULT_CONFIG_FILE, peekFolders } from '../config/peek-folders.ts';
import { loadConfigToRun } from '../config/read-config.ts';
import { startCompanion } from '../host/companion-process.ts';
import { makeFolder } from '../host/durable-file.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { AppendRecord } from './append-record.ts';
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
A file that the configuration names and that is not there now (a token, a certificate) is looked for again while it measures.
Exit codes: 0 stopped as told, 1 failed and 66 the configuration cannot be read now (systemd starts it
again), 78 the configuration is wrong (systemd does not).`;

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
  const [{ Agent }, { thisMachine }] = await Promise.all([import('../agent.ts'), import('../agent/machine.ts')]);
  const { stateFolder, runFolder } = await peekFolders(flags.config, edge.environment);
  await actAsOwnerOf(stateFolder, [runFolder]);
  const record = flags.recordAppends === undefined ? undefined : new AppendRecord(flags.recordAppends, `${process.pid}`);
  let agent: Agent | undefined;
  let isAsked = false;
  // Before the start: systemd may ask for a reload as soon as it is told that the agent is ready, and an unheard SIGHUP ends a process.
  const stopListening = edge.onReload(() => {
    isAsked = agent === undefined;
    void agent?.reload();
  });
  agent = await Agent.start(
    {
      configFile: flags.config,
      environment: edge.environment,
      machine: thisMachine,
      redactWith: (redact) => edge.redactWith(redact),
      ...board,
      ...(record === undefined ? {} : { onDurable: (entries) => record.add(entries) }),
    },
    edge.signal,
  );
  if (isAsked) void agent.reload();
  await agent.stopped;
  stopListening();
}

/** A simulated board that fits the configuration, as a process of its own, reached through a socket in the run folder. */
async function startBoard(configFile: string, { environment }: Edge): Promise<{ readonly socket: string; stop(): Promise<void> }> {
  const { runFolder } = (await loadConfigToRun(configFile, { environment })).config;
  await makeFolder(runFolder, 0o755);
  const socket = join(runFolder, 'board.sock');
  const { stop } = await startCompanion(['board', '--socket', socket, '--fit', configFile]);
  return { socket, stop };
}
