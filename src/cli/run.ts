/** The agent itself, until it is told to stop. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '../agent/agent.ts';
import type { Machine } from '../agent/machine.ts';
import { peekFolders } from '../config/peek-config.ts';
import { loadConfigToRun } from '../config/read-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { startCompanion } from '../host/companion-process.ts';
import type { Environment } from '../host/environment.ts';
import { makeFolder, systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { hideProcess } from '../host/hide-process.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import { stringifyJson } from '../values/json.ts';
import { asOwnerOf } from './as-owner.ts';
import type { RunCall } from './commands/run.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { finishRestore, isRestoreUnfinished } from './restore-plan.ts';
import { expectSimulatedDevice, isLocalPlatform, isRealFromNowOn } from './simulated-run.ts';
import { openStandAloneRun, type StandAloneRun, simulatedEnvironment } from './stand-alone-run.ts';
import { terminalLog } from './terminal-log.ts';

export async function run(call: RunCall): Promise<void> {
  const { flags } = call;
  await finishCutRestore(flags.config);
  if (flags.simulate === true) await runSimulated(call);
  else await runAgent(call);
}

/** With a board that fits the configuration; where the configuration names a real platform, with a local one and folders of its own. */
async function runSimulated(call: RunCall): Promise<void> {
  const { flags, edge } = call;
  const environment = await simulatedEnvironment(flags.config, edge.environment);
  const isOfSite = flags.sendSimulated !== true && (await namesRealPlatform(flags.config, environment));
  const alone = isOfSite ? await openStandAloneRun(flags.config, edge.environment) : undefined;
  try {
    if (alone === undefined) await expectNoRealDevice(flags, edge);
    else
      tellingOn(edge)(`simulated: readings go to a local platform, ${alone.platformUrl}, and are gone with this run\n`);
    const board = await startBoard(alone?.configFile ?? flags.config, edge);
    try {
      await runAgent(call, { boardSocket: board.socket, alone });
    } finally {
      await board.stop();
    }
  } finally {
    await alone?.close();
  }
}

async function runAgent(
  call: RunCall,
  { alone, ...board }: { readonly boardSocket?: string; readonly alone?: StandAloneRun | undefined } = {},
): Promise<void> {
  const { flags, edge, print } = call;
  const [{ Agent }, { thisMachine }] = await Promise.all([import('../agent/agent.ts'), import('../agent/machine.ts')]);
  const { stateFolder, runFolder } = await peekFolders(alone?.configFile ?? flags.config, edge.environment);
  await actAsOwnerOf(stateFolder, [runFolder]);
  hideProcess();
  if (flags.simulate !== true)
    await isRealFromNowOn(stateFolder, { files: systemFiles, clock: systemClock, tell: tellingOn(edge) });
  const machine = alone === undefined ? thisMachine : machineOf(alone, thisMachine);
  const logSink = terminalLog(edge, print, flags.json === true);
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
      machine: logSink === undefined ? machine : { ...machine, logSink },
      redactWith: (redact) => edge.redactWith(redact),
      ...board,
      onDurable: flags.recordAppends === undefined ? undefined : recordAppends(flags.recordAppends),
    },
    edge.signal,
  );
  if (isAsked) void agent.reload();
  await agent.stopped;
  stopListening();
}

/** The machine, with what a run replaces in the configuration, for the agent and for the doctor that it asks. */
function machineOf({ configFile, loadConfig }: StandAloneRun, machine: Machine): Machine {
  return { ...machine, loadConfig, diagnose: (deps, signal) => machine.diagnose({ ...deps, configFile }, signal) };
}

/** A gateway that is half the old one and half the new is none. @throws CommandError where this user cannot finish it. */
async function finishCutRestore(configFile: string): Promise<void> {
  if (!(await isRestoreUnfinished(configFile, systemFiles))) return;
  await finishRestore(configFile, systemFiles).catch((cause: unknown) => {
    throw new CommandError(`a restore was cut off here: ${messageOf(cause)}`, {
      cause,
      // Nothing but that command mends it: the plan is root's, and starting again does nothing.
      exitCode: EXIT.badConfig,
      nextStep: 'finish it: sudo turnstone restore --finish',
    });
  });
}

async function namesRealPlatform(file: string, environment: Environment): Promise<boolean> {
  const { config } = await loadConfigToRun(file, { environment });
  return !isLocalPlatform(config.platform.url);
}

async function expectNoRealDevice({ config: file, sendSimulated }: RunCall['flags'], edge: Edge): Promise<void> {
  const { config } = await loadConfigToRun(file, { environment: edge.environment });
  const check = () =>
    expectSimulatedDevice(config, systemFiles, { isMeant: sendSimulated === true, warn: tellingOn(edge) });
  await asOwnerOf(config.stateFolder, check);
}

function tellingOn({ stderr }: Edge): (text: string) => void {
  return (text) => stderr.write(`turnstone: ${text}`);
}

/** Writes down every entry whose append has resolved, one JSON line each: what a test, or the demo, holds against the platform. */
function recordAppends(path: string): (entries: readonly TelemetryEntry[]) => void {
  const file = createWriteStream(path, { flags: 'a', mode: 0o644 });
  // Among the processes that write to the same file.
  const life = String(process.pid);
  return (entries) => {
    const lines = entries.map(({ key, value, monotonicMs }) => `${stringifyJson({ life, key, value, monotonicMs })}\n`);
    file.write(lines.join(''));
  };
}

/** A simulated board that fits the configuration, as a process of its own, reached through a socket in the run folder. */
async function startBoard(
  configFile: string,
  { environment }: Edge,
): Promise<{ readonly socket: string; stop(): Promise<void> }> {
  const { runFolder } = (await loadConfigToRun(configFile, { environment })).config;
  await makeFolder(runFolder, 0o755);
  const socket = join(runFolder, 'board.sock');
  const { stop } = await startCompanion(['board', '--socket', socket, '--fit', configFile]);
  return { socket, stop };
}
