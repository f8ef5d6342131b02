/**
 * The board's socket: each connection is one process that uses the hardware.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { AgentError, messageOf } from '../errors.ts';
import type { BoardOperation } from '../hardware/board-protocol.ts';
import { isJsonObject, type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import { BoardUser, type Operations, operationsOf } from './board-operations.ts';
import type { SimulatedBoard } from './simulated-board.ts';

export class BoardServer {
  readonly #server: Server;
  readonly #connections = new Set<Connection>();

  /** Resolves when the board can be reached. */
  static async open(board: SimulatedBoard, socketPath: string): Promise<BoardServer> {
    rmSync(socketPath, { force: true }); // a killed board's leftover
    const server = new BoardServer(board);
    await new Promise<void>((resolve, reject) => server.#server.once('error', reject).listen(socketPath, resolve));
    return server;
  }

  private constructor(board: SimulatedBoard) {
    const operations = operationsOf(board);
    this.#server = createServer((socket) => {
      const connection = new Connection(socket, operations, () => this.#connections.delete(connection));
      this.#connections.add(connection);
    });
  }

  /** Idempotent. */
  async close(): Promise<void> {
    for (const connection of this.#connections) connection.end();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

class Connection {
  readonly #socket: Socket;
  readonly #operations: Operations;
  readonly #user = new BoardUser((event) => this.#send(event as unknown as JsonValue));

  constructor(socket: Socket, operations: Operations, onEnd: () => void) {
    this.#socket = socket;
    this.#operations = operations;
    let rest = '';
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) void this.#answer(line);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#user.end();
      onEnd();
    });
    this.#send({ turnstoneBoard: 1 });
  }

  end(): void {
    this.#socket.destroy();
  }

  async #answer(line: string): Promise<void> {
    let id: JsonValue = null;
    try {
      const request = parseJson(line);
      if (!isJsonObject(request)) throw new AgentError('hardware/unsupported', 'a request is an object', { recovery: 'drop' });
      id = request.id ?? null;
      const operation = this.#operations[request.op as BoardOperation] as ((params: never, user: BoardUser) => unknown) | undefined;
      if (operation === undefined)
        throw new AgentError('hardware/unsupported', `the simulated board has no operation ${String(request.op)}`, { recovery: 'hold' });
      const result = await operation(request.params as never, this.#user);
      this.#send({ id, result: (result ?? null) as JsonValue });
    } catch (error) {
      const { code, recovery } = error instanceof AgentError ? error : ({ code: 'hardware/board-failed', recovery: 'retry' } as const);
      this.#send({ id, error: { code, recovery, message: messageOf(error) } });
    }
  }

  #send(message: JsonValue): void {
    if (this.#socket.writable) this.#socket.write(`${stringifyJson(message)}\n`);
  }
}
