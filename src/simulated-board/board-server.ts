/**
 * The board's socket: each connection is one process that uses the hardware. What it opened is released when it ends; outputs keep their
 * level then, and the record goes on.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { AgentError, messageOf } from '../errors.ts';
import type { BoardEvent, BoardOperation, BoardOperations } from '../hardware/board-protocol.ts';
import { isJsonObject, type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import type { SimulatedBoard } from './simulated-board.ts';

/** Something a connection holds. */
interface Held {
  release(): void;
}

type Operations = {
  readonly [Op in BoardOperation]: (
    params: BoardOperations[Op]['params'],
    connection: Connection,
  ) => BoardOperations[Op]['result'] | Promise<BoardOperations[Op]['result']>;
};

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
  readonly #held = new Map<number, Held>();
  #lastHandle = 0;

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
      for (const held of this.#held.values()) held.release();
      this.#held.clear();
      onEnd();
    });
    this.#send({ turnstoneBoard: 1 });
  }

  /** Keeps what an operation opened. @param open gets the handle, for its events. */
  hold<T extends Held>(open: (handle: number) => T): { readonly handle: number; readonly held: T } {
    this.#lastHandle += 1;
    const handle = this.#lastHandle;
    const held = open(handle);
    this.#held.set(handle, held);
    return { handle, held };
  }

  /** @throws AgentError `hardware/board-gone` (retry): opened before the board restarted. */
  held<T extends Held>(handle: number): T {
    const held = this.#held.get(handle);
    if (held === undefined)
      throw new AgentError('hardware/board-gone', `the simulated board knows no handle ${handle}`, { recovery: 'retry' });
    return held as T;
  }

  release(handle: number): void {
    this.#held.get(handle)?.release();
    this.#held.delete(handle);
  }

  tell(event: BoardEvent): void {
    this.#send(event as unknown as JsonValue);
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
      const operation = this.#operations[request.op as BoardOperation] as ((params: never, connection: Connection) => unknown) | undefined;
      if (operation === undefined)
        throw new AgentError('hardware/unsupported', `the simulated board has no operation ${String(request.op)}`, { recovery: 'hold' });
      const result = await operation(request.params as never, this);
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

function operationsOf(board: SimulatedBoard): Operations {
  const { gpio, i2c, serial, oneWire, pwm, bench } = board;
  return {
    'gpio.openInput': (request, connection) =>
      handleOnly(connection.hold((handle) => gpio.openInput(request, (edge) => connection.tell({ event: 'edge', handle, ...edge })))),
    'gpio.openOutput': (request, connection) => handleOnly(connection.hold(() => gpio.openOutput(request))),
    'gpio.read': async ({ handle }, connection) =>
      await bench.unlessHung('gpio', () => connection.held<ReturnType<typeof gpio.openOutput>>(handle).read()),
    'gpio.write': async ({ handle, level }, connection) => {
      await bench.unlessHung('gpio', () => connection.held<ReturnType<typeof gpio.openOutput>>(handle).write(level));
      return null;
    },
    'gpio.list': () => gpio.list(),
    'i2c.openBus': ({ bus }) => {
      i2c.openBus(bus);
      return null;
    },
    'i2c.transfer': async ({ bus, address, write, read }) =>
      Buffer.from(await i2c.transfer(bus, address, Buffer.from(write, 'hex'), read)).toString('hex'),
    'i2c.list': () => i2c.list(),
    'serial.open': ({ port }, connection) => {
      const { handle, held } = connection.hold((handle) =>
        serial.open(
          port,
          (bytes) => connection.tell({ event: 'bytes', handle, bytes: Buffer.from(bytes).toString('hex') }),
          (plugged) => connection.tell({ event: 'plug', handle, plugged }),
        ),
      );
      return held.device === undefined ? { handle } : { handle, device: held.device };
    },
    'serial.write': ({ handle, bytes }, connection) => {
      connection.held<ReturnType<typeof serial.open>>(handle).write(Buffer.from(bytes, 'hex'));
      return null;
    },
    'serial.list': () => serial.list(),
    'modbus.tcp': async ({ host, port }) => await board.modbusTcp(host, port),
    'oneWire.read': ({ id }) => oneWire.read(id),
    'oneWire.list': () => oneWire.list(),
    'pwm.open': (request, connection) => handleOnly(connection.hold(() => pwm.open(request))),
    'pwm.set': ({ handle, ...state }, connection) => {
      connection.held<ReturnType<typeof pwm.open>>(handle).set(state);
      return null;
    },
    'pwm.read': ({ handle }, connection) => connection.held<ReturnType<typeof pwm.open>>(handle).read(),
    'pwm.list': () => pwm.list(),
    close: ({ handle }, connection) => {
      connection.release(handle);
      return null;
    },
    'record.moves': ({ line, sinceMs }) => bench.moves(line, sinceMs),
    'record.counts': () => bench.counts(),
    'bench.hold': ({ target, value }) => bench.hold(target, value),
    'bench.fault': ({ target, fault }) => bench.fault(target, fault),
    'bench.faults': () => bench.faults(),
  };
}

function handleOnly({ handle }: { readonly handle: number }): { readonly handle: number } {
  return { handle };
}
