/** A simulated board in this process, behind its real socket, with the ports of an agent that uses it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { boardPorts } from '../../src/hardware/board-client.ts';
import { type Clock, systemClock } from '../../src/host/clock.ts';
import { loadTwins } from '../../src/kinds/twins.ts';
import { type BoardConfigInput, parseBoardConfig } from '../../src/stand-ins/simulated-board/board-config.ts';
import { BoardRecord, type RecordEntry } from '../../src/stand-ins/simulated-board/board-record.ts';
import { BoardServer } from '../../src/stand-ins/simulated-board/board-server.ts';
import { SimulatedBoard } from '../../src/stand-ins/simulated-board/simulated-board.ts';

export interface BoardBench {
  readonly folder: string;
  readonly socketPath: string;
  readonly ports: ReturnType<typeof boardPorts>;
  readonly board: SimulatedBoard;
  /** Every line of the record's file. */
  record(): Promise<readonly RecordEntry[]>;
  /** The board's process dies and another starts; its record goes on. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** @param config gets the bench's folder, for the paths of serial ports. */
export async function openBoardBench(
  config: (folder: string) => BoardConfigInput,
  clock: Clock = systemClock,
): Promise<BoardBench> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-board-'));
  const socketPath = join(folder, 'board.sock');
  const recordPath = join(folder, 'record.jsonl');
  const twins = await loadTwins();
  const start = async (): Promise<{ board: SimulatedBoard; server: BoardServer }> => {
    const board = new SimulatedBoard(parseBoardConfig(config(folder)), {
      clock,
      record: new BoardRecord({ clock, path: recordPath }),
      twins,
    });
    return { board, server: await BoardServer.open(board, socketPath) };
  };
  let running = await start();
  const stop = async (): Promise<void> => {
    await running.server.close();
    running.board.close();
  };
  const ports = boardPorts({ clock, socketPath });
  return {
    folder,
    socketPath,
    ports,
    get board() {
      return running.board;
    },
    record: async () =>
      (await readFile(recordPath, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as RecordEntry),
    restart: async () => {
      await stop();
      running = await start();
    },
    close: async () => {
      await ports.close();
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the condition holds; rejects after 5 s with what was waited for. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 5_000,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what} did not happen within ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
