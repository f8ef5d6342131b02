/** `turnstone board`: a simulated board as a process of its own, on a Unix socket, until Ctrl-C. */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { loadConfigToRun } from '../config/read-config.ts';
import { systemClock } from '../host/clock.ts';
import { systemEnvironment } from '../host/environment.ts';
import { parseBoardConfig } from '../simulated-board/board-config.ts';
import { BoardRecord } from '../simulated-board/board-record.ts';
import { BoardServer } from '../simulated-board/board-server.ts';
import { SAMPLE_BOARD } from '../simulated-board/sample-board.ts';
import { SimulatedBoard } from '../simulated-board/simulated-board.ts';
import { boardForConfig } from './board-for-config.ts';

interface BoardFlags {
  readonly socket: string;
  readonly record?: string;
  readonly config?: string;
  readonly fit?: string;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ turnstone board --socket /tmp/board.sock
  $ turnstone board --socket /tmp/board.sock --config board.yaml --record board.jsonl
  $ turnstone board --socket /tmp/board.sock --fit /etc/turnstone/turnstone.yaml

An agent uses it with "hardware: { board: simulated, boardSocket: /tmp/board.sock }".`;

export function addBoardCommand(program: Command): void {
  program
    .command('board')
    .description('run a simulated board: pins, buses and ports that behave, and remember everything done to them')
    .requiredOption('--socket <path>', 'Unix socket to listen on')
    .option('--record <file>', 'append everything shown and done to this file, as JSON lines')
    .option('--config <file>', 'what is on the board (YAML or JSON); without it, a sample of everything')
    .option('--fit <file>', 'make the board that this agent configuration needs')
    .option('--json', 'print what is needed to reach it as one line of JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: BoardFlags) => {
      const config = parseBoardConfig(await boardInput(flags));
      const record = new BoardRecord({ clock: systemClock, ...(flags.record !== undefined && { path: flags.record }) });
      const board = new SimulatedBoard(config, { clock: systemClock, record });
      const server = await BoardServer.open(board, flags.socket);
      const ports = config.serial.map(({ port }) => port);
      process.stdout.write(
        flags.json === true ? `${JSON.stringify({ socket: flags.socket, serialPorts: ports })}\n` : `simulated board at ${flags.socket}\n`,
      );
      await stopSignal();
      await server.close();
      board.close();
    });
}

async function boardInput({ config, fit }: BoardFlags): Promise<unknown> {
  if (fit !== undefined) return boardForConfig((await loadConfigToRun(fit, { environment: systemEnvironment() })).config);
  return config === undefined ? SAMPLE_BOARD : parse(await readFile(config, 'utf8'));
}

async function stopSignal(): Promise<void> {
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}
