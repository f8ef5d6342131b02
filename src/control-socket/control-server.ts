/** The agent's end of the control sockets. Nothing is kept: whoever was connected when the agent ends connects again. */
import { chmod, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { AgentError, systemCode } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { makeFolder } from '../host/durable-file.ts';
import type { Log } from '../host/log.ts';
import { ControlConnection, type ControlMethod, type ControlStream } from './control-connection.ts';
import { type ControlAccess, socketPath } from './control-protocol.ts';

export interface ControlServerDeps {
  /** The run folder. */
  readonly folder: string;
  /** For the group of the service only: what changes something. */
  readonly methods: Readonly<Record<string, ControlMethod>>;
  /** For everyone on the machine, and for the group too. */
  readonly readMethods: Readonly<Record<string, ControlMethod>>;
  readonly streams?: Readonly<Record<string, ControlStream>>;
  readonly readStreams?: Readonly<Record<string, ControlStream>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Connecting to a Unix socket takes write permission on it. */
const MODE_OF: Readonly<Record<ControlAccess, number>> = { control: 0o660, read: 0o666 };
/** Terminals and the status page; more is somebody's loop. */
const MOST_CONNECTIONS = 64;
/** sockaddr_un holds 108 bytes with the closing zero (unix(7)). */
const LONGEST_PATH_BYTES = 107;

export class ControlServer {
  readonly #deps: ControlServerDeps;
  readonly #servers: Server[] = [];
  readonly #connections = new Set<ControlConnection>();

  private constructor(deps: ControlServerDeps) {
    this.#deps = deps;
  }

  /**
   * Listens on both sockets; sockets that a crash left behind are replaced.
   * @throws AgentError `control-socket/in-use` or `control-socket/cannot-listen` (stop).
   */
  static async open(deps: ControlServerDeps, signal: AbortSignal): Promise<ControlServer> {
    const server = new ControlServer(deps);
    try {
      await makeFolder(deps.folder, 0o755);
      for (const access of ['control', 'read'] as const) await server.#listen(access);
      signal.throwIfAborted();
      return server;
    } catch (cause) {
      await server.close();
      if (cause instanceof AgentError) throw cause;
      throw new AgentError('control-socket/cannot-listen', `cannot listen in ${deps.folder}: ${systemCode(cause) ?? 'unknown fault'}`, {
        recovery: 'stop',
        cause,
      });
    }
  }

  /** Ends every connection and removes the sockets. Idempotent. */
  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await Promise.all(this.#servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
  }

  async #listen(access: ControlAccess): Promise<void> {
    const path = socketPath(this.#deps.folder, access);
    if (Buffer.byteLength(path) > LONGEST_PATH_BYTES)
      throw new AgentError('control-socket/cannot-listen', `the run folder's path is too long for a socket: ${path}`, { recovery: 'stop' });
    if (await answers(path)) throw new AgentError('control-socket/in-use', `another agent listens on ${path}`, { recovery: 'stop' });
    await rm(path, { force: true });
    const server = createServer((socket) => this.#accept(socket, access));
    server.maxConnections = MOST_CONNECTIONS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => resolve());
    });
    this.#servers.push(server);
    server.on('error', (error) => this.#deps.log.warn({ error: error.message }, 'the control socket had a fault'));
    await chmod(path, MODE_OF[access]);
  }

  #accept(socket: ConstructorParameters<typeof ControlConnection>[0]['socket'], access: ControlAccess): void {
    const { methods, readMethods, streams = {}, readStreams = {}, clock } = this.#deps;
    const may = access === 'control';
    const connection = new ControlConnection({
      socket,
      access,
      methods: new Map(Object.entries(may ? { ...readMethods, ...methods } : readMethods)),
      streams: new Map(Object.entries(may ? { ...readStreams, ...streams } : readStreams)),
      clock,
    });
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }
}

/** Whether somebody listens there: a file alone may be what a crash left. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
