/** The command line's end of the control sockets. */
import { createConnection, type Socket } from 'node:net';
import { AgentError, hasCode, systemCode } from '../errors.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import {
  type ControlAccess,
  DEFAULT_DEADLINE_MS,
  decodeLine,
  encodeLine,
  errorOf,
  JOIN_GROUP,
  LONGEST_ANSWER,
  PROTOCOL_VERSION,
  socketPath,
} from './control-protocol.ts';
import { LineReader } from './line-reader.ts';

export interface ControlClientOptions {
  /** The run folder. */
  readonly folder: string;
  /** Default: `control` when this user may, otherwise `read`. */
  readonly access?: ControlAccess;
  /** Ends every request at once with `control-socket/interrupted`: the person has seen enough. */
  readonly interrupted?: AbortSignal;
}

interface Pending {
  readonly resolve: (result: JsonValue) => void;
  readonly reject: (error: AgentError) => void;
  readonly onEvent?: (event: JsonValue) => void;
}

/** The agent's own deadline ends first and says more. */
const DEADLINE_MARGIN_MS = 2_000;
/** An agent that listens but does not greet is frozen. */
const GREETING_WITHIN_MS = 5_000;
const OTHER_RELEASE = 'this command and the running agent are of different releases: use the command of the running release';

export class ControlClient {
  readonly access: ControlAccess;
  readonly #socket: Socket;
  readonly #reader = new LineReader(LONGEST_ANSWER);
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #greeted: Pending | undefined;

  readonly #interrupted: AbortSignal | undefined;

  private constructor(socket: Socket, { access, interrupted }: ControlClientOptions & { readonly access: ControlAccess }) {
    this.#socket = socket;
    this.#interrupted = interrupted;
    this.access = access;
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', () => this.#fail(lost('the connection to the agent broke')));
    socket.on('close', () => this.#fail(lost('the agent ended the connection')));
  }

  /**
   * @throws AgentError `control-socket/not-running` (retry) when no agent listens, `control-socket/no-permission` (drop), `control-socket/version` (drop)
   * when agent and command are too different.
   */
  static async connect(options: ControlClientOptions): Promise<ControlClient> {
    if (options.access !== undefined) return ControlClient.#open({ ...options, access: options.access });
    try {
      return await ControlClient.#open({ ...options, access: 'control' });
    } catch (error) {
      if (hasCode(error, 'control-socket/no-permission')) return ControlClient.#open({ ...options, access: 'read' });
      throw error;
    }
  }

  static async #open(options: ControlClientOptions & { readonly access: ControlAccess }): Promise<ControlClient> {
    const { folder, access } = options;
    const client = new ControlClient(await connected(socketPath(folder, access), access), options);
    await client.#greeting();
    return client;
  }

  /** Asks once. @throws AgentError with the agent's own code, or `control-socket/lost`, `control-socket/deadline` (retry). */
  async request(
    method: string,
    params: JsonObject = {},
    options: { readonly deadlineMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<JsonValue> {
    const { deadlineMs = DEFAULT_DEADLINE_MS, signal } = options;
    const late = AbortSignal.timeout(deadlineMs + DEADLINE_MARGIN_MS);
    const ends = [late, signal, this.#interrupted].filter((one) => one !== undefined);
    return this.#ask({ method, params, deadlineMs }, AbortSignal.any(ends));
  }

  /** Calls back for each event until the stream ends, or the signal aborts. */
  async subscribe(method: string, params: JsonObject, onEvent: (event: JsonValue) => void, signal: AbortSignal): Promise<void> {
    await this.#ask({ method, params }, signal, onEvent);
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#socket.destroy();
  }

  async #ask(request: JsonObject, signal: AbortSignal, onEvent?: (event: JsonValue) => void): Promise<JsonValue> {
    if (this.#socket.destroyed) throw lost('the connection to the agent is closed');
    const id = this.#nextId;
    this.#nextId += 1;
    const answer = Promise.withResolvers<JsonValue>();
    const cancel = (): void => {
      this.#socket.write(encodeLine({ cancel: id }));
      if (onEvent !== undefined) answer.resolve(null);
      else if (this.#interrupted?.aborted === true)
        answer.reject(new AgentError('control-socket/interrupted', 'the answer was not waited for', { recovery: 'drop' }));
      else answer.reject(new AgentError('control-socket/deadline', 'the agent did not answer in time', { recovery: 'retry' }));
    };
    this.#pending.set(id, { ...answer, ...(onEvent === undefined ? {} : { onEvent }) });
    signal.addEventListener('abort', cancel, { once: true });
    try {
      this.#socket.write(encodeLine({ id, ...request }));
      if (signal.aborted) cancel();
      return await answer.promise;
    } finally {
      this.#pending.delete(id);
      signal.removeEventListener('abort', cancel);
    }
  }

  async #greeting(): Promise<void> {
    const greeting = Promise.withResolvers<JsonValue>();
    const timer = setTimeout(() => this.#fail(lost('an agent listens but does not answer')), GREETING_WITHIN_MS);
    this.#greeted = greeting;
    try {
      await greeting.promise;
    } finally {
      clearTimeout(timer);
      this.#greeted = undefined;
    }
  }

  #take(bytes: Buffer): void {
    const lines = this.#reader.take(bytes);
    try {
      if (lines === undefined)
        throw new AgentError('control-socket/malformed', 'the agent sent an answer that is too long', { recovery: 'drop' });
      for (const line of lines) this.#takeMessage(decodeLine(line, LONGEST_ANSWER));
    } catch (error) {
      this.#fail(error as AgentError);
    }
  }

  #takeMessage(message: JsonObject): void {
    if (this.#greeted !== undefined) {
      if (message.turnstone !== PROTOCOL_VERSION) throw new AgentError('control-socket/version', OTHER_RELEASE, { recovery: 'drop' });
      this.#greeted.resolve(null);
      return;
    }
    const pending = typeof message.id === 'number' ? this.#pending.get(message.id) : undefined;
    if (message.event !== undefined) pending?.onEvent?.(message.event);
    else if (message.error !== undefined) pending?.reject(errorOf(message.error));
    else pending?.resolve(message.result ?? null);
  }

  #fail(error: AgentError): void {
    this.#greeted?.reject(error);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#socket.destroy();
  }
}

function lost(message: string): AgentError {
  return new AgentError('control-socket/lost', message, { recovery: 'retry' });
}

function connected(path: string, access: ControlAccess): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', (cause) => {
      const code = systemCode(cause);
      const denied = code === 'EACCES' || code === 'EPERM';
      const message = denied
        ? `no permission for the agent's ${access} socket ${path}, which is for its group: ${JOIN_GROUP}`
        : `no agent runs here (${path}: ${code ?? 'not reached'})`;
      reject(
        new AgentError(denied ? 'control-socket/no-permission' : 'control-socket/not-running', message, {
          recovery: denied ? 'drop' : 'retry',
          cause,
        }),
      );
    });
  });
}
