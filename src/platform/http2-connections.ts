/**
 * All HTTP/2 connections to one origin: one, unless the standing polls would leave too little room on it, or the server goes away from it. A
 * request begins where there is room; else it waits for some, which the next connection brings, up to a few of them.
 */
import type { Socket } from 'node:net';
import { Http2Connection, type Http2ConnectionDeps } from './http2-connection.ts';
import { type BrokenConnection, brokenConnection, type LaneAnswer, type LaneRequest } from './lane-request.ts';
import { LineSpeed } from './line-speed.ts';

export interface Http2ConnectionsDeps extends Omit<Http2ConnectionDeps, 'onChange' | 'line'> {
  /** Opens a socket that offers HTTP/2 first. */
  readonly openSocket: () => Promise<Socket>;
  /** Takes a socket on which the server has chosen HTTP/1.1. */
  readonly onOtherHttp: (socket: Socket) => void;
}

interface Waiting {
  readonly isPoll: boolean;
  readonly begin: (connection: Http2Connection) => void;
  readonly fail: (error: unknown) => void;
}

/** The server chose HTTP/1.1: nothing was sent. */
export const OTHER_HTTP = new Error('the server does not speak HTTP/2');

/** Connections of one origin; one of them is left to what is no poll. */
const MAX_CONNECTIONS = 8;
/** A request that the server has not looked at is sent again at once; one that goes away lets some in each time, one that refuses may be too busy. */
const MAX_TRIES = { leaving: 10, refused: 3 };

export class Http2Connections {
  readonly #deps: Http2ConnectionsDeps;
  readonly #line = new LineSpeed();
  /** Those that the server goes away from, too, until the last answer has come on them. */
  readonly #connections = new Set<Http2Connection>();
  /** First come, first served. */
  readonly #waiting = new Set<Waiting>();
  #isOpening = false;
  /** Number of times that all were ended. */
  #endings = 0;

  constructor(deps: Http2ConnectionsDeps) {
    this.#deps = deps;
  }

  /** @throws OTHER_HTTP, BrokenConnection, a fault of opening, or the signal's reason. */
  async request(request: LaneRequest, isPoll: boolean): Promise<LaneAnswer> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#request(request, isPoll);
      } catch (error) {
        const unseen = error instanceof Error ? (error as Partial<BrokenConnection>).unseen : undefined;
        if (unseen === undefined || tries >= MAX_TRIES[unseen] || request.signal.aborted) throw error;
      }
    }
  }

  /** Ends every connection and what waits for one. */
  end(why: Error): void {
    this.#endings += 1;
    this.#fail(why);
    for (const connection of this.#connections) connection.end();
  }

  #request(request: LaneRequest, isPoll: boolean): Promise<LaneAnswer> {
    const { signal } = request;
    return new Promise((resolve, reject) => {
      const stop = (): void => waiting.fail(signal.reason);
      const leave = (): void => {
        this.#waiting.delete(waiting);
        signal.removeEventListener('abort', stop);
      };
      const waiting: Waiting = {
        isPoll,
        begin: (connection) => {
          leave();
          connection.request(request, isPoll).then(resolve, reject);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      this.#waiting.add(waiting);
      this.#beginWaiting();
    });
  }

  #beginWaiting(): void {
    for (const connection of this.#connections) if (connection.isEnded) this.#connections.delete(connection);
    let [forPolls, forOthers] = [false, false];
    for (const waiting of this.#waiting) {
      const room = [...this.#connections].find((connection) => connection.hasRoom(waiting.isPoll));
      if (room !== undefined) waiting.begin(room);
      else if (waiting.isPoll) forPolls = true;
      else forOthers = true;
    }
    const most = forOthers ? MAX_CONNECTIONS : MAX_CONNECTIONS - 1;
    // A server that allows none on one connection allows none on the next.
    const mayHaveMore =
      this.#connections.size < most && ![...this.#connections].some(({ allowed, isOver }) => allowed === 0 && !isOver);
    if ((forPolls || forOthers) && mayHaveMore && !this.#isOpening) void this.#open();
  }

  async #open(): Promise<void> {
    const { openSocket, onOtherHttp } = this.#deps;
    const endings = this.#endings;
    this.#isOpening = true;
    try {
      const socket = await openSocket();
      if (endings !== this.#endings) {
        socket.destroy();
      } else if ((socket as { readonly alpnProtocol?: unknown }).alpnProtocol === 'h2') {
        const connection = await Http2Connection.open(socket, {
          ...this.#deps,
          line: this.#line,
          onChange: () => this.#beginWaiting(),
        });
        if (endings !== this.#endings) connection.end();
        // A server that goes away from each connection at once is not asked for the next in the same breath.
        else if (connection.isOver) this.#fail(brokenConnection('the server goes away from each connection'));
        else this.#connections.add(connection);
      } else {
        onOtherHttp(socket);
        this.#fail(OTHER_HTTP);
      }
    } catch (error) {
      if (endings === this.#endings) this.#fail(error);
    } finally {
      this.#isOpening = false;
      this.#beginWaiting();
    }
  }

  #fail(error: unknown): void {
    for (const waiting of [...this.#waiting]) waiting.fail(error);
  }
}
