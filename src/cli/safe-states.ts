/** Sets safe states without an agent, in a process of its own: of what the last one had opened, or else of what the configuration says. */
import { PulseMarks } from '../actuators/pulse-marks.ts';
import { setSafeStates } from '../actuators/safe-state-hook.ts';
import {
  type ActuatorSections,
  actuatorsLeft,
  inForcePath,
  peekActuators,
  readInForce,
} from '../config/actuators-in-force.ts';
import { peekBrokers } from '../config/peek-brokers.ts';
import { foldersOf } from '../config/peek-config.ts';
import type { BrokerConfig } from '../config/schema/brokers.ts';
import { messageOf } from '../errors/agent-error.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { systemClock } from '../host/clock.ts';
import type { Environment } from '../host/environment.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf, actAsOwnerOfWay } from '../host/folder-owner.ts';
import { silentLog } from '../host/log.ts';
import { runProgram } from '../host/run-program.ts';
import { takeLockIfThere } from '../host/state-lock.ts';
import { printable } from '../names/printable.ts';
import type { SafeStatesCall } from './commands/run.ts';
import { CommandError } from './exit-code.ts';
import { outputText } from './value-text.ts';

/** Below the time that the hook itself has. */
const DEADLINE_MS = 8_000;

export async function applySafeStates({ flags: { config, event }, edge, print }: SafeStatesCall): Promise<void> {
  const { environment, signal: stopped, stderr } = edge;
  const clock = systemClock;
  const { hardware, actuators, folders, faults, inForce, brokers } = await sectionsOf(config, environment);
  // The stop hook is sure that the agent has ended, or hangs in a way that nothing ends: then all the more.
  const isHook = environment.SERVICE_RESULT !== undefined;
  const locked = isHook ? [] : [folders.stateFolder, folders.runFolder];
  const locks = await Promise.all(locked.map((folder) => takeLockIfThere(folder)));
  const ports = openPorts({ clock, hardware });
  try {
    const marks = await PulseMarks.open(folders.runFolder, silentLog, { files: systemFiles, bootId: clock.bootId });
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(DEADLINE_MS)]);
    const outcomes = await setSafeStates(
      actuators,
      event,
      {
        ports,
        clock,
        runProgram,
        marks,
        brokerOf: async (name: string) => (await import('../sensors/mqtt/brokers.ts')).brokersOf({ brokers })(name),
      },
      signal,
    );
    for (const { name, value, fault } of outcomes) {
      const { label = name, class: kind } = actuators.find((one) => one.name === name) ?? {};
      print.write(`${printable(label)}: ${fault ?? `set to ${outputText(value, kind)}`}\n`);
    }
    for (const fault of faults) stderr.write(`turnstone: ${fault}\n`);
    const failed = outcomes.filter(({ fault }) => fault !== undefined).map(({ name }) => name);
    if (failed.length > 0) throw new CommandError(`not in their safe states: ${failed.join(', ')}`);
    if (faults.length > 0) throw new CommandError('what is not understood was not set');
    await systemFiles.unlink(inForce).catch(() => {});
  } finally {
    await ports.close();
    for (const lock of locks) await lock?.close();
  }
}

/** Returns the sections that the agent had in force; the file's where it left none in this boot, or none that can be read. */
async function sectionsOf(
  config: string,
  environment: Environment,
): Promise<ActuatorSections & { readonly inForce: string; readonly brokers: readonly BrokerConfig[] }> {
  // Read before root's rights are given up, as the file may be for root alone: what somebody else has left is not for root to run.
  const said = await peekActuators(config, environment).catch((error: unknown) => ({ error, folders: foldersOf({}) }));
  // Brokers of the file in place: their passwords are left nowhere else.
  const brokers = await peekBrokers(config, environment).catch(() => []);
  const inForce = inForcePath(said.folders.runFolder, environment);
  await actAsOwnerOf(said.folders.stateFolder);
  await actAsOwnerOfWay(inForce);
  await actAsOwnerOf(inForce);
  const faults: string[] = [];
  const left = await readInForce(inForce, systemFiles, systemClock.bootId).catch(
    (error: unknown) => void faults.push(messageOf(error)),
  );
  if (left !== undefined) return { ...actuatorsLeft(left, inForce, environment), inForce, brokers };
  if ('error' in said) throw said.error;
  return { ...said, faults: [...faults, ...said.faults], inForce, brokers };
}
