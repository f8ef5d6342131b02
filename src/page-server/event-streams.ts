/**
 * Server-sent events to the pages that are open: made once a second for all of them together, and not at all while nobody looks. A page that
 * does not take what it is sent is cut off rather than kept in memory; it comes back by itself. A stream lasts as long as the session that
 * opened it.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../host/clock.ts';

export interface EventStreamsDeps {
  readonly clock: Clock;
  /** The events of this second, for everybody. */
  readonly tick: () => string;
}

export const MAX_STREAMS = 40;
export const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };
const TICK_MS = 1_000;
const MAX_WAITING_BYTES = 256 * 1024;

export class EventStreams {
  readonly #deps: EventStreamsDeps;
  /** Each with the question whether its reader may still look. */
  readonly #streams = new Map<ServerResponse, () => boolean>();
  #cancel: (() => void) | undefined;

  constructor(deps: EventStreamsDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#streams.size;
  }

  /** Takes over an answer, beginning with these events, for as long as its reader may look. False when there are too many already. */
  openStream(response: ServerResponse, first: string, mayLook: () => boolean): boolean {
    if (this.#streams.size >= MAX_STREAMS) return false;
    response.writeHead(200, STREAM_HEADERS);
    // A page looks for the agent again this soon after it lost it.
    response.write(`retry: 1000\n\n${first}`);
    this.#streams.set(response, mayLook);
    response.on('close', () => this.#streams.delete(response));
    this.#cancel ??= this.#deps.clock.after(TICK_MS, () => this.#tick());
    return true;
  }

  /** Ends every stream. Idempotent. */
  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const response of this.#streams.keys()) response.end();
    this.#streams.clear();
  }

  #tick(): void {
    this.#cancel = undefined;
    for (const [response, mayLook] of this.#streams) {
      if (mayLook()) continue;
      this.#streams.delete(response);
      response.end();
    }
    if (this.#streams.size === 0) return;
    const events = Buffer.from(this.#deps.tick());
    for (const response of this.#streams.keys()) {
      if (response.writableLength > MAX_WAITING_BYTES) response.destroy();
      else response.write(events);
    }
    this.#cancel = this.#deps.clock.after(TICK_MS, () => this.#tick());
  }
}

/** One event as the stream writes it; `data` is one line. */
export function eventText(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}
