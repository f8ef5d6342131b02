/**
 * Line, port or channel that the simulated board has opened for us, by its handle. It survives the board's own restart, after which it is
 * opened again at once: listeners would otherwise wait for events of a handle that no longer exists.
 */
import { AgentError } from '../errors/agent-error.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { BoardConnection } from './board-link.ts';
import type { BoardEvent } from './board-protocol.ts';

export interface BoardHandleOptions {
  /** Opens it, and gives its handle. */
  readonly open: (signal: AbortSignal) => Promise<number>;
  readonly onEvent?: (event: BoardEvent) => void;
  /** The board came back and could not open it; the next use tries again. */
  readonly onGone?: () => void;
}

/** How long opening it again may take after the board's restart. */
const REOPEN_WITHIN_MS = 5_000;
/** A board that does not answer has released it anyway. */
const CLOSE_WITHIN_MS = 1_000;

export class BoardHandle {
  readonly #link: BoardConnection;
  readonly #clock: Clock;
  readonly #options: BoardHandleOptions;
  #id: number | undefined;
  #forget: (() => void) | undefined;
  #isClosed = false;

  /** @param id where it has been opened already. */
  constructor(link: BoardConnection, clock: Clock, options: BoardHandleOptions, id?: number) {
    this.#link = link;
    this.#clock = clock;
    this.#options = options;
    if (id !== undefined) this.#adopt(id);
  }

  get isOpen(): boolean {
    return this.#id !== undefined && !this.#isClosed;
  }

  /** Opened when it is not. @throws AgentError `hardware/closed` (drop), and as the link. */
  async id(signal: AbortSignal): Promise<number> {
    if (this.#isClosed)
      throw new AgentError('hardware/closed', 'this line, port or channel of the simulated board was closed', { recovery: 'drop' });
    return this.#id ?? this.#adopt(await this.#options.open(signal));
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#forget?.();
    const handle = this.#id;
    if (handle === undefined) return;
    this.#link.onEvents(handle, undefined);
    await withinMs(this.#clock, CLOSE_WITHIN_MS, (late) => this.#link.request('close', { handle }, late)).catch(() => {});
  }

  #adopt(id: number): number {
    const { onEvent, onGone = () => {} } = this.#options;
    this.#id = id;
    if (onEvent !== undefined) this.#link.onEvents(id, onEvent);
    this.#forget ??= this.#link.onReconnect(() => {
      this.#id = undefined;
      withinMs(this.#clock, REOPEN_WITHIN_MS, (late) => this.id(late)).catch(onGone);
    });
    return id;
  }
}
