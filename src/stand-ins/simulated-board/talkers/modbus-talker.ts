/** Modbus units behind a serial line or a TCP port, in every framing: RTU, ASCII, and that of TCP. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { ModbusUnitsConfig, SerialTalkConfig } from '../board-config.ts';
import { reflectedCrc } from '../reflected-crc.ts';
import type { BoardContext } from '../simulated-part.ts';
import { ModbusUnits } from './modbus-units.ts';
import type { Talker, TalkerContext } from './talker.ts';

/** How long the line must be silent before half a frame is dropped. */
const SILENCE_MS = 30;
const LINE_FEED = 0x0a;

interface Taken {
  /** Bytes of the request. */
  readonly length: number;
  /** Undefined for a unit that is silent, as it is for a damaged request. */
  readonly answer: Uint8Array | undefined;
}

/** The first request in the bytes, and its answer; undefined while it is not whole. */
type Exchange = (bus: ModbusUnits, received: Buffer) => Taken | undefined;

const EXCHANGES: Readonly<Record<'rtu' | 'ascii' | 'tcp', Exchange>> = {
  rtu: (bus, received) => {
    const length = requestLength(received);
    if (length === undefined || received.length < length) return undefined;
    const frame = received.subarray(0, length);
    const isSound = checkSum(frame.subarray(0, -2)) === frame.readUInt16LE(length - 2);
    const answer = isSound ? bus.answer(frame[0] ?? 0, frame.subarray(1, -2)) : undefined;
    if (answer === undefined) return { length, answer };
    const reply = Buffer.from([frame[0] ?? 0, ...answer, 0, 0]);
    reply.writeUInt16LE(checkSum(reply.subarray(0, -2)), reply.length - 2);
    return { length, answer: reply };
  },
  ascii: (bus, received) => {
    const length = received.indexOf(LINE_FEED) + 1;
    if (length === 0) return undefined;
    const frame = Buffer.from(received.subarray(1, length).toString('latin1').trim(), 'hex');
    const isSound = sumOf(frame) === 0;
    const answer = isSound ? bus.answer(frame[0] ?? 0, frame.subarray(1, -1)) : undefined;
    if (answer === undefined) return { length, answer };
    const reply = Buffer.from([frame[0] ?? 0, ...answer]);
    const digits = Buffer.from([...reply, (256 - sumOf(reply)) % 256]).toString('hex');
    return { length, answer: Buffer.from(`:${digits.toUpperCase()}\r\n`) };
  },
  tcp: (bus, received) => {
    if (received.length < 8 || received.length < 6 + received.readUInt16BE(4)) return undefined;
    const frame = received.subarray(0, 6 + received.readUInt16BE(4));
    const answer = bus.answer(frame[6] ?? 0, frame.subarray(7));
    if (answer === undefined) return { length: frame.length, answer };
    const header = Buffer.from(frame.subarray(0, 7));
    header.writeUInt16BE(answer.length + 1, 4);
    return { length: frame.length, answer: Buffer.concat([header, answer]) };
  },
};

export function modbusTalker(
  { units, framing }: Extract<SerialTalkConfig, { readonly kind: 'modbus' }>,
  context: TalkerContext,
): Talker {
  const bus = new ModbusUnits(units, context.source, context);
  let received = Buffer.alloc(0);
  let lastMs = 0;
  return {
    receive: (bytes) => {
      const nowMs = context.clock.monotonicMs();
      received = Buffer.concat([nowMs - lastMs > SILENCE_MS ? Buffer.alloc(0) : received, bytes]);
      lastMs = nowMs;
      const taken = EXCHANGES[framing](bus, received);
      if (taken === undefined) return;
      received = Buffer.alloc(0);
      if (taken.answer !== undefined) context.send(taken.answer);
    },
    close: () => {},
  };
}

interface TcpUnits {
  readonly units: ModbusUnitsConfig;
  readonly framing: keyof typeof EXCHANGES;
  readonly source: string;
}

/** A TCP port with units behind it; `port` 0 takes any. */
export class ModbusTcpServer {
  readonly #server: Server;

  constructor({ units, framing, source }: TcpUnits, context: BoardContext) {
    const bus = new ModbusUnits(units, source, context);
    this.#server = createServer((socket) => {
      let received = Buffer.alloc(0);
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        received = Buffer.concat([received, bytes]);
        for (
          let taken = EXCHANGES[framing](bus, received);
          taken !== undefined;
          taken = EXCHANGES[framing](bus, received)
        ) {
          received = received.subarray(taken.length);
          if (taken.answer !== undefined) socket.write(taken.answer);
        }
      });
    });
    // The agent's adapter asks for the port; until then nobody knows it.
    this.#server.unref();
  }

  /** Resolves with the port it listens on. */
  async listen(port: number): Promise<number> {
    if (!this.#server.listening) await once(this.#server.listen(port, '127.0.0.1'), 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }
}

function requestLength(bytes: Uint8Array): number | undefined {
  const [, code, , , , , count] = bytes;
  if (code === undefined) return undefined;
  if (code === 17) return 4;
  if (code === 43) return 7;
  if (code === 22) return 10;
  if (code !== 15 && code !== 16) return 8;
  return count === undefined ? undefined : 9 + count;
}

/** Sum of all bytes, of which LRC is the complement. */
function sumOf(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => sum + byte, 0) % 256;
}

/** CRC-16/MODBUS (V1.02, appendix B). */
function checkSum(bytes: Uint8Array): number {
  return reflectedCrc(bytes, 0xa001, 0xffff);
}
