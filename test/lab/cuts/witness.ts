/** Knowledge of the world outside about an append run: the promised entries, and those that arrived. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { z } from 'zod';
import { linesOf } from '../lines.ts';
import { missingFrom } from '../numbered-entries.ts';

const Line = z.strictObject({
  word: z.enum(['drained', 'appending', 'resolved', 'delivered']),
  numbers: z.array(z.number()),
});

export class Witness {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Numbers whose append has resolved. */
  readonly promised = new Set<number>();
  readonly arrived = new Set<number>();
  /** Entries that came more than once: allowed, at-least-once is the promise. */
  repeated = 0;
  /** The first number that was never used. */
  next = 1;
  #onDrained: (() => void) | undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Witness> {
    const server = createServer();
    const witness = new Witness(server);
    server.on('connection', (socket) => witness.#listen(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return witness;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves when the next life has delivered all that it found. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = resolve;
    });
  }

  /** Returns promised entries that never arrived; meaningful once drained. */
  missing(): readonly number[] {
    return missingFrom(this.arrived, this.promised);
  }

  /** Arrivals that nobody had appended. */
  invented(): readonly number[] {
    return [...this.arrived].filter((number) => number >= this.next);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #listen(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    linesOf(socket).on('line', (text) => {
      const { word, numbers } = Line.parse(JSON.parse(text));
      const [first = 0, last = 0] = numbers;
      if (word === 'appending') this.next = last + 1;
      if (word === 'resolved') for (let number = first; number <= last; number += 1) this.promised.add(number);
      if (word === 'delivered') {
        for (const number of numbers) {
          if (this.arrived.has(number)) this.repeated += 1;
          this.arrived.add(number);
        }
      }
      if (word === 'drained') this.#onDrained?.();
      socket.write('ok\n');
    });
  }
}
