/** GPIO lines of a simulated board. One that is opened again is asked for as it was, outputs at the level they last had. */
import type { Clock } from '../host/clock.ts';
import { Listeners } from '../host/listeners.ts';
import { BoardHandle, type BoardHandleOptions } from './board-handle.ts';
import type { BoardConnection } from './board-link.ts';
import type { GpioInput, GpioOutput, GpioPort, InputRequest, Level, LineDescription, LineEdge, OutputRequest } from './gpio-port.ts';

export class BoardGpio implements GpioPort {
  readonly #link: BoardConnection;
  readonly #clock: Clock;
  readonly #lines = new Set<BoardHandle>();

  constructor(link: BoardConnection, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
  }

  async openInput(request: InputRequest, signal: AbortSignal): Promise<GpioInput> {
    const edges = new Listeners<[LineEdge]>();
    const { read, close } = await this.#open(signal, {
      open: async (openSignal) => (await this.#link.request('gpio.openInput', request, openSignal)).handle,
      onEvent: (event) => {
        if (event.event === 'edge') edges.tell({ level: event.level, monotonicMs: event.monotonicMs, missed: event.missed });
      },
    });
    return { read, watch: edges.add, close };
  }

  async openOutput(request: OutputRequest, signal: AbortSignal): Promise<GpioOutput> {
    let { initial } = request;
    const { line, read, close } = await this.#open(signal, {
      open: async (openSignal) => (await this.#link.request('gpio.openOutput', { ...request, initial }, openSignal)).handle,
    });
    const write = async (level: Level, writeSignal: AbortSignal): Promise<void> => {
      await this.#link.request('gpio.write', { handle: await line.id(writeSignal), level }, writeSignal);
      initial = level;
    };
    return { write, read, close };
  }

  async list(signal: AbortSignal): Promise<readonly LineDescription[]> {
    return await this.#link.request('gpio.list', {}, signal);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lines].map((line) => line.close()));
  }

  async #open(signal: AbortSignal, options: BoardHandleOptions) {
    const line = new BoardHandle(this.#link, this.#clock, options);
    await line.id(signal);
    this.#lines.add(line);
    return {
      line,
      read: async (readSignal: AbortSignal) => await this.#link.request('gpio.read', { handle: await line.id(readSignal) }, readSignal),
      close: async () => {
        this.#lines.delete(line);
        await line.close();
      },
    };
  }
}
