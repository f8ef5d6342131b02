/** The board's socket: each connection is one process that uses the hardware. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { AgentError, messageOf } from '../../errors/agent-error.ts';
import type { BoardOperation } from '../../hardware/board-protocol.ts';
import { JsonLink } from '../../host/json-link.ts';
import { type JsonObject, type JsonValue, jsonOf } from '../../values/json.ts';
import { BoardUser, type Operations, operationsOf } from './board-operations.ts';
import type { SimulatedBoard } from './simulated-board.ts';

/** Longest request, which writes to a port in one piece. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

export class BoardServer {
  readonly #server: Server;
  readonly #connections = new Set<Connection>();

  /** Resolves when the board can be reached. */
  static async open(board: SimulatedBoard, socketPath: string): Promise<BoardServer> {
    rmSync(socketPath, { force: true }); // a killed board's leftover
    const server = new BoardServer(board);
    await once(server.#server.listen(socketPath), 'listening');
    return server;
  }

  private constructor(board: SimulatedBoard) {
    const operations = operationsOf(board);
    this.#server = createServer((socket) => {
      const connection = new Connection(
        socket,
        { operations, handlesAfter: Math.floor(board.clock.monotonicMs() * 1_000) },
        () => this.#connections.delete(connection),
      );
      this.#connections.add(connection);
    });
  }

  /** Idempotent. */
  async close(): Promise<void> {
    for (const { link } of this.#connections) link.close();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

class Connection {
  readonly link: JsonLink;
  readonly #operations: Operations;
  readonly #user: BoardUser;

  constructor(
    socket: Socket,
    deps: { readonly operations: Operations; readonly handlesAfter: number },
    onEnd: () => void,
  ) {
    this.link = new JsonLink(socket, MAX_REQUEST_BYTES);
    this.#operations = deps.operations;
    this.#user = new BoardUser((event) => this.link.send(jsonOf(event)), deps.handlesAfter);
    this.link.listen({
      message: (request) => void this.#answer(request),
      end: () => {
        this.#user.end();
        onEnd();
      },
    });
    this.link.send({ turnstoneBoard: 1 });
  }

  async #answer(request: JsonObject): Promise<void> {
    const id = request.id ?? null;
    try {
      const operation = this.#operations[request.op as BoardOperation] as
        | ((params: never, user: BoardUser) => unknown)
        | undefined;
      if (operation === undefined)
        throw new AgentError('hardware/unsupported', `the simulated board has no operation ${String(request.op)}`, {
          recovery: 'hold',
        });
      const result = await operation(request.params as never, this.#user);
      this.link.send({ id, result: (result ?? null) as JsonValue });
    } catch (error) {
      const { code, recovery } =
        error instanceof AgentError ? error : ({ code: 'hardware/board-failed', recovery: 'retry' } as const);
      this.link.send({ id, error: { code, recovery, message: messageOf(error) } });
    }
  }
}
