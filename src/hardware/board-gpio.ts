/** GPIO lines of a simulated board. A line survives the board's own restart: it is asked for again, outputs at the level they last had. */

import { AgentError } from '../errors.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { BoardConnection } from './board-link.ts';
import type { BoardEvent } from './board-protocol.ts';
import type { GpioInput, GpioOutput, GpioPort, InputRequest, Level, LineDescription, LineEdge, OutputRequest } from './gpio-port.ts';

/** A board that does not answer a release has let go of the line anyway. */
const RELEASE_DEADLINE_MS = 1_000;
/** How long reopening after the board's restart may take; the next use tries again. */
const REOPEN_DEADLINE_MS = 5_000;

export class BoardGpio implements GpioPort {
  readonly #link: BoardConnection;
  readonly #clock: Clock;
  readonly #lines = new Set<BoardLine>();

  constructor(link: BoardConnection, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
  }

  async openInput(request: InputRequest, signal: AbortSignal): Promise<GpioInput> {
    const watchers = new Set<(edge: LineEdge) => void>();
    const line = new BoardLine(this.#link, {
      clock: this.#clock,
      open: async (openSignal) => (await this.#link.request('gpio.openInput', request, openSignal)).handle,
      onEvent: (event) => {
        if (event.event !== 'edge') return;
        for (const watcher of watchers) watcher({ level: event.level, monotonicMs: event.monotonicMs, missed: event.missed });
      },
    });
    await line.handle(signal);
    this.#lines.add(line);
    return {
      read: async (readSignal) => await this.#link.request('gpio.read', { handle: await line.handle(readSignal) }, readSignal),
      watch: (listener) => {
        watchers.add(listener);
        return () => watchers.delete(listener);
      },
      close: () => this.#release(line),
    };
  }

  async openOutput(request: OutputRequest, signal: AbortSignal): Promise<GpioOutput> {
    let last: Level | undefined;
    const line = new BoardLine(this.#link, {
      clock: this.#clock,
      open: async (openSignal) =>
        (await this.#link.request('gpio.openOutput', { ...request, initial: last ?? request.initial }, openSignal)).handle,
    });
    await line.handle(signal);
    this.#lines.add(line);
    return {
      write: async (level, writeSignal) => {
        await this.#link.request('gpio.write', { handle: await line.handle(writeSignal), level }, writeSignal);
        last = level;
      },
      read: async (readSignal) => await this.#link.request('gpio.read', { handle: await line.handle(readSignal) }, readSignal),
      close: () => this.#release(line),
    };
  }

  async list(signal: AbortSignal): Promise<readonly LineDescription[]> {
    return await this.#link.request('gpio.list', {}, signal);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lines].map((line) => this.#release(line)));
  }

  async #release(line: BoardLine): Promise<void> {
    this.#lines.delete(line);
    await line.close();
  }
}

interface BoardLineOptions {
  readonly clock: Clock;
  readonly open: (signal: AbortSignal) => Promise<number>;
  readonly onEvent?: (event: BoardEvent) => void;
}

class BoardLine {
  readonly #link: BoardConnection;
  readonly #options: BoardLineOptions;
  readonly #forget: () => void;
  #handle: number | undefined;
  #closed = false;

  constructor(link: BoardConnection, options: BoardLineOptions) {
    this.#link = link;
    this.#options = options;
    this.#forget = link.onReconnect(() => {
      this.#handle = undefined;
      // Watchers would otherwise wait for edges of a handle that is gone.
      void withinMs(options.clock, REOPEN_DEADLINE_MS, (late) => this.handle(late)).catch(() => {});
    });
  }

  /** The board's handle for the line, opened when it is not. */
  async handle(signal: AbortSignal): Promise<number> {
    if (this.#closed) throw new AgentError('hardware/gpio-failed', 'the line was closed', { recovery: 'drop' });
    if (this.#handle === undefined) {
      this.#handle = await this.#options.open(signal);
      if (this.#options.onEvent !== undefined) this.#link.onEvents(this.#handle, this.#options.onEvent);
    }
    return this.#handle;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#forget();
    if (this.#handle === undefined) return;
    this.#link.onEvents(this.#handle, undefined);
    const handle = this.#handle;
    const release = (late: AbortSignal): Promise<unknown> => this.#link.request('close', { handle }, late);
    await withinMs(this.#options.clock, RELEASE_DEADLINE_MS, release).catch(() => {});
  }
}
