/**
 * A TCP proxy between agent and platform that counts what the network carries, both directions. Bytes of TLS are those that pass; to them comes
 * TCP/IP as Linux speaks it: 52 bytes (IPv4, time stamps) for each segment of at most 1,448, one acknowledgement for two full segments, one for less
 * where nothing goes back within 40 ms, and 380 bytes for a connection's beginning and end.
 */
import { type AddressInfo, connect, createServer, type Server } from 'node:net';

export interface Line {
  readonly port: number;
  /** Everything that passed. */
  readonly bytes: () => number;
  readonly connections: () => number;
  /** Ends every connection. */
  readonly cut: () => void;
  readonly close: () => void;
}

const HEADERS = 52;
const SEGMENT = 1_448;
const DELAYED_ACK_MS = 40;
const PER_CONNECTION = 7 * HEADERS + 16;

/** One way of a connection: bytes that have come and are not acknowledged, and since when. */
interface Way {
  owed: number;
  sinceMs: number;
}

export async function countingProxy(toPort: number): Promise<Line> {
  let bytes = 0;
  let connections = 0;
  const open = new Set<readonly [Way, Way, () => void]>();
  const settle = (way: Way, nowMs: number): void => {
    if (way.owed > 0 && nowMs - way.sinceMs >= DELAYED_ACK_MS) {
      bytes += HEADERS;
      way.owed = 0;
    }
  };
  const passed = (way: Way, back: Way, length: number): void => {
    const nowMs = performance.now();
    settle(back, nowMs);
    settle(way, nowMs);
    // What goes this way acknowledges what came the other.
    back.owed = 0;
    const segments = Math.ceil(length / SEGMENT);
    bytes += length + segments * HEADERS;
    if (way.owed === 0) way.sinceMs = nowMs;
    way.owed += length;
    const acknowledged = Math.floor(way.owed / (2 * SEGMENT));
    bytes += acknowledged * HEADERS;
    way.owed -= acknowledged * 2 * SEGMENT;
  };
  const server: Server = createServer((near) => {
    const far = connect(toPort, '127.0.0.1');
    const ways = [
      { owed: 0, sinceMs: 0 },
      { owed: 0, sinceMs: 0 },
    ] as const;
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    const one = [...ways, end] as const;
    open.add(one);
    connections += 1;
    bytes += PER_CONNECTION;
    near.setNoDelay().on('data', (piece) => {
      passed(ways[0], ways[1], piece.byteLength);
      far.write(piece);
    });
    far.setNoDelay().on('data', (piece) => {
      passed(ways[1], ways[0], piece.byteLength);
      near.write(piece);
    });
    for (const socket of [near, far])
      socket
        .on('error', () => {})
        .on('close', () => {
          for (const way of ways) settle(way, Number.POSITIVE_INFINITY);
          open.delete(one);
          end();
        });
  });
  return {
    port: await listen(server),
    bytes: () => {
      for (const [there, back] of open) for (const way of [there, back]) settle(way, performance.now());
      return bytes;
    },
    connections: () => connections,
    cut: () => {
      for (const [, , end] of open) end();
    },
    close: () => {
      for (const [, , end] of open) end();
      server.close();
    },
  };
}

/** Returns the port that was given. */
export async function listen(server: Pick<Server, 'listen' | 'address'>): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
