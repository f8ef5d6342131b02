/** The agent's end of the control sockets. Nothing is kept: whoever was connected when the agent ends connects again. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { AgentError, systemCode } from '../errors/agent-error.ts';
import { undefinedWhenMissing } from '../host/files.ts';
import { MAX_SOCKET_PATH_BYTES } from '../host/folder-place.ts';
import { JsonLink } from '../host/json-link.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { type ControlCalls, ControlConnection } from './control-connection.ts';
import { type ControlAccess, MAX_ANSWER_LENGTH, socketPath } from './control-protocol.ts';
import { LongAnswers } from './long-answers.ts';
import { UnderWay } from './under-way.ts';

export interface ControlServerDeps extends ControlCalls, Pick<HostMachine, 'clock' | 'files'> {
  /** The run folder. */
  readonly folder: string;
  readonly log: Log;
}

/** Connecting to a Unix socket takes write permission on it. */
const MODE_OF: Readonly<Record<ControlAccess, number>> = { control: 0o660, read: 0o666 };
/** On each socket: terminals and monitors; more is somebody's loop. */
const MAX_CONNECTIONS = 64;
/** Bytes that may wait for callers to read them, beside the long answers. */
const MAX_BACKLOG_BYTES = 4 * 1024 * 1024;

export class ControlServer {
  readonly #deps: ControlServerDeps;
  readonly #servers: Server[] = [];
  readonly #connections = new Set<ControlConnection>();
  readonly #longAnswers: LongAnswers;
  /** Requests under way by access: those who only read take nothing from those who may change things. */
  readonly #underWay: Readonly<Record<ControlAccess, UnderWay>> = { control: new UnderWay(), read: new UnderWay() };

  private constructor(deps: ControlServerDeps) {
    this.#deps = deps;
    this.#longAnswers = new LongAnswers({ clock: deps.clock, limitBytes: MAX_ANSWER_LENGTH });
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
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES)
      throw new AgentError('control-socket/cannot-listen', `the run folder's path is too long for a socket: ${path}`, { recovery: 'stop' });
    if (await answers(path)) throw new AgentError('control-socket/in-use', `another agent listens on ${path}`, { recovery: 'stop' });
    await this.#deps.files.unlink(path).catch(undefinedWhenMissing);
    const server = createServer((socket) => this.#accept(socket, access));
    server.listen(path);
    await once(server, 'listening');
    this.#servers.push(server);
    server.on('error', (error) => this.#deps.log.warn({ error: error.message }, 'the control socket had a fault'));
    await this.#deps.files.chmod(path, MODE_OF[access]);
  }

  /** Bounds the backlog over all callers: readers are cut off first, and among them who is furthest behind. */
  #relieve(): void {
    const waiting = [...this.#connections].sort(
      (a, b) => Number(b.access === 'read') - Number(a.access === 'read') || b.backlogBytes - a.backlogBytes,
    );
    let sum = waiting.reduce((total, { backlogBytes }) => total + backlogBytes, 0);
    for (const connection of waiting) {
      if (sum <= MAX_BACKLOG_BYTES) return;
      sum -= connection.backlogBytes;
      connection.close();
    }
  }

  /** Whoever has had nothing under way for longest goes; while all are busy, whoever came first. */
  #makeRoom(access: ControlAccess): void {
    const here = [...this.#connections].filter((one) => one.access === access);
    if (here.length < MAX_CONNECTIONS) return;
    (here.find(({ isIdle }) => isIdle) ?? here[0])?.close();
  }

  #accept(socket: Socket, access: ControlAccess): void {
    const { methods = {}, readMethods = {}, readStreams = {}, clock } = this.#deps;
    const may = access === 'control';
    const connection = new ControlConnection({
      socket,
      access,
      methods: new Map(Object.entries(may ? { ...readMethods, ...methods } : readMethods)),
      streams: new Map(Object.entries(readStreams)),
      withheld: new Set(may ? [] : Object.keys(methods)),
      clock,
      longAnswers: this.#longAnswers,
      underWay: this.#underWay[access],
      onBacklog: () => this.#relieve(),
    });
    this.#makeRoom(access);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }
}

/** True when a server listens there: a file alone may be left by a crash. */
async function answers(path: string): Promise<boolean> {
  const link = await JsonLink.connect(path, MAX_ANSWER_LENGTH).catch(() => undefined);
  link?.close();
  return link !== undefined;
}
