/** A TCP proxy whose connections can be cut, and which can be gone for a while. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class CuttingProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #state: { gone: boolean };

  private constructor(server: Server, sockets: Set<Socket>, state: { gone: boolean }) {
    this.#server = server;
    this.#sockets = sockets;
    this.#state = state;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(target: string): Promise<CuttingProxy> {
    const sockets = new Set<Socket>();
    const state = { gone: false };
    const { hostname, port } = new URL(target);
    const server = createServer((client) => {
      if (state.gone) return void client.resetAndDestroy();
      const upstream = connect({ host: hostname, port: Number(port) });
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream).pipe(client);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CuttingProxy(server, sockets, state);
  }

  /** Every connection, in whatever it was doing. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  goneFor(ms: number): void {
    this.#state.gone = true;
    this.cut();
    setTimeout(() => {
      this.#state.gone = false;
    }, ms);
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
