/** The command line's end of the control sockets. */
import { AgentError, hasCode, refusal, retryable, systemCode } from '../errors/agent-error.ts';
import { JsonLink } from '../host/json-link.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import {
  type ControlAccess,
  DEFAULT_DEADLINE_MS,
  errorOf,
  JOIN_GROUP,
  MAX_ANSWER_LENGTH,
  PROTOCOL_VERSION,
  socketPath,
} from './control-protocol.ts';

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
const OTHER_RELEASE =
  'this command and the running agent are of different releases: use the command of the running release';

export class ControlClient {
  readonly access: ControlAccess;
  readonly #link: JsonLink;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #greeted: Pending | undefined;

  readonly #interrupted: AbortSignal | undefined;

  private constructor(link: JsonLink, access: ControlAccess, interrupted: AbortSignal | undefined) {
    this.#link = link;
    this.#interrupted = interrupted;
    this.access = access;
    link.listen({
      message: (message) => this.#take(message),
      end: (cause) => {
        const said = cause === undefined ? 'the agent ended the connection' : 'the connection to the agent broke';
        this.#fail(cause instanceof AgentError ? cause : lost(said));
      },
    });
  }

  /**
   * @throws AgentError `control-socket/not-running` (retry) when no agent listens, `control-socket/no-permission` (drop), `control-socket/version` (drop)
   * when agent and command are too different.
   */
  static async connect({ folder, access, interrupted }: ControlClientOptions): Promise<ControlClient> {
    const open = async (as: ControlAccess): Promise<ControlClient> => {
      const client = new ControlClient(await connected(socketPath(folder, as), as), as, interrupted);
      await client.#greeting();
      return client;
    };
    return open(access ?? 'control').catch((error: unknown) => {
      if (access === undefined && hasCode(error, 'control-socket/no-permission')) return open('read');
      throw error;
    });
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
  async subscribe(
    method: string,
    params: JsonObject,
    onEvent: (event: JsonValue) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#ask({ method, params }, signal, onEvent);
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#link.close();
  }

  async #ask(request: JsonObject, signal: AbortSignal, onEvent?: (event: JsonValue) => void): Promise<JsonValue> {
    if (this.#link.socket.destroyed) throw lost('the connection to the agent is closed');
    const id = this.#nextId;
    this.#nextId += 1;
    const answer = Promise.withResolvers<JsonValue>();
    const cancel = (): void => {
      this.#link.send({ cancel: id });
      if (onEvent !== undefined) answer.resolve(null);
      else if (this.#interrupted?.aborted === true)
        answer.reject(refusal('control-socket/interrupted', 'the answer was not waited for'));
      else answer.reject(retryable('control-socket/deadline', 'the agent did not answer in time'));
    };
    this.#pending.set(id, { ...answer, onEvent });
    signal.addEventListener('abort', cancel, { once: true });
    try {
      this.#link.send({ id, ...request });
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

  #take(message: JsonObject): void {
    if (this.#greeted !== undefined) {
      if (message.turnstone !== PROTOCOL_VERSION) throw refusal('control-socket/version', OTHER_RELEASE);
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
    this.#link.close();
  }
}

function lost(message: string): AgentError {
  return retryable('control-socket/lost', message);
}

async function connected(path: string, access: ControlAccess): Promise<JsonLink> {
  try {
    return await JsonLink.connect(path, MAX_ANSWER_LENGTH);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === 'EACCES' || code === 'EPERM')
      throw refusal(
        'control-socket/no-permission',
        `no permission for the agent's ${access} socket ${path}, which is for its group: ${JOIN_GROUP}`,
        cause,
      );
    throw retryable('control-socket/not-running', `no agent runs here (${path}: ${code ?? 'not reached'})`, cause);
  }
}
