/** The far end of a Modbus line for tests: a real pty, or a TCP port, whose answers the test decides byte by byte. */
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import type { Ports } from '../../src/hardware/ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';

export const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

/** Called with what came in one piece, and a way to send. */
export type Peer = (asked: Buffer, send: (answer: Uint8Array) => void) => void;

export interface PeerBench {
  readonly ports: Ports;
  readonly folder: string;
  /** Requests as they came. */
  readonly asked: Buffer[];
  /** Path of the pty. */
  pty(peer: Peer): Promise<string>;
  /** Port of 127.0.0.1 or ::1. @param onConnect called for each connection. */
  tcp(peer: Peer, more?: { readonly host?: string; readonly onConnect?: (socket: Socket) => void }): Promise<number>;
  close(): Promise<void>;
}

export async function openPeerBench(): Promise<PeerBench> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-modbus-'));
  const ports = linuxPorts(systemClock, 'character-device');
  const asked: Buffer[] = [];
  const closing: (() => Promise<void> | void)[] = [];
  return {
    ports,
    folder,
    asked,
    pty: async (peer) => {
      const path = join(folder, `tty${closing.length}`);
      const wire = new PtyWire(path, (given) => {
        asked.push(Buffer.from(given));
        peer(Buffer.from(given), (answer) => wire.send(answer));
      });
      closing.push(() => wire.close());
      return path;
    },
    tcp: async (peer, { host = '127.0.0.1', onConnect } = {}) => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        sockets.add(socket.on('error', () => {}));
        onConnect?.(socket);
        socket.on('data', (given) => {
          asked.push(given);
          peer(given, (answer) => socket.write(answer));
        });
      });
      const port = await new Promise<number>((resolve) =>
        server.listen(0, host, () => resolve((server.address() as AddressInfo).port)),
      );
      closing.push(async () => {
        for (const socket of sockets) socket.destroy();
        await new Promise((resolve) => server.close(resolve));
      });
      return port;
    },
    close: async () => {
      await ports.close();
      for (const close of closing) await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
