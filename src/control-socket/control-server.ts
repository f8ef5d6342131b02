/** The agent's end of the control sockets. Nothing is kept: whoever was connected when the agent ends connects again. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { AgentError, systemCode } from '../errors/agent-error.ts';
import { undefinedWhenMissing } from '../host/files.ts';
import { MAX_SOCKET_PATH_BYTES } from '../host/folder-place.ts';
import { JsonLink } from '../host/json-link.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { type LocalAsker, type LocalDoor, type LocalDoorDeps, openLocalDoor } from '../operations/local-door.ts';
import { ControlConnection } from './control-connection.ts';
import { type ControlAccess, MAX_ANSWER_LENGTH, socketPath } from './control-protocol.ts';

export interface ControlServerDeps extends LocalDoorDeps, Pick<HostMachine, 'clock' | 'files'> {
  /** The run folder. */
  readonly folder: string;
  readonly log: Log;
}

/** Connecting to a Unix socket takes write permission on it. */
const MODE_OF: Readonly<Record<ControlAccess, number>> = { control: 0o660, read: 0o666 };
/** Asker on each. */
const ASKER_OF: Readonly<Record<ControlAccess, LocalAsker>> = { control: 'site', read: 'viewer' };
/** On each socket: terminals and monitors; more is somebody's loop. */
const MAX_CONNECTIONS = 16;

export class ControlServer {
  readonly #deps: ControlServerDeps;
  readonly #servers: Server[] = [];
  readonly #doors: Readonly<Record<ControlAccess, LocalDoor>>;
  readonly #connections = { control: new Set<ControlConnection>(), read: new Set<ControlConnection>() };

  private constructor(deps: ControlServerDeps) {
    this.#deps = deps;
    this.#doors = { control: openLocalDoor(ASKER_OF.control, deps), read: openLocalDoor(ASKER_OF.read, deps) };
  }

  /**
   * Listens on both sockets; sockets that a crash left behind are replaced.
   * @throws AgentError `control-socket/in-use` or `control-socket/cannot-listen` (stop).
   */
  static async open(deps: ControlServerDeps, signal: AbortSignal): Promise<ControlServer> {
    const server = new ControlServer(deps);
    try {
      await deps.files.makeFolder(deps.folder, 0o755);
      for (const access of ['control', 'read'] as const) await server.#listen(access);
      signal.throwIfAborted();
      return server;
    } catch (cause) {
      await server.close();
      if (cause instanceof AgentError) throw cause;
      throw new AgentError(
        'control-socket/cannot-listen',
        `cannot listen in ${deps.folder}: ${systemCode(cause) ?? 'unknown fault'}`,
        {
          recovery: 'stop',
          cause,
        },
      );
    }
  }

  /** Ends every connection and removes the sockets. Idempotent. */
  async close(): Promise<void> {
    for (const connections of Object.values(this.#connections)) for (const one of connections) one.close();
    await Promise.all(this.#servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
  }

  async #listen(access: ControlAccess): Promise<void> {
    const path = socketPath(this.#deps.folder, access);
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES)
      throw new AgentError('control-socket/cannot-listen', `the run folder's path is too long for a socket: ${path}`, {
        recovery: 'stop',
      });
    if (await answers(path))
      throw new AgentError('control-socket/in-use', `another agent listens on ${path}`, { recovery: 'stop' });
    await this.#deps.files.unlink(path).catch(undefinedWhenMissing);
    const server = createServer((socket) => this.#accept(socket, access));
    server.listen(path);
    await once(server, 'listening');
    this.#servers.push(server);
    server.on('error', (error) => this.#deps.log.warn({ error: error.message }, 'the control socket had a fault'));
    await this.#deps.files.chmod(path, MODE_OF[access]);
  }

  #accept(socket: Socket, access: ControlAccess): void {
    const door = this.#doors[access];
    const others = [...this.#doors.control.operations.keys()];
    const connection = new ControlConnection({
      socket,
      access,
      door,
      withheld: new Set(others.filter((name) => !door.operations.has(name))),
      clock: this.#deps.clock,
    });
    const connections = this.#connections[access];
    const [first] = connections;
    // Whoever came first of those with nothing under way makes room; while all are busy, whoever came first.
    if (connections.size >= MAX_CONNECTIONS) ([...connections].find(({ isIdle }) => isIdle) ?? first)?.close();
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  }
}

/** True when a server listens there: a file alone may be left by a crash. */
async function answers(path: string): Promise<boolean> {
  const link = await JsonLink.connect(path, MAX_ANSWER_LENGTH).catch(() => undefined);
  link?.close();
  return link !== undefined;
}
