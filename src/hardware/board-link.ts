/**
 * The agent's end of the simulated board's socket: requests with replies, events by handle. When the connection is
 * lost every waiting request fails, and so does every handle from then on; the next request connects again, and whoever needs a line opens it.
 */
import { AgentError, hasCode, retryable } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { JsonLink } from '../host/json-link.ts';
import { nextTurn } from '../host/next-turn.ts';
import { joinedWhileUnderWay } from '../host/shared-work.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import type { BoardEvent, BoardOperation, BoardOperations, BoardReply } from './board-protocol.ts';
import { answerWithin, withinDeadline } from './deadline.ts';

export interface BoardLinkDeps {
  readonly clock: Clock;
  readonly socketPath: string;
}

/** A longer line than this is no message of the board's. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
/** A board that listens but does not greet is frozen. */
const GREETING_WITHIN_MS = 5_000;
const PROTOCOL_VERSION = 1;

interface Waiting {
  readonly resolve: (result: JsonValue) => void;
  readonly reject: (error: AgentError) => void;
}

/** Part of it that clients need; a line within one process is another. */
export type BoardConnection = Pick<BoardLink, 'request' | 'onEvents' | 'close'>;

export class BoardLink {
  readonly #deps: BoardLinkDeps;
  readonly #waiting = new Map<number, Waiting>();
  readonly #eventListeners = new Map<number, (event: BoardEvent) => void>();
  #link: JsonLink | undefined;
  readonly #connect = joinedWhileUnderWay(() => this.#open());
  #lastId = 0;

  constructor(deps: BoardLinkDeps) {
    this.#deps = deps;
  }

  /** @throws AgentError `hardware/board-gone`, `hardware/deadline` (retry), or what the board answered. */
  async request<Op extends BoardOperation>(
    op: Op,
    params: BoardOperations[Op]['params'],
    signal: AbortSignal,
  ): Promise<BoardOperations[Op]['result']> {
    const link = this.#link ?? (await withinDeadline(this.#connect(), 'connecting to the simulated board', signal));
    this.#lastId += 1;
    const id = this.#lastId;
    const listen: Parameters<typeof answerWithin<JsonValue>>[0] = (resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      // The params of every operation are JSON; of one that is not known yet the compiler cannot see it.
      link.send({ id, op, params: params as unknown as JsonValue });
    };
    try {
      return (await answerWithin(listen, `simulated board: ${op}`, signal)) as BoardOperations[Op]['result'];
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Calls back with the events of one handle; undefined ends it. */
  onEvents(handle: number, listener: ((event: BoardEvent) => void) | undefined): void {
    if (listener === undefined) this.#eventListeners.delete(handle);
    else this.#eventListeners.set(handle, listener);
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#link?.close();
  }

  async #open(): Promise<JsonLink> {
    const link = await JsonLink.connect(this.#deps.socketPath, MAX_LINE_BYTES).catch((cause: unknown) => {
      throw gone('the simulated board does not answer', cause);
    });
    const greeted = Promise.withResolvers<void>();
    link.listen({
      message: (message) => {
        if (message.turnstoneBoard === undefined) this.#receive(message);
        else if (message.turnstoneBoard === PROTOCOL_VERSION) greeted.resolve();
        else throw gone('the simulated board speaks another version of its protocol');
      },
      end: (cause) => {
        greeted.reject(hasCode(cause, 'hardware/board-gone') ? cause : gone('the simulated board hung up', cause));
        if (this.#link !== link) return;
        this.#link = undefined;
        this.#eventListeners.clear();
        for (const { reject } of this.#waiting.values()) reject(gone('the simulated board hung up'));
      },
    });
    const cancel = this.#deps.clock.after(GREETING_WITHIN_MS, () => link.close());
    await greeted.promise.finally(cancel);
    this.#link = link;
    return link;
  }

  #receive(message: JsonObject): void {
    if (typeof message.event === 'string') {
      // Both ends are of this release: the board sends no other.
      const event = message as BoardEvent;
      const listener = this.#eventListeners.get(event.handle);
      if (listener !== undefined) listener(event);
      // It came in one piece with the reply that names its handle, which whoever waits for that reply has yet to see.
      else void nextTurn().then(() => this.#eventListeners.get(event.handle)?.(event));
      return;
    }
    // Likewise.
    const { id, result, error } = message as BoardReply;
    const waiting = this.#waiting.get(id);
    if (error !== undefined) waiting?.reject(new AgentError(error.code, error.message, { recovery: error.recovery }));
    else waiting?.resolve(result ?? null);
  }
}

function gone(message: string, cause?: unknown): AgentError {
  return retryable('hardware/board-gone', message, cause);
}
