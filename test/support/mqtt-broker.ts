/** A broker of MQTT 5.0 and 3.1.1 for tests: it sends what it is told to, and shows every packet that it gets. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export interface BrokerPacket {
  readonly type: 'connect' | 'publish' | 'puback' | 'subscribe' | 'unsubscribe' | 'pingreq' | 'disconnect' | 'other';
  /** Bytes behind the fixed header. */
  readonly body: Buffer;
}

const TYPES: Readonly<Record<number, BrokerPacket['type']>> = {
  1: 'connect',
  3: 'publish',
  4: 'puback',
  8: 'subscribe',
  10: 'unsubscribe',
  12: 'pingreq',
  14: 'disconnect',
};

export class FakeBroker {
  /** Packets of all connections, in their order. */
  readonly packets: BrokerPacket[] = [];
  /** Bytes that have come, also of packets that are not whole. */
  connections = 0;
  /** Return code of the answer to connect. */
  refuseWith = 0;
  /** Answers publications. */
  acknowledges = true;
  readonly #server: Server;
  #socket: Socket | undefined;
  #version = 5;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#serve(socket));
  }

  static async open(): Promise<FakeBroker> {
    const server = createServer();
    const broker = new FakeBroker(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return broker;
  }

  get url(): string {
    return `mqtt://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ids of acknowledged messages, in their order. */
  get acknowledged(): readonly number[] {
    return this.packets.filter(({ type }) => type === 'puback').map(({ body }) => body.readUInt16BE(0));
  }

  /** Returns false when the socket of the client takes no more for now. */
  publish(
    topic: string,
    payload: string,
    { id, retain = false }: { readonly id?: number; readonly retain?: boolean } = {},
  ): boolean {
    const name = Buffer.from(topic);
    const head = Buffer.concat([
      Buffer.of(name.length >> 8, name.length & 0xff),
      name,
      ...(id === undefined ? [] : [Buffer.of(id >> 8, id & 0xff)]),
      ...(this.#version === 5 ? [Buffer.of(0)] : []),
    ]);
    const flags = (id === undefined ? 0 : 2) | (retain ? 1 : 0);
    return this.#send(0x30 | flags, Buffer.concat([head, Buffer.from(payload)]));
  }

  send(bytes: Uint8Array): void {
    this.#socket?.write(bytes);
  }

  hangUp(): void {
    this.#socket?.destroy();
  }

  close(): void {
    this.#socket?.destroy();
    this.#server.close();
  }

  #serve(socket: Socket): void {
    this.connections += 1;
    this.#socket = socket;
    let pending: Buffer = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      pending = Buffer.concat([pending, bytes]);
      for (;;) {
        const packet = firstPacket(pending);
        if (packet === undefined) return;
        pending = packet.rest;
        this.#take(packet.type, packet.body);
      }
    });
  }

  #take(number: number, body: Buffer): void {
    const type = TYPES[number] ?? 'other';
    this.packets.push({ type, body });
    const none = this.#version === 5 ? [0] : [];
    if (type === 'connect') {
      this.#version = body[6] ?? 5;
      this.#send(0x20, Buffer.of(0, this.refuseWith, ...(this.#version === 5 ? [0] : [])));
    }
    if (type === 'subscribe') this.#send(0x90, Buffer.of(body[0] ?? 0, body[1] ?? 0, ...none, 1));
    if (type === 'unsubscribe') this.#send(0xb0, Buffer.of(body[0] ?? 0, body[1] ?? 0, ...none, ...none));
    if (type === 'pingreq') this.#send(0xd0, Buffer.alloc(0));
    if (type === 'publish' && this.acknowledges) {
      const nameLength = body.readUInt16BE(0);
      this.#send(0x40, body.subarray(2 + nameLength, 4 + nameLength));
    }
  }

  #send(head: number, body: Buffer): boolean {
    return this.#socket?.write(Buffer.concat([Buffer.of(head, ...lengthBytes(body.length)), body])) ?? false;
  }
}

function lengthBytes(length: number): number[] {
  return length < 128 ? [length] : [(length % 128) | 0x80, ...lengthBytes(Math.floor(length / 128))];
}

function firstPacket(
  bytes: Buffer,
): { readonly type: number; readonly body: Buffer; readonly rest: Buffer } | undefined {
  let length = 0;
  for (let at = 1; at < bytes.length && at <= 4; at += 1) {
    const byte = bytes[at] ?? 0;
    length += (byte & 0x7f) * 128 ** (at - 1);
    if (byte >= 0x80) continue;
    const end = at + 1 + length;
    if (bytes.length < end) return undefined;
    return { type: (bytes[0] ?? 0) >> 4, body: bytes.subarray(at + 1, end), rest: bytes.subarray(end) };
  }
  return undefined;
}
