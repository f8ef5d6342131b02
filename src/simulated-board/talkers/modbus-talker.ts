/** Modbus units on a serial line (RTU), and on a TCP port: the frames around modbus-unit.ts. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { ModbusUnitsConfig } from '../board-config.ts';
import type { BoardContext } from '../simulated-part.ts';
import { ModbusUnits } from './modbus-unit.ts';
import type { Talker, TalkerContext } from './talker.ts';

/** How long the line must be silent before half a frame is dropped. */
const SILENCE_MS = 30;

export function modbusTalker(units: ModbusUnitsConfig, context: TalkerContext): Talker {
  const bus = new ModbusUnits(units, context.source, context);
  let received = Buffer.alloc(0);
  let lastMs = 0;
  return {
    receive: (bytes) => {
      const nowMs = context.clock.monotonicMs();
      received = Buffer.concat([nowMs - lastMs > SILENCE_MS ? Buffer.alloc(0) : received, bytes]);
      lastMs = nowMs;
      const length = requestLength(received);
      if (length === undefined || received.length < length) return;
      const frame = received.subarray(0, length);
      received = Buffer.alloc(0);
      if (checkSum(frame.subarray(0, -2)) !== frame.readUInt16LE(length - 2)) return; // a unit is silent then
      const answer = bus.answer(frame[0] ?? 0, frame.subarray(1, -2));
      if (answer === undefined) return;
      const reply = Buffer.from([frame[0] ?? 0, ...answer, 0, 0]);
      reply.writeUInt16LE(checkSum(reply.subarray(0, -2)), reply.length - 2);
      context.send(reply);
    },
    close: () => {},
  };
}

/** A TCP port with units behind it; `port` 0 takes any. */
export class ModbusTcpServer {
  readonly #server: Server;

  constructor(units: ModbusUnitsConfig, source: string, context: BoardContext) {
    const bus = new ModbusUnits(units, source, context);
    this.#server = createServer((socket) => {
      let received = Buffer.alloc(0);
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        received = Buffer.concat([received, bytes]);
        while (received.length >= 8 && received.length >= 6 + received.readUInt16BE(4)) {
          const frame = received.subarray(0, 6 + received.readUInt16BE(4));
          received = received.subarray(frame.length);
          const answer = bus.answer(frame[6] ?? 0, frame.subarray(7));
          if (answer === undefined) continue;
          const header = Buffer.from(frame.subarray(0, 7));
          header.writeUInt16BE(answer.length + 1, 4);
          socket.write(Buffer.concat([header, answer]));
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
  if (code !== 15 && code !== 16) return 8;
  return count === undefined ? undefined : 9 + count;
}

/** CRC-16/MODBUS, by the shift register of V1.02, appendix B. */
function checkSum(bytes: Uint8Array): number {
  let register = 0xffff;
  for (const byte of bytes) {
    register ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      const carry = register & 1;
      register >>= 1;
      if (carry === 1) register ^= 0xa001;
    }
  }
  return register;
}
