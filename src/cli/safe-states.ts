/** Sets safe states without an agent, in a process of its own. */
import { PulseMarks } from '../actuators/pulse-marks.ts';
import { setSafeStates } from '../actuators/safe-state-hook.ts';
import { peekActuators } from '../config/peek-actuators.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { silentLog } from '../host/log.ts';
import { runProgram } from '../host/run-program.ts';
import { takeLockIfThere } from '../host/state-lock.ts';
import type { SafeStatesCall } from './commands/safe-states.ts';
import { CommandError } from './exit-code.ts';

/** Below the time that the hook itself has. */
const DEADLINE_MS = 8_000;

export async function applySafeStates({ flags: { config, event }, edge, print }: SafeStatesCall): Promise<void> {
  const { hardware, actuators, folders } = await peekActuators(config, edge.environment);
  // The stop hook is sure that the agent has ended, or hangs in a way that nothing ends: then all the more.
  const isHook = edge.environment.SERVICE_RESULT !== undefined;
  const locked = isHook ? [] : [folders.stateFolder, folders.runFolder];
  const locks = await Promise.all(locked.map((folder) => takeLockIfThere(folder)));
  const clock = systemClock;
  const ports = openPorts({ clock, hardware });
  try {
    const marks = await PulseMarks.open(folders.runFolder, silentLog, { files: systemFiles, bootId: clock.bootId });
    const signal = AbortSignal.any([edge.signal, AbortSignal.timeout(DEADLINE_MS)]);
    const outcomes = await setSafeStates(actuators, event, { ports, clock, runProgram, marks }, signal);
    for (const { name, value, fault } of outcomes) print.write(`${name}: ${fault ?? `set to ${String(value)}`}\n`);
    const failed = outcomes.filter(({ fault }) => fault !== undefined).map(({ name }) => name);
    if (failed.length > 0) throw new CommandError(`not in their safe states: ${failed.join(', ')}`);
  } finally {
    await ports.close();
    for (const lock of locks) await lock?.close();
  }
}
