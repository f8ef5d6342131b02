/** `turnstone safe-states`: what systemd's stop hook calls after the agent has ended, in a process of its own. */

import { type Command, Option } from 'commander';
import { PulseMarks } from '../actuators/pulse-marks.ts';
import { type SafeStateEvent, setSafeStates } from '../actuators/safe-state-hook.ts';
import { peekActuators } from '../config/peek-actuators.ts';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { silentLog } from '../host/log.ts';
import { runProgram } from '../host/run-program.ts';
import { StateLock } from '../host/state-lock.ts';
import type { Edge } from './edge.ts';
import { CommandError } from './exit-code.ts';

interface SafeStatesFlags {
  readonly config: string;
  readonly event: SafeStateEvent;
}

/** Below the time that the hook itself has. */
const DEADLINE_MS = 8_000;
const EXAMPLES = `
Examples:
  $ turnstone safe-states --event crash

Opens the hardware itself, so no agent may run: beside one that does it sets nothing. Exit codes: 0 all were set, 1 some were not.`;

export function addSafeStatesCommand(program: Command, edge: Edge): void {
  program
    .command('safe-states')
    .description(
      'set the safe states that the configuration declares for a stop or a crash, and switch off what the agent left to be, without an agent',
    )
    .option('--config <file>', 'configuration of the agent', DEFAULT_CONFIG_FILE)
    .addOption(new Option('--event <event>', 'which of the declared states').choices(['stop', 'crash']).default('crash'))
    .addHelpText('after', EXAMPLES)
    .action(async ({ config, event }: SafeStatesFlags) => {
      const { hardware, actuators, folders } = await peekActuators(config, edge.environment);
      // The stop hook is sure that the agent has ended, or hangs in a way that nothing ends: then all the more.
      const isHook = edge.environment.SERVICE_RESULT !== undefined;
      const locked = isHook ? [] : [folders.stateFolder, folders.runFolder];
      const locks = await Promise.all(locked.map((folder) => StateLock.takeIfThere(folder)));
      const clock = systemClock;
      const ports = openPorts({ clock, hardware });
      try {
        const marks = await PulseMarks.open(folders.runFolder, silentLog, { files: systemFiles, bootId: clock.bootId });
        const signal = AbortSignal.any([edge.signal, AbortSignal.timeout(DEADLINE_MS)]);
        const outcomes = await setSafeStates(actuators, event, { ports, clock, runProgram, marks }, signal);
        for (const { name, value, fault } of outcomes) edge.stdout.write(`${name}: ${fault ?? `set to ${String(value)}`}\n`);
        const failed = outcomes.filter(({ fault }) => fault !== undefined).map(({ name }) => name);
        if (failed.length > 0) throw new CommandError(`not in their safe states: ${failed.join(', ')}`);
      } finally {
        await ports.close();
        for (const lock of locks) await lock?.close();
      }
    });
}
