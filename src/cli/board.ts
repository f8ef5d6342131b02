/** A simulated board as a process of its own, on a Unix socket, until Ctrl-C. */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { loadConfigToRun } from '../config/read-config.ts';
import { messageOf, systemCode } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { loadTwins } from '../kinds/twins.ts';
import { parseBoardConfig } from '../stand-ins/simulated-board/board-config.ts';
import { BoardRecord } from '../stand-ins/simulated-board/board-record.ts';
import { BoardServer } from '../stand-ins/simulated-board/board-server.ts';
import { sampleBoard } from '../stand-ins/simulated-board/sample-board.ts';
import { SimulatedBoard } from '../stand-ins/simulated-board/simulated-board.ts';
import type { Twins } from '../stand-ins/simulated-board/twin.ts';
import { boardForConfig } from './board-for-config.ts';
import type { BoardCall } from './commands/platform.ts';
import { type Edge, untilStopped } from './edge.ts';
import { CommandError } from './exit-code.ts';

export async function runBoard({ flags, edge, print }: BoardCall): Promise<void> {
  const twins = await loadTwins();
  const config = parseBoardConfig(await boardInput(flags, twins, edge));
  const record = new BoardRecord({ clock: systemClock, ...(flags.record !== undefined && { path: flags.record }) });
  const board = new SimulatedBoard(config, { clock: systemClock, record, twins });
  const server = await BoardServer.open(board, flags.socket).catch((cause: unknown) => {
    board.close();
    const nextStep = 'name a path of at most 107 bytes in a folder that is there, where this user may write';
    throw new CommandError(`cannot listen on ${flags.socket}: ${systemCode(cause) ?? messageOf(cause)}`, {
      nextStep,
      cause,
    });
  });
  const ports = config.serial.map(({ port }) => port);
  print.result({ socket: flags.socket, serialPorts: ports }, () => `simulated board at ${flags.socket}\n`);
  await untilStopped(edge.signal);
  await server.close();
  board.close();
}

async function boardInput({ config, fit }: BoardCall['flags'], twins: Twins, { environment }: Edge): Promise<unknown> {
  if (fit !== undefined) return boardForConfig((await loadConfigToRun(fit, { environment })).config, twins);
  return config === undefined ? sampleBoard(twins) : parse(await readFile(config, 'utf8'));
}
